// SPDX-License-Identifier: Apache-2.0
// libotx: the drive for a C program, over the command socket of the simulated drive (`make drive`: build/otx.cmd).
//
// What the commands mean and what may be relied on is docs/contract.md; what each of them takes is
// docs/interfaces/host-port.md. Here is how to ask.
//
// Units: addresses (`lba`) and lengths (`count`) are in blocks of OTX_BLOCK bytes, time is in clocks of the drive
// (otx_ns makes nanoseconds of them). Wall time decides nothing.
//
// Errors: every call that asks the drive returns 0, a status of the drive (positive, enum otx_status), or an error of
// this library (negative, enum otx_error). otx_words has words for all of them, otx_message one line about the last
// error of a drive. After OTX_ERROR_CLOSED or OTX_ERROR_PROTOCOL only otx_disconnect makes sense.
//
// Threads: one thread at a time calls for one connection. Connections know nothing of each other. Nothing here catches
// or blocks signals; a call that a signal interrupts goes on.
#ifndef OTX_H
#define OTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otx_numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { OTX_UNDER_WAY = 32 };  // commands of one connection at once

// Errors of the library.
enum otx_error {
    OTX_ERROR_CONNECT = -1,   // nobody serves there
    OTX_ERROR_CLOSED = -2,    // the drive has gone, or has closed the connection
    OTX_ERROR_PROTOCOL = -3,  // what came is no answer of a drive, or of another version
    OTX_ERROR_ARGUMENT = -4,  // the arguments make no sense; nothing was asked of the drive
    OTX_ERROR_FULL = -5,      // OTX_UNDER_WAY commands are under way
    OTX_ERROR_MEMORY = -6,    // no memory
    OTX_ERROR_TIMEOUT = -7    // nothing came within the time
};

// What a command may say beside its range; all 0: nothing. What the drive does not take yet it answers with
// INVALID_FIELD.
struct otx_options {
    bool in_tx;        // the command belongs to `txid`
    uint8_t txid;      // 0 to OTX_TXIDS - 1
    bool fua;          // complete when durable
    bool commit;       // WRITE: commits `txid` with it
    bool relaxed;      // of a commit: visible, durable later
    bool barrier;      // closes the epoch
    bool orderless;    // belongs to no epoch
    uint8_t order;     // enum otx_order
    uint8_t priority;  // enum otx_priority
    uint16_t stream;
};

struct otx_drive;  // a connection

// What the drive said of itself at the start.
struct otx_about {
    uint32_t lbas, tx_entries;  // capacity in blocks; entries of a transaction at most
    uint32_t clock_ps;          // picoseconds of a clock
    uint64_t clock;             // clocks since power on, when the connection was made
    char preset[32];
};

// Connects to the command socket `path`; NULL: $OTX_SOCKET, else build/otx.cmd. `keep`: transactions that this
// connection opens stay open when it ends; else they are aborted then, unless they are prepared.
// 0 and *drive; or an error and *drive NULL, with one line of words in `message` (if not NULL, of `size` bytes).
int otx_connect(const char *path, bool keep, struct otx_drive **drive, char *message, size_t size);

// Ends the connection; commands that are under way run to their end unseen. NULL is fine.
void otx_disconnect(struct otx_drive *drive);

const struct otx_about *otx_about(const struct otx_drive *drive);

// Words for a return value, never NULL.
const char *otx_words(int error);

// One line about the last call that returned an error: of the drive's status its words, of the connection why.
const char *otx_message(const struct otx_drive *drive);

// Nanoseconds of so many clocks, to the nearest below.
uint64_t otx_ns(const struct otx_drive *drive, uint64_t clocks);

// Clock of the last answer that was taken: 0 before the first.
uint64_t otx_last_clock(const struct otx_drive *drive);

// Clocks that the command of that answer took in the drive.
uint64_t otx_last_took(const struct otx_drive *drive);

// Commands, each until its completion. Others may be under way (below); their answers are kept. `options` NULL: all 0.

// Reads `count` blocks (1 to 32) into `data`. MEDIA_ERROR: bit b of *delivered (if not NULL) is set if block b of them
// was delivered, the others are zeroes.
int otx_read(struct otx_drive *drive, uint32_t lba, uint32_t count, void *data, const struct otx_options *options,
             uint32_t *delivered);

// Writes `count` blocks (1 to 32) as one.
int otx_write(struct otx_drive *drive, uint32_t lba, uint32_t count, const void *data,
              const struct otx_options *options);

// 1 to 32 blocks read as zeroes.
int otx_trim(struct otx_drive *drive, uint32_t lba, uint32_t count, const struct otx_options *options);
int otx_write_zeroes(struct otx_drive *drive, uint32_t lba, uint32_t count, const struct otx_options *options);

int otx_flush(struct otx_drive *drive);

// Flushes a range, or a stream.
int otx_rflush(struct otx_drive *drive, uint32_t lba, uint32_t count);
int otx_rflush_stream(struct otx_drive *drive, uint16_t stream);

// Closes the epoch.
int otx_barrier(struct otx_drive *drive);

int otx_begin(struct otx_drive *drive, uint8_t txid);
int otx_commit(struct otx_drive *drive, uint8_t txid, bool relaxed);
int otx_abort(struct otx_drive *drive, uint8_t txid);
int otx_prepare(struct otx_drive *drive, uint8_t txid);

// Aborts every open transaction, of whomever.
int otx_recover(struct otx_drive *drive);

// One number of enum otx_query into *result; TX and TX_WALK are of `txid`, the others of none (-1).
int otx_query(struct otx_drive *drive, uint32_t what, int txid, uint32_t *result);

// The health into `health`, by enum otx_health_word; those of 64 bits whole, at their lower half's number.
enum { OTX_HEALTH_NUMBERS = 32 };
int otx_health(struct otx_drive *drive, uint64_t health[OTX_HEALTH_NUMBERS]);

// CHECKPOINT, and asks until it has ended. `off`: the power goes off next; after a flush and with nothing open the next
// start has nothing to replay. WRITE_FAULT: it could not be made.
int otx_checkpoint(struct otx_drive *drive, bool off);

// Many commands at once.

struct otx_request {
    uint8_t opcode;  // enum otx_opcode
    uint32_t lba, count, arg;
    const void *write;  // WRITE: `count` blocks, may go when otx_send has returned
    void *read;         // READ: place for `count` blocks, must stay until the answer is taken
    struct otx_options options;
    uint64_t id;  // the caller's own; the answer has it
};

struct otx_answer {
    uint64_t id;
    int status;       // enum otx_status
    uint32_t result;  // of QUERY and CHECKPOINT
    uint32_t blocks;  // READ: bit b is set if block b was delivered
    uint64_t clock;   // of the completion
    uint64_t begun;   // when the command was handed to the drive
};

// Hands a command over. 0, or an error: then it is not under way. Commands enter the drive in the order of the calls.
int otx_send(struct otx_drive *drive, const struct otx_request *request);

// Takes the next answer, in the order in which they came; waits for it at most `timeout_ms` (-1: as long as it takes).
// OTX_ERROR_TIMEOUT: none came. OTX_ERROR_ARGUMENT: none is to come.
int otx_take(struct otx_drive *drive, struct otx_answer *answer, int timeout_ms);

// Commands whose answers have not been taken.
int otx_under_way(const struct otx_drive *drive);

#ifdef __cplusplus
}
#endif
#endif
