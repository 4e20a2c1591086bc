/* SPDX-License-Identifier: Apache-2.0 */
/* Which blocks are taken. Four sets of one bit per block, in the firmware's own frames:
 *
 * BUSY  what the old root, its map and its log name; nothing of it is erased before the new root is whole
 * LIVE  what the new root names; from the new root on it counts instead of BUSY
 * BAD   blocks that are never erased, programmed or handed out again: the bad-block table (ftl_bbt.h). A bad block may
 *       hold live pages still
 * DATA  blocks of LIVE that hold data of hosts and get no further page: those that can be collected (ftl_collect.h);
 *       once settled, of free blocks those that are unnamed, see below
 *
 * A block that is taken is in BUSY and LIVE. ftl_blocks_settle() forgets BUSY and puts the mount reserve there: free
 * blocks that stay untouched in this session. The next mount may write to these only: every other free block may have
 * been written in this session (rule keep), and a block that was collected is free without having been erased.
 *
 * A block that becomes reserve in the place of another one must be *unnamed*: no root that a mount may find, with its
 * map and its log, names it, or it is BUSY in that mount. A block is named by nothing that was logged after it was
 * released. So free blocks are marked at one moment; those that have stayed free are unnamed when the log of the root
 * begins behind that moment. At the settlement all free ones are.
 * After that a taken block stays taken until ftl_blocks_release(). The anchors, where roots are, and the table's own
 * blocks are given to nobody, whatever the sets say; only BAD says something about them. */
#ifndef FTL_BLOCKS_H
#define FTL_BLOCKS_H

#include "ftl.h"

#define FTL_NO_BLOCK 0xffffffffu
#define FTL_WEAR_WINDOW 32u /* free blocks of a die that are compared */
#define FTL_MOUNT_SPARE 4u  /* free blocks that a mount may lose to failing erases and programs */
#define FTL_BORROW 3u       /* of these, that a checkpoint may take */
#define FTL_FIRST_TABLE_BLOCK 2u
#define FTL_ANCHORS 6u /* blocks for roots; two that work are enough */
/* what is neither data's nor log's nor map's: the first blocks of the only die, or half of it of two */
#define FTL_KEPT_BLOCKS (FTL_ANCHORS + 2 * FTL_TABLE_BLOCKS)

/* All sets empty. FTL_ERR_CONFIG: no room for the sets and FTL_WORK_FRAMES more, or for the kept blocks. */
FTL_MUST_CHECK enum ftl_error ftl_blocks_init(struct ftl *f);
/* Where the search for free blocks begins, so that erases spread. */
void ftl_blocks_spread(struct ftl *f, uint32_t start);

/* Anchor n < FTL_ANCHORS: in turn blocks 0, 1 and 5 of the first die and of the last one; blocks 0, 1 and 8 to 11 of
 * the only one. The vendor guarantees the first. */
uint32_t ftl_anchor(const struct ftl_geometry *g, uint32_t n);
bool ftl_is_anchor(const struct ftl_geometry *g, uint32_t block_id);
/* Block n < FTL_TABLE_BLOCKS of copy 0 or 1 of the bad-block table: blocks 2 to 4 of the first die, and of the last
 * one; 5 to 7 of the only one. */
uint32_t ftl_table_block(const struct ftl_geometry *g, uint32_t copy, uint32_t n);

/* Puts the block of a page that exists into a set. */
void ftl_blocks_busy(struct ftl *f, uint32_t block_id);
void ftl_blocks_live(struct ftl *f, uint32_t block_id);
/* The same for BAD; false: it was there. */
bool ftl_blocks_bad(struct ftl *f, uint32_t block_id);

bool ftl_blocks_is_bad(struct ftl *f, uint32_t block_id);
/* In BUSY or LIVE; once settled in LIVE. */
bool ftl_blocks_is_taken(struct ftl *f, uint32_t block_id);
/* BAD, an anchor or the table's own: data and map that live there have to leave. */
bool ftl_blocks_unwanted(struct ftl *f, uint32_t block_id);
/* Of 32 blocks of a die those that are so and in LIVE, one bit each: blocks 32 * word to 32 * word + 31. */
uint32_t ftl_blocks_left_word(struct ftl *f, uint32_t die, uint32_t word);

/* Frame n < frames of BAD: as it is, page n of the bad-block table. */
uint32_t ftl_blocks_bad_frame(const struct ftl *f, uint32_t n);
/* BAD := nothing. */
void ftl_blocks_none_bad(struct ftl *f);
/* How many blocks there are that are neither bad nor an anchor nor the table's; how many are bad, those of dies that
 * are out not counted. */
uint32_t ftl_blocks_good(struct ftl *f);
uint32_t ftl_blocks_count_bad(struct ftl *f);

