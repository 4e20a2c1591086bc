/* SPDX-License-Identifier: Apache-2.0 */
/* The running drive's erased blocks: erase ahead, hand over.
 *
 * The log comes first: while data still gets blocks, its lanes have theirs. Free blocks (those of the next mount,
 * ftl_blocks.h, are not among them) are kept back in steps, counted over all dies:
 *   FTL_RESCUE_BLOCKS           only data gets these, for a block that failed: a page that could not be programmed
 *                               holds up the log's watermark, and so all tickets
 *   + ftl_checkpoint_blocks     only a checkpoint gets these, too (ftl_checkpoint.h); and so many more as the map has
 *                               blocks less than it may have (ftl_map_blocks_most): the checkpoint after the next
 *                               one needs some, too
 *   + FTL_COLLECT_BLOCKS        only pages that move get these, too (ftl_moves.h), so that collection can always begin
 *   + FTL_LOG_RESERVE per lane  only these and the log, so that FLUSH, COMMIT and TRIM go on when data has no more
 * room; and, but for FTL_LOG_LAST per lane, pages that move, to go to a further die: to so many further ones as the
 * drive has good blocks beyond its need
 *
 * At most half of the dies have an erase under way or waiting, and of the dies where the lanes go on one has none, if
 * there are two (docs/decisions/024-idle-dies.md): so data and log find a die that is not erased. Each erase that is
 * put off waits for another one to end, so none waits for ever.
 *
 * `full` is set when data can get no further block, none is on its way, and neither the collector (`starving`) nor a
 * checkpoint makes one (`hopeless`). A block whose erase fails becomes bad.
 *
 * `log_full` has a bit for each lane that can get no further block, none being on its way, when no checkpoint can free
 * the log either (ftl_checkpoint.h): a transaction that is open holds it. When that ends, a checkpoint is made, for
 * which FTL_URGENT_NOTES notes may go into the log's reserve. Hardware keeps the pages that COMMIT, ABORT and FLUSH
 * need then (CommandExecutor.scala); here it is enough to say so.
 *
 * A block that was handed over for data is closed, and may be collected, when its die has taken FTL_DIE_BLOCKS more:
 * the hardware has no more than these. A page that could not be programmed and finds no erased page gets any block that
 * there is: until it has a place the log's watermark stays where it is, and no ticket is ever ripe. For each block that
 * fails while the drive runs, data gets one of the log's reserve, but FTL_LOG_LAST per lane, and when it has no page
 * left any that there is: what a failing block takes away comes back. */
#ifndef FTL_SUPPLY_H
#define FTL_SUPPLY_H

#include "ftl.h"

#define FTL_RESCUE_BLOCKS 1u
#define FTL_COLLECT_BLOCKS 1u
#define FTL_DIE_BLOCKS 5u /* blocks of a die that the hardware has, the open one among them (PageAllocator.scala) */
#define FTL_LOG_RESERVE 4u
#define FTL_LOG_LAST 2u
#define FTL_URGENT_NOTES 3u /* LogReserve.scala */
#define FTL_TURN_ROUNDS 500u
#define FTL_PLENTY_SHARE 16u
#define FTL_AHEAD 2u      /* erased blocks that wait per die and per lane */
#define FTL_LANE_FIRST 2u /* blocks of a lane that the mount takes (LogLanes.scala: the current and the next one) */

struct ftl_queue {
    uint32_t block[FTL_AHEAD];
    uint8_t waiting, coming; /* erased; being erased. Their sum is at most FTL_AHEAD */
};

struct ftl_supply {
    struct ftl_queue die[FTL_MAX_DIES], lane[FTL_MAX_LANES], moves;
    /* the last blocks that a die got, plus one; 0: none; the oldest is overwritten next: */
    uint32_t given[FTL_MAX_DIES][FTL_DIE_BLOCKS];
    uint8_t oldest[FTL_MAX_DIES];
    struct {
        uint32_t block;
        uint8_t queue;         /* die, FTL_MAX_DIES + lane, or FTL_MAX_DIES + FTL_MAX_LANES: pages that move */
    } erasing[HAL_NAND_DEPTH]; /* in the order of the operations */
    uint32_t next_die;         /* where the search for work goes on */
    uint32_t owed;             /* blocks that data gets although it has its share */
    bool hold;                 /* no new erases: somebody waits until none is in flight */
    bool moves_want;           /* a page that moves waits for a block; */
    bool moves_cold;           /* it is to be a worn one; */
    uint32_t moves_open;       /* how many are open; */
    uint64_t moves_dies;       /* dies that get no further one */
    bool dry;                  /* no erased block waits for data, and none is coming */
    bool starving;             /* the collector finds nothing that makes a free block */
    bool hopeless;             /* nor does a checkpoint */
    bool full;
    uint32_t turns;        /* rounds for which `full` was not said because of that: */
    uint64_t failed;       /* the log's head when a program was last heard of that failed: its page has a lower index */
    bool log_ended;        /* no lane gets a further block, and none is on its way */
    uint32_t log_full;     /* bit per lane: the same of it, as the hardware was told */
    bool no_checkpoint;    /* no checkpoint can free the log now */
    uint32_t urgent_notes; /* since the log got a block */
};

/* One round: never waits for the NAND. The drive is enabled and nothing but this module has operations in the queue. */
void ftl_supply_step(struct ftl *f, struct ftl_supply *s);

/* Takes an erased block for pages that move, plus one. False: there is none. Whether free blocks allow one more. */
bool ftl_supply_moves_block(struct ftl_supply *s, uint32_t *block);
bool ftl_supply_moves_may(const struct ftl *f, const struct ftl_supply *s);

/* Whether so many blocks are free that pages may be written again only because they have many corrected bits: more than
 * a sixteenth of all beside those that are kept back. */
bool ftl_supply_plenty(const struct ftl *f);

/* Good blocks that a drive needs to begin: for all LPNs, and two that wait for data on each die that is not out; what
 * each mount takes, and what the next one needs; for each lane what it gets ahead of data, and what is kept back for
 * it. */
uint32_t ftl_supply_needed(const struct ftl_geometry *g);

/* Good blocks beyond that. */
uint32_t ftl_supply_spare(struct ftl *f);

/* Free blocks that are kept from data and log; of them those that pages which move may have, too. */
uint32_t ftl_supply_kept(const struct ftl *f);
uint32_t ftl_supply_kept_from_moves(const struct ftl *f);

/* Blocks that data has before it: erased, being erased, and free ones that it may take. */
uint32_t ftl_supply_ahead(const struct ftl *f, const struct ftl_supply *s);

/* Whether free blocks are so few that blocks should be collected. */
bool ftl_supply_low(const struct ftl *f);

/* A program failed. With `replace`, the first one of its block, data gets another one if there is one; `full` is taken
 * back at once then. Until the log is complete up to here it is said only when a page waits and there is no block, or
 * after FTL_TURN_ROUNDS. */
void ftl_supply_failed(const struct ftl *f, struct ftl_supply *s, bool replace);

#endif
