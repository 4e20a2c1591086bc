/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints while the drive works (docs/decisions/023-checkpoints.md): recovery is bounded by the log since the last
 * one, and the log's blocks come back.
 *
 * When the log since the root's first page is longer than a setting, or blocks are short:
 *   1. Choose the start: the newest of the places noted along the log that is behind a durable watermark and before the
 *      first entry of every transaction that is open or whose end is not merged: a COMMIT may be durable and not
 * visible for as long as a host does not take the completion of the one before it. The map will have what was logged
 *      before the start. And choose where the log is to begin: the newest place before the first entry of every
 *      transaction that had not ended when the start was noted.
 *   2. Write the pages of the map that have changed since they were written (hal_map_changed; the others stay where
 * they are: docs/decisions/033-changed-map-pages.md), from table memory, as it is at that moment: NONE and NAND as they
 *      are; a chain's committed version (hal_lookup); a block that is in a frame as NONE, for its entry lies behind the
 *      watermark and so behind the start. Commands go on meanwhile, so the pages are of different moments. Each says
 *      which (its position), for RELOCATE: what a move changed before that moment is in the page, and no move is half
 * done then.
 *   3. When the last word is written, take the log's head, and wait until it is behind a durable watermark: so the
 *      pages hold nothing that recovery would not count.
 *   4. Write a root of this generation, with its seal, and erase the old one's anchor (ftl_root.h).
 *   5. Log blocks before the log's new beginning are free, and blocks of the map without a page of the new one.
 * Recovery reads that map and applies the log from the start on; of the entries before it only those of transactions
 * that end behind it. For each block of the host the last entry from the start on decides; if there is none, the map
 * does. Entries that the map has already are applied again in log order, and come to the same end; but a RELOCATE from
 * before a map page's position says nothing about a word that stands there: the page that it names as the old one may
 * have been used again, for a copy of a later version of the same block. A COMMIT before the
 * start was visible before step 2, so its blocks are in the map; one behind it finds all of its entries. (With only the
 * log from the start on, a COMMIT that the map has and whose first entries lie before it would be applied by half, over
 * a plain write that it had won over.)
 *
 * After an error of table memory there are no checkpoints: a word may be lost (a LOOKUP with an error is NONE), or that
 * of a frame whose SWAP had an error stays there although its entry counts. The log has all, until the next mount.
 *
 * Cut on the way, recovery finds the old root with its map and log, or the new one: what one of them needs is free only
 * when the other is erased.
 * A step programs one page or erases one block, when nothing else of the firmware is in flight. A program that fails
 * makes its block bad, and the page is written again in another one. Without a block for it, or when the map would have
 * more blocks than it may, or when a directory cannot be read, the checkpoint is given up, nothing has changed then,
 * and it begins again, with all of the map, when as many blocks are free as it needs. When the log has no block left it
 * may borrow of the mount reserve (ftl_blocks.h) what failing blocks took away, and afterwards gives others back. A
 * transaction that stays open keeps the log from its first entry on, and no start is behind that.
 *
 * By command (hal_asked): one whose start is behind all that was logged when it was asked for. A note closes the open
 * page of the log. When that start is not to be had in FTL_ASK_ROUNDS rounds (a transaction stays open) the best one is
 * taken. Without a start later than the last one's, or without blocks, it cannot be done; `answer` says so.
 *
 * When power is to go off, nothing begins to move (f->quiet), and the start is the log's end: the next mount has
 * nothing to replay. Its root says where the log ended (`off`), if nothing was logged after that: a mount that finds no
 * later entry follows an orderly power-down. There is a checkpoint also when nothing was logged since the last one.
 * When the host logs something afterwards the drive goes on as before; so it does when a WRITE finds no pages.
 *
 * Where all of the log is durable and complete (hal_log_dirty) its head serves as a durable watermark. */
#ifndef FTL_CHECKPOINT_H
#define FTL_CHECKPOINT_H

#include "ftl.h"
#include "ftl_supply.h"

#define FTL_PLACES 8u
#define FTL_MAP_TURN_BITS 6u /* each checkpoint writes one of 64 map pages anew, too */
#define FTL_ASK_ROUNDS 2000u
#define FTL_WAIT_ROUNDS 500u
#define FTL_SETTLE_ROUNDS 500u
#define FTL_ASK_FAILED 0x100u /* in `answer` */

struct ftl_checkpoint {
    struct ftl_place {
        struct hal_log_place at;
        uint64_t low;                  /* no transaction that ends behind it has an entry before this one */
    } place[FTL_PLACES], begin, start; /* oldest first; begin: of the log; start: of what is not in the map */
    uint32_t places, every;            /* pages of the log between two of them */
    uint64_t low, ends;                /* of the last look at the transactions; ends 0: none that no place has used */
    uint64_t durable;                  /* the durable watermark as it was a round ago */
    uint32_t last;                     /* page where the last checkpoint has its start */
    enum { FTL_CHECKPOINT_NONE, FTL_CHECKPOINT_MAP, FTL_CHECKPOINT_SETTLE } state;
    uint32_t settling; /* rounds for which the log has not been durable at its end */
    uint32_t copy;     /* which copy of a page is next */
    uint32_t page;     /* next map page; g->map_pages: the last directory, then the wear pages */
    uint32_t wear;     /* next wear page */
    /* of the 32 pages before page `taken`: those that have changed; the end of the directory */
    uint32_t bits, taken, stop;
    uint32_t turn;       /* which 64th of the pages is written anew, too */
    bool whole;          /* all pages are written: the one before was given up, or blocks would be too many */
    bool here;           /* the directory is in its frame; */
    bool changed;        /* it is to be written */
    bool composed;       /* the page is in its frame and not on NAND yet; */
    uint64_t position;   /* the log's head when its words were read */
    uint32_t beyond;     /* of end: hal_log_fence */
    uint64_t end, noted; /* index that must be behind a durable watermark; a note stands below */
    struct ftl_root root;
    uint32_t done;        /* checkpoints */
    uint32_t ask, answer; /* the last CHECKPOINT of the host; of the last one that has ended: its number, and whether */
    /* it has not ended; power is to go off after it; the checkpoint under way is for it */
    bool asked, off, serves;
    uint32_t rounds; /* for which its start has been waited for */
    uint32_t waits;  /* after a power-down: for which a WRITE may have waited for pages */
    uint64_t target; /* where its start should be, or later */
    bool urgent;     /* it may borrow blocks */
    bool over;       /* table memory has erred: there are no more in this session */
};

/* One round. */
void ftl_checkpoint_step(struct ftl *f, struct ftl_supply *s, struct ftl_checkpoint *c);

#endif
