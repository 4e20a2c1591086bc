/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks wear alike (docs/decisions/027-wear.md).
 *
 * Every erase is counted (ftl_erases.h). The words go to NAND, as they are, with each map (ftl_map_store.c,
 * ftl_checkpoint.c): wear pages, named by the root. What was erased after the last map is counted at the next mount as
 * far as the log tells: a block that it names and the map does not was erased once. A wear page that cannot be read
 * harms nobody: its blocks begin with the mean of the others.
 *
 * Dynamic: of FTL_WEAR_WINDOW free blocks that follow in a die the least worn is taken (ftl_blocks_take).
 * Static: a closed block that lags behind the mean (ftl_wear_lags) is collected though its pages live, one for
 * FTL_WEAR_SHARE blocks that come back (ftl_collect.h); they move to the most worn free block there is, for they are
 * cold. The anchors and the blocks of the bad-block table have counts, and no part in this.
 *
 * Mean, least and most are those of the last walk over all blocks, some at a time, so they lag a little. */
#ifndef FTL_WEAR_H
#define FTL_WEAR_H

#include "ftl_erases.h"

#define FTL_WEAR_SHARE 8u
#define FTL_WEAR_BLOCKS 16u /* that a round of the walk looks at */

/* The counts of f->old_root, once in a power-on; calls `holds` for each wear page. */
void ftl_wear_load(struct ftl *f, void (*holds)(struct ftl *f, uint32_t ppn));
/* The blocks of BUSY that are not in LIVE, those that the log names and the map does not, were erased once more; but
 * those not that were erased before the counts were written and open then: they are DATA until now. */
void ftl_wear_after_cut(struct ftl *f);

/* Before wear page n is programmed out of its frame: says which blocks are open; and after that. */
void ftl_wear_say_open(struct ftl *f, uint32_t n);
void ftl_wear_plain(struct ftl *f, uint32_t n);

/* The PPNs of wear pages in a root's frame: all none. */
void ftl_wear_none(uint32_t *root);

/* The reserve of the next mount rests for as long as the power is on. Whether a block of it lags; then that one is
 * free, and the most worn unnamed block of its die (ftl_blocks.h), erased, is reserve instead. Before counts are
 * written, for the log does not tell of that erase. Waits for it; nothing is in the queue. False: its die has no block
 * that is known to be unnamed. */
bool ftl_wear_wants(struct ftl *f);
bool ftl_wear_relieve(struct ftl *f);

/* One round of the walk. */
void ftl_wear_step(struct ftl *f);
/* Whether a block with that many erases is so far behind the mean that what it holds should leave it. */
bool ftl_wear_lags(const struct ftl *f, uint32_t erases);

#endif
