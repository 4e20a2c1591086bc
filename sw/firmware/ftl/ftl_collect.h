/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection: blocks come back while the drive runs (docs/decisions/022-collection.md).
 *
 * When free blocks are few (ftl_supply_low) a cursor goes over the DATA blocks. Of each FTL_COLLECT_WINDOW that it
 * meets the one with the fewest live pages (hal_live) is the victim, unless all its pages are live; so the choice costs
 * the same at any capacity. With hal_cost_benefit() it is the one with the most age x free / (all + live): what is won,
 * and how long it lasts, for what is read and written (Rosenblum and Ousterhout, LFS, 1992, section 3.6). Its live
 * pages move as those of a failing block do (ftl_retire.h). Up to FTL_VICTIMS are under way, of each die one whose
 * pages are not all being moved. A block without live pages takes a ticket: {block, log head}. It is free
 * (ftl_blocks_release) when three things are true (rule erase):
 *   - all that was logged before the ticket is behind a durable watermark, so that recovery never needs what the block
 *     holds;
 *   - every read that could have found one of its pages has ended: a turn of the reads that began after the ticket is
 *     over;
 *   - it still has no live page.
 * It is erased before its next use, as every block. A durable watermark that does not come up by itself is asked for
 * with a note in the log: one for FTL_TICKETS_NOTE tickets, for a note costs a page of the log.
 *
 * One block of FTL_WEAR_SHARE that come back may be one that is little worn (ftl_wear.h), however many of its pages
 * live.
 *
 * When the log has stopped (hal_fault) no block comes back: a page may have gone out of use for a version that stays in
 * its frame and has no place in the log, and a power cut brings the old one back.
 *
 * A victim whose pages did not all move is gone through again when all that was logged by then is complete: a write of
 * the host may have been under way to it, or one that was overwritten meanwhile. If it has live pages still (one cannot
 * be read, or is just being rescued) it is set aside until the next
 * mount. `starving` of ftl_supply.h is set when the cursor has been all round and found nothing: all is live, and
 * when no checkpoint can give blocks of the log back either, a writer gets CAPACITY. It is set, too, while no block is
 * left to move to and no ticket waits, and when the log, which moves and notes need, gets no further block: what would
 * end that is not the collector's. */
#ifndef FTL_COLLECT_H
#define FTL_COLLECT_H

#include "ftl.h"
#include "ftl_retire.h"
#include "ftl_supply.h"

#define FTL_COLLECT_WINDOW 128u
#define FTL_TICKETS 32u
#define FTL_TICKETS_NOTE 8u   /* tickets that a note is worth; */
#define FTL_NOTE_ROUNDS 200u  /* or so many rounds for which the oldest one has waited, or pages for hosts are short */
#define FTL_VAIN_ROUNDS 2000u /* of a note that waits, while no block is free: it waits for one */
#define FTL_VICTIMS 8u

struct ftl_collect {
    uint32_t die, word;         /* where the cursor is: 32 blocks of a die */
    uint32_t seen, words;       /* blocks that this search has met; words since the last block that was worth it */
    uint32_t best;              /* of them, plus one; 0: none */
    uint32_t gain, cost;        /* of it: pages that come free, times its age by benefit and cost; pages of work */
    uint32_t cold, cold_erases; /* of them the least worn one, if it lags, plus one; 0: none */
    uint32_t cold_from;         /* blocks that have come back when the next one may be chosen for its wear */
    struct {
        uint32_t block; /* its pages move; plus one; 0: none */
        bool again;     /* for the second time */
        bool starved;   /* pages of it were given up for want of a block to move to */
    } victim[FTL_VICTIMS];
    struct {
        uint32_t block, turn; /* turn: the first one of the reads that counts */
        uint64_t head;
        uint32_t beyond; /* hal_log_fence */
    } ticket[FTL_TICKETS];
    uint32_t tickets, turn;          /* turn: how many were begun */
    uint32_t waits;                  /* rounds of the oldest ticket */
    uint32_t vain;                   /* rounds for which a note has not brought the watermark that it was asked for */
    uint64_t noted;                  /* a durable watermark that the last note brings, or a higher one */
    bool starved;                    /* the last victim ended for want of a block to move to */
    uint32_t released, moved_blocks; /* blocks that came back; of them those whose pages had to move */
    uint32_t levelled;               /* victims that were chosen for their wear */
};

/* Before hal_enable() and ftl_blocks_settle(), when the hardware has counted the pages of the map (ftl_map.h): counts
 * those of prepared transactions too; the blocks of both become LIVE and DATA. */
void ftl_collect_count(struct ftl *f);

/* One round: never waits for the NAND. */
void ftl_collect_step(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r, struct ftl_collect *c);

#endif
