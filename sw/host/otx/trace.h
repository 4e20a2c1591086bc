// SPDX-License-Identifier: Apache-2.0
// Block traces: files of fio ("fio version 2 iolog") and blkparse (its default text) on one side, the drive on the
// other.
#ifndef OTX_TRACE_H
#define OTX_TRACE_H

#include "args.h"

enum trace_kind { TRACE_READ, TRACE_WRITE, TRACE_TRIM, TRACE_FLUSH, TRACE_KINDS };

// A request as the file has it.
struct trace_request {
    enum trace_kind kind;
    bool fua;
    uint32_t line;
    uint64_t offset, bytes;
};

struct trace {
    struct trace_request *requests;
    size_t count, room;
};

// Reads a whole file, of fio or of blkparse (there the events of `action`). What is wrong in it ends the program with
// exit code 2, file, line and words.
void trace_load(const char *path, char action, struct trace *trace);

int run_trace(const struct args *args, struct otx_drive *drive);

// Runs a program and writes what it asks of the drive at `socket` to a file.
int trace_record(const char *path, const char *socket, char *const program[]);

// Plays a trace and says how it went.
int trace_play(const struct args *args, struct otx_drive *drive, const char *path);

#endif
