// SPDX-License-Identifier: Apache-2.0
// One file on a drive: bytes over an area of blocks, of which a transaction changes all or nothing.
//
// The area begins with a block that names it and says how many bytes there are (below); then the bytes follow. What is
// written is in a transaction of the drive, which the first write opens, and which also has the size when that changes.
// It is nobody's until store_commit; store_abort, a call that fails, the end of the process and a power cut drop it
// whole. Who reads through this store sees its own transaction.
//
// Writes of neighbouring blocks go to the drive as one of up to 32; the last one commits with it.
//
// Calls return 0, what the port returned, or one of the errors below. A read, write, truncate or commit that failed in
// a transaction has dropped it: the file is as it was after the last commit, and every call fails until the caller says
// by store_abort that it knows. A read that failed elsewhere changes nothing. When nobody knows what the drive has
// (gone; or a commit failed, and its transaction is not open any more) the store is lost: every call fails until it is
// opened again.
#ifndef OTX_STORE_H
#define OTX_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "otx_port.h"

enum store_error {         // beside the statuses of the drive
    STORE_FULL = 1000,     // the area has no room for it
    STORE_LOST = 1001,     // as above
    STORE_DROPPED = 1002,  // as above
    STORE_REFUSED = 1003,  // by the caller
    STORE_FOREIGN = 1004   // the area holds something else
};

// First block of an area, little endian: 0-7 magic, 8-11 version, 12-15 bytes of a block, 16-23 bytes of the file;
// all else is 0. An area whose first block is all zeroes holds no file.
enum { STORE_VERSION = 1, STORE_HEAD_BYTES = 24 };
#define STORE_MAGIC "OTXSQLDB"

struct store_counts {
    uint64_t reads, writes, blocks_written, begins, commits, aborts, flushes, trims;  // commands, and blocks of writes
    uint64_t batches;  // of the commits those of a batch, which the pager needed no journal for
};

struct store {
    struct otx_port port;
    uint32_t first, blocks;  // the area
    uint8_t txid;
    bool relaxed;              // commits are visible and ordered, and durable later
    bool open;                 // a transaction is open
    bool dropped, lost;        // as above
    bool exists;               // there is a first block
    uint64_t size, kept;       // bytes: now, and after the last commit
    uint32_t run, run_blocks;  // blocks of the file that are not sent yet
    uint8_t *run_data;
    struct store_counts counts;
    char message[200];  // about the last call that failed
};

// Looks what the area holds. STORE_FOREIGN: something else, which nobody has touched.
int store_open(struct store *s, const struct otx_port *port, uint32_t first, uint32_t blocks, uint8_t txid);

void store_close(struct store *s);

// Bytes past the end are zeroes.
int store_read(struct store *s, void *data, uint32_t bytes, uint64_t offset);

int store_write(struct store *s, const void *data, uint32_t bytes, uint64_t offset);

// Part of the open transaction; without one it is a transaction of its own, and the blocks behind are trimmed.
int store_truncate(struct store *s, uint64_t size);

// Durable when it returns, unless the store is relaxed. Without an open transaction nothing is done.
int store_commit(struct store *s);

int store_abort(struct store *s);

// As a commit that failed, for this reason.
int store_refuse(struct store *s, const char *words);

// All commits so far are durable.
int store_flush(struct store *s);

#endif