/* The blocks whose pages the hardware has counted (hal.h: hal_live_scan) come into BUSY; into LIVE and DATA. */
void ftl_blocks_counted_busy(struct ftl *f);
void ftl_blocks_counted_data(struct ftl *f);

/* LIVE := BUSY (the map stays as it is), LIVE := nothing (the map is written anew). */
void ftl_blocks_live_is_busy(struct ftl *f);
void ftl_blocks_none_live(struct ftl *f);

/* Whether a block has a page of f->old_root's generation. When that is recovered nobody writes to it: a log page that
 * cannot be read now may name its pages, and be read by the next mount (rule keep). */
bool ftl_blocks_of_old_generation(struct ftl *f, uint32_t block_id);

/* From now on only LIVE and BAD count, and the mount reserve, of which each die gives its share. `clean` is called for
 * each block that is to be reserve; false: it has become bad. Counts the free blocks beside it. */
void ftl_blocks_settle(struct ftl *f, bool (*clean)(struct ftl *f, uint32_t block_id));

/* Takes a block of the mount reserve, at most FTL_BORROW; FTL_NO_BLOCK: there is none. It is not erased. As many of the
 * spare ones a mount that is cut off now has less (FTL_MOUNT_SPARE). Another one, taken and erased, becomes reserve. */
uint32_t ftl_blocks_borrow(struct ftl *f);
void ftl_blocks_give_back(struct ftl *f, uint32_t block_id);

/* Takes the most worn unnamed block of these dies, one bit each; FTL_NO_BLOCK: none is known. It is not erased yet. */
uint32_t ftl_blocks_take_unnamed(struct ftl *f, uint64_t dies);
/* A checkpoint begins: when blocks that are unnamed have been missing, the free ones are marked, at log entry `head`.
 */
void ftl_blocks_mark_free(struct ftl *f, uint64_t head);

/* The least worn block of the mount reserve; FTL_NO_BLOCK: there is none. It is free, and another one, taken as unnamed
 * and erased, is reserve in its place. */
uint32_t ftl_blocks_rested(struct ftl *f);
void ftl_blocks_relieve(struct ftl *f, uint32_t rested, uint32_t worn);

/* A block of LIVE gets no further page of a host: it becomes DATA. */
void ftl_blocks_close(struct ftl *f, uint32_t block_id);
/* DATA := nothing. */
void ftl_blocks_none_data(struct ftl *f);
/* Before ftl_blocks_settle(): of 32 blocks of a die those in DATA. */
uint32_t ftl_blocks_open_word(struct ftl *f, uint32_t die, uint32_t word);
bool ftl_blocks_is_data(struct ftl *f, uint32_t block_id);
/* Of 32 blocks of a die those that are in LIVE and not in DATA: blocks 32 * word to 32 * word + 31. */
uint32_t ftl_blocks_live_open_word(struct ftl *f, uint32_t die, uint32_t word);
/* It is not to be collected: what it holds stays there for this session. */
void ftl_blocks_set_aside(struct ftl *f, uint32_t block_id);
/* Nothing of a block is needed any more: it is free, unless it is bad. */
void ftl_blocks_release(struct ftl *f, uint32_t block_id);
/* Once settled: the DATA blocks among 32 of a die that are neither bad nor kept, one bit each: blocks 32 * word to 32 *
 * word + 31. */
uint32_t ftl_blocks_data_word(struct ftl *f, uint32_t die, uint32_t word);

/* Before ftl_blocks_settle(): the blocks of BUSY that are not in LIVE, among 32 of a die, one bit each. */
uint32_t ftl_blocks_new_word(struct ftl *f, uint32_t die, uint32_t word);

/* Takes a free block of a die; FTL_NO_BLOCK: there is none. It is not erased yet. Of FTL_WEAR_WINDOW free blocks that
 * follow it is the least worn one. */
uint32_t ftl_blocks_take(struct ftl *f, uint32_t die);
/* The same for log and map, which hold their blocks for long: one that is worn as the others are. The least worn one
 * would stay behind, the most worn one would be taken at each mount. */
uint32_t ftl_blocks_take_held(struct ftl *f, uint32_t die);
/* The same, of the least worn die of that channel that has one, else of any. */
uint32_t ftl_blocks_take_near(struct ftl *f, uint32_t channel);
/* Once settled: the least or most worn one of these dies, one bit each, each as it would give it. */
uint32_t ftl_blocks_take_any(struct ftl *f, uint64_t dies, bool worn);

/* Blocks that a checkpoint takes before it gives any back: those of each copy of the map. */
uint32_t ftl_checkpoint_blocks(const struct ftl_geometry *g);

/* Blocks that a mount takes for a whole map, and prepared transactions. */
uint32_t ftl_mount_map_blocks(const struct ftl_geometry *g);

/* Free blocks that stay untouched in a session so that the next mount has room for map and log before it may erase
 * anything old. */
uint32_t ftl_blocks_mount_reserve(const struct ftl_geometry *g);

#endif
