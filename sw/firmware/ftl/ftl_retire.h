/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that fail while the drive runs (docs/decisions/011-failing-nand.md): into the table, another block for data,
 * then the live pages move. And pages that the host has read with many corrected bits (docs/ecc.md): they move in the
 * same way, when nothing else is to be done.
 *
 * A block whose program failed is a job. When all that was logged before the event is complete, its pages are gone
 * through: those that are in use are read, several at once (ftl_moves.h), and a DATA page that the map may name (its
 * word names this page, or is a chain) moves. A page that cannot be read stays where it is, and reads say so. Bad
 * blocks that still hold live pages when the drive is mounted are jobs, too, and so are blocks of the bad-block table
 * in which an earlier version of this format put data. Jobs take turns, a page each; of one die no more pages are read
 * at once than its share. One of a block that failed under moves begins when these are settled: before that the map
 * does not name its pages. A job that does not fit in the list, a page that was given a place before the event and
 * logged after it, and all moves when the free blocks run out, are left to the next mount: the pages stay where they
 * are and are read from there.
 *
 * A page with many corrected bits moves only if the map names it, not under a chain, and while free blocks are plenty
 * (ftl_supply_plenty); else it is forgotten, and so is one that cannot be read. Its next read reports it again. It
 * waits for the table, for jobs that can go on, for all moves and for all erases of ftl_supply.h.
 *
 * A page that moves is read and programmed as the data of its LPN with its own sequence; cut at any instant, the old
 * page still counts. */
#ifndef FTL_RETIRE_H
#define FTL_RETIRE_H

#include "ftl.h"
#include "ftl_moves.h"
#include "ftl_refresh.h"
#include "ftl_supply.h"

#define FTL_RETIRE_JOBS 16u

struct ftl_retire {
    struct {
        uint32_t block, page; /* page: the next one to look at */
        uint64_t head;        /* when the log is complete up to here, it begins */
    } job[FTL_RETIRE_JOBS];
    uint32_t jobs, turn; /* turn: which one is next */
    struct ftl_refresh refresh;
    struct ftl_moves moves;
    bool starved; /* since the last ftl_retire_collect() jobs were given up for want of a block to move to */
};

/* After ftl_open(): what the mount leaves to do. *r is zero. */
void ftl_retire_begin(struct ftl *f, struct ftl_retire *r);

/* One round: events at once, a write of the table when ftl_supply.h has nothing in flight (it is asked to pause for
 * that), what there is to do for pages that move. Waits at most for one page of the table. */
void ftl_retire_step(struct ftl *f, struct ftl_supply *s, struct ftl_retire *r);

/* The live pages of a closed block that is not bad shall move too (ftl_collect.h), when the log is complete up to
 * `head`; cold: the next block that is opened for them is a worn one. False: not now. */
bool ftl_retire_collect(struct ftl_supply *s, struct ftl_retire *r, uint32_t block, bool cold, uint64_t head);
/* Whether a block is to be gone through, or a page of it is the old one of a move that may not be settled. Before that
 * it must not be used again: log and map would take the page for the old one in its new use, too. */
bool ftl_retire_has(const struct ftl *f, const struct ftl_retire *r, uint32_t block);
/* Whether the pages of a block that is to be gone through have not all been looked at. */
bool ftl_retire_waits(const struct ftl_retire *r, uint32_t block);

/* Whether nothing is left to do: for tests. */
bool ftl_retire_idle(const struct ftl *f, const struct ftl_retire *r);

#endif
