/* SPDX-License-Identifier: Apache-2.0 */
/* The running drive as the hardware behaves, reduced: entries into log pages in lanes, data pages programmed in any
 * order, watermark, acknowledgements; what becomes of programs that fail (sim.h) and of pages that the firmware moves.
 * Keeps the history that the contract is judged by.
 * Blocks come from ftl_supply.c, ftl_retire.c looks after those that fail. */
#ifndef DRIVE_H
#define DRIVE_H

#include "ftl_checkpoint.h"
#include "ftl_collect.h"
#include "ftl_health.h"
#include "ftl_log.h"
#include "ftl_pace.h"
#include "ftl_patrol.h"
#include "ftl_retire.h"
#include "ftl_wear.h"
#include "sim.h"

#define DRIVE_LPNS 10u /* blocks that histories write: drive_lpn(0 ... 9) */
#define DRIVE_LOG 4096u
#define DRIVE_ITEMS 4096u
#define DRIVE_TX_WRITES 64u
#define NOTHING 0u /* the value of a block that reads as zeroes */

enum drive_item_kind { ITEM_WRITE, ITEM_COMMIT };

struct drive_item { /* a plain command (WRITE or TRIM) or a COMMIT */
    enum drive_item_kind kind;
    uint32_t n, lpn[DRIVE_TX_WRITES], value[DRIVE_TX_WRITES];
    bool must;             /* acknowledged as durable */
    bool relaxed, visible; /* of a COMMIT; */
    bool taken;            /* the host has taken its completion */
    bool prepared;         /* of a COMMIT: its transaction was PREPARED */
    bool ordered;          /* order-preserving; each COMMIT is */
    uint64_t index, after; /* after: index behind the order-preserving pages of earlier epochs */
    uint32_t epoch;
    uint32_t serial;
};

struct drive_tx {
    bool open;
    bool prepared, sure; /* PREPARE is appended; and completed */
    bool ending;         /* its ABORT, of a prepared one, is not durable yet */
    uint64_t index;      /* after the PREPARE, or that ABORT */
    uint32_t use, logged, n, lpn[DRIVE_TX_WRITES], value[DRIVE_TX_WRITES];
};

struct drive {
    struct ftl ftl;
    struct ftl_supply supply;
    struct ftl_retire retire;
    struct ftl_collect collect;
    struct ftl_checkpoint checkpoint;
    struct ftl_patrol patrol;
    struct ftl_pace pace;
    uint32_t full_taken_back;    /* events that the firmware took with `full` taken back first */
    uint32_t moved;              /* pages of the map that changed place by a move of the firmware */
    uint32_t before[DRIVE_LPNS]; /* values at the last mount */
    uint32_t restored;           /* txids that it brought back, one bit each */
    uint32_t kept;               /* how often the judge found a transaction prepared */
    struct drive_item item[DRIVE_ITEMS];
    uint32_t items;
    struct drive_tx tx[FTL_TXIDS];
    uint32_t stamp, epoch;
    uint64_t after, pages; /* as Epochs.scala has them */
    bool used;             /* the epoch has an order-preserving entry */
};
extern struct drive drive;

uint32_t drive_lpn(uint32_t i);
/* i, if that is drive_lpn(i). */
uint32_t drive_number(uint32_t lpn);
/* Value of a block in the mounted map; checks that the page is whole and the right one. */
uint32_t drive_value(uint32_t lpn);

/* After a mount: an empty history, values from the map. */
void drive_start(void);
void drive_supply(uint32_t steps);

/* Commands. False: not now (no room, or rule lpn-order). */
bool drive_write(const uint32_t *lpns, uint32_t n, bool ordered);
bool drive_trim(uint32_t lpn);
void drive_barrier(void);
bool drive_tx_write(uint32_t txid, uint32_t lpn);
bool drive_tx_trim(uint32_t txid, uint32_t lpn);
bool drive_commit(uint32_t txid);
bool drive_commit_relaxed(uint32_t txid);
void drive_abort(uint32_t txid);
bool drive_prepare(uint32_t txid);
/* After a mount: the word below all versions of a block, checked; the prepared transaction that the mount brought back,
 * false: it is none. */
uint32_t drive_base(uint32_t lpn);
bool drive_restored(uint32_t txid, struct drive_tx *t);
/* All that is logged so far is to be acknowledged: closes the page, runs until it is durable and complete. */
void drive_flush(void);
/* The same, and all pages of transactions that were logged before are complete, as PREPARE has it. */
void drive_settle(void);
/* Whether the host takes completions: while it does not, one COMMIT becomes visible and the next ones do not. */
void drive_takes(bool completions);

/* The next `n` entries are one group: firmware runs between them, and nothing else is logged. */
void drive_group(uint32_t n);
bool drive_group_open(void);
/* Block i of the n that a plain WRITE of this item has: logged, named by the map, its page under way. Its index. */
uint64_t drive_part(struct drive_item *item, uint32_t lpn, uint32_t n, uint32_t i, uint32_t flags, uint32_t value);
/* The parts: append an entry, close the page, let one program finish, finish everything (data and log, or one of them).
 * */
uint64_t drive_append(struct ftl_entry e);
bool drive_can_close(void);
void drive_close(void);
bool drive_finish_one(void);
void drive_finish_log(void);
void drive_finish_data(void);
bool drive_page(uint32_t *ppn); /* a page for data */
uint64_t drive_sequence(void);
/* A data page under way that belongs to log entry `index`. */
void drive_data_under_way(uint32_t ppn, uint32_t lpn, uint64_t sequence, uint64_t index, uint32_t value);
/* Which entries may finish: a page of an entry that is held stays under way. */
void drive_hold(uint64_t index);
void drive_release(uint64_t index);
uint32_t drive_next_log_ppn(void);

/* The whole copies of log page `number` of the generation that was opened last, by rising PPN: two, when none failed
 * and read well. */
struct drive_copies {
    struct sim_page *copy[8], was[8];
    uint32_t n;
};
struct drive_copies drive_log_page(uint32_t number);
void drive_log_spoil(struct drive_copies *of, enum sim_state state); /* of all of them, */
void drive_log_mend(const struct drive_copies *of);                  /* and what they were */
/* The host has read this page with many corrected bits; what does not fit is forgotten. */
void drive_weak(uint32_t ppn);
/* Read number i, 0 to 7, of a block begins (false: it is busy, or the block is not on NAND) and ends; 1 to 7 do so by
 * themselves. */
bool drive_read_begins(uint32_t i, uint32_t lpn);
void drive_read_ends(uint32_t i);

/* Power fails; what is under way is kept, torn or dropped, by chance or as told. */
void drive_cut(void);
void drive_cut_dropping_all(void);
/* Power fails; the oldest data page under way is torn, with a CRC error, and nothing else was begun. */
void drive_tear_first(void);
/* Supply and retire; power fails before the firmware's operation `at`, counted from here: true, and only a mount may
 * follow. */
bool drive_supply_cut(uint32_t steps, uint32_t at);
/* Judges the mounted map by the contract. */
void drive_judge(void);

#endif
