/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks are taken. Two sets of one bit per block, in the firmware's own frames:
 *
 * BUSY  what the old root, its map and its log name; nothing of it is erased before the new root is whole
 * LIVE  what the new root names; from the new root on it is the only set that counts
 *
 * A block that is taken is in both. After ftl_blocks_settle() BUSY is forgotten and a taken block stays taken for the session: blocks come
 * back by the next mount (garbage collection is a later issue), blocks that fail to erase do not come back before it either. */
#ifndef FTL_BLOCKS_H
#define FTL_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl_error.h"
#include "ftl_geometry.h"

#define FTL_NO_BLOCK 0xffffffffu

struct ftl;

struct ftl_blocks {
    uint32_t words;                 /* 32-bit words of a die in a set */
    uint32_t cursor[FTL_MAX_DIES];  /* word at which the search in a die goes on */
    uint32_t free[FTL_MAX_DIES];    /* free blocks per die and in all; counted by ftl_blocks_settle */
    uint32_t total;
    bool settled;
    uint32_t last_busy, last_live; /* block last put in, to make the same one again cheap */
};

/* Both sets empty but for the two anchors. `start` says where the search begins, so that erases spread. FTL_ERR_CONFIG: no room for the sets. */
FTL_MUST_CHECK enum ftl_error ftl_blocks_init(struct ftl *f, uint32_t start);

/* The two anchors: block 0 of die 0, and block 0 of the last die or block 1 of the only one. */
uint32_t ftl_anchor(const struct ftl_geometry *g, uint32_t which);

/* Puts the block of a page that exists into a set. */
void ftl_blocks_busy(struct ftl *f, uint32_t block_id);
void ftl_blocks_live(struct ftl *f, uint32_t block_id);

/* LIVE := BUSY (the map stays as it is), LIVE := anchors (the map is written anew). */
void ftl_blocks_live_is_busy(struct ftl *f);
void ftl_blocks_live_is_anchors(struct ftl *f);

/* From now on only LIVE counts. Counts the free blocks. */
void ftl_blocks_settle(struct ftl *f);

/* Takes a free block of a die; FTL_NO_BLOCK: there is none. It is not erased yet. */
uint32_t ftl_blocks_take(struct ftl *f, uint32_t die);
/* Takes a free block, of a die of that channel if there is one, else of any. */
uint32_t ftl_blocks_take_near(struct ftl *f, uint32_t channel);

/* Free blocks that stay untouched in a session so that the next mount has room for map and log before it may erase anything old. */
uint32_t ftl_blocks_mount_reserve(const struct ftl_geometry *g);

#endif
