/* SPDX-License-Identifier: Apache-2.0 */
/* Pages on their way to another place: up to `moves` of ftl.h at once, each with a frame of its own. Nothing here waits
 * for the NAND: each round takes what has ended and starts what comes next.
 *
 * A page is read; if the map may name that page as what its LPN holds (with `chains` also by a chain), it is programmed
 * as the data of its LPN with its own sequence, and handed over: RELOCATE is logged, and whoever still holds the old
 * page gets the new one. A page that cannot be read, or is in use no more, stays where it is.
 *
 * Rules.
 *   - One move of a page at a time (ftl_moves_begin). A place in the list is free again only when the move has found
 *     its place in log and map, so the list has all moves that may not be settled.
 *   - One page is handed over at a time, and none in the round behind one that handed some over: so a checkpoint, which
 *     begins a page of the map only when no move is half done, finds such a moment.
 *   - Of a block that pages move to one program is under way. So if it fails none is begun behind it; the block is bad,
 *     and the page, which is in its frame still, goes to another one.
 *   - Up to FTL_MOVE_BLOCKS such blocks are open, a second one of a die only when each die has one; the first one
 *     whenever pages move, one more when a page finds all of them busy (ftl_supply.h erases them and says how many free
 *     blocks that leaves).
 *   - A block is closed to DATA when it is full and no move to it is unsettled: the hardware counts a copy as in use
 *     only when it has taken the old page's place.
 * The operations are put apart from those of the queue of ftl_io.h. So the bad-block table and checkpoints, which wait
 * for that queue to be empty, wait for erases only and not for moves; and moves do not wait for them. */
#ifndef FTL_MOVES_H
#define FTL_MOVES_H

#include "ftl.h"
#include "ftl_supply.h"

#define FTL_MOVE_BLOCKS 8u

enum ftl_move_state {
    FTL_MOVE_NONE,
    FTL_MOVE_READ,    /* the page is being read */
    FTL_MOVE_HELD,    /* it is in its frame and has no place yet */
    FTL_MOVE_PROGRAM, /* it is being programmed */
    FTL_MOVE_COPIED,  /* it is not handed over yet */
    FTL_MOVE_HANDED,  /* the hardware has it */
};

struct ftl_moves {
    struct {
        uint8_t state; /* enum ftl_move_state */
        uint8_t at;    /* PROGRAM: which block */
        bool chains;
        uint32_t lpn, from, to; /* to: from PROGRAM on */
        uint64_t sequence;
    } move[FTL_MOVES];
    struct {
        uint32_t block, left; /* plus one, 0: none; pages that are left */
        bool busy;            /* a program is under way */
    } open[FTL_MOVE_BLOCKS];
    bool handed;    /* the last round handed a page over */
    bool stopped;   /* in this round pages found no block to go to: they stay where they are */
    uint32_t moved; /* pages that were copied */
};

/* Begins to move a page. False: not now, no place is free or the page is on its way already. */
bool ftl_moves_begin(struct ftl *f, struct ftl_moves *m, uint32_t ppn, bool chains);
/* One round. A block that failed under a move, or FTL_NO_BLOCK: the pages that were moved there before are to move
 * again. */
uint32_t ftl_moves_step(struct ftl *f, struct ftl_supply *s, struct ftl_moves *m);

/* Pages of this die that are being read; whether no move is under way. */
uint32_t ftl_moves_reads(const struct ftl *f, const struct ftl_moves *m, uint32_t die);
bool ftl_moves_none(const struct ftl_moves *m);
/* Whether this page, a page of this block, is the old one of a move that may not be settled; whether a page of this
 * block is the new one. */
bool ftl_moves_has(const struct ftl_moves *m, uint32_t ppn);
bool ftl_moves_from(const struct ftl *f, const struct ftl_moves *m, uint32_t block);
bool ftl_moves_to(const struct ftl *f, const struct ftl_moves *m, uint32_t block);

#endif
