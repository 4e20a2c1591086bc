/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks with pages of the map (docs/decisions/033-changed-map-pages.md).
 *
 * A checkpoint or a mount writes the map pages that changed; the others stay where they are. So a block holds pages of
 * several of them. `live` counts its pages that the root which counts names: map pages and directories, both copies,
 * wear pages. `next` is the same for the root that is to come. When that counts, blocks without a live page are free.
 * Blocks with prepared transactions are pinned until no root names these.
 *
 * So that they do not become ever more, the emptiest ones leave: their pages are written anew, with those that changed.
 * Bad blocks leave in any case, and those that wear less than others (ftl_wear_lags). When that is not enough all of
 * the map is written.
 *
 * While the drive is open each copy of the map has a block that goes on with the next checkpoint. A mount leaves them
 * two of its own. */
#ifndef FTL_MAP_BLOCKS_H
#define FTL_MAP_BLOCKS_H

#include "ftl.h"

/* A mount begins: none is known. */
void ftl_map_blocks_clear(struct ftl *f);
/* The root that counts names this page. False: there is no room for its block, and all of the map must be written. */
bool ftl_map_blocks_named(struct ftl *f, uint32_t ppn);
/* An erased block is for the map. False: there is no room for it. */
bool ftl_map_blocks_open(struct ftl *f, uint32_t block_id);
/* Some of the prepared transactions are in it. */
void ftl_map_blocks_pin(struct ftl *f, uint32_t block_id);

/* A new map begins, for which so many pages of each copy are written, and so many pages beside them. Chooses what
 * leaves. True: all of the map is to be written, as it is with `whole`; then no block is open. */
bool ftl_map_blocks_begin(struct ftl *f, uint32_t pages, uint32_t beside, bool whole);
/* Whether the map that was begun has as many blocks as it may have: one more, and it would have to be written whole.
 * More pages may change while a checkpoint is written than were known when it began. */
bool ftl_map_blocks_full(const struct ftl *f);
/* Whether a page must be written anew because its block leaves; FTL_NO_PPN: no. */
bool ftl_map_blocks_leaves(struct ftl *f, uint32_t ppn);
/* The root that is to come names this page; it does not name that page any more, which becomes FTL_NO_PPN. */
void ftl_map_blocks_put(struct ftl *f, uint32_t ppn);
void ftl_map_blocks_drop(struct ftl *f, uint32_t *ppn);
/* That root counts, or it never will; with `unpin` it names no prepared transactions. Blocks that nothing needs are
 * released. */
void ftl_map_blocks_end(struct ftl *f, bool counts, bool unpin);

/* Whether there are places for the blocks of a mount, those of a checkpoint of the whole map, and some that fail. */
bool ftl_map_blocks_fit(const struct ftl_geometry *g);

/* How many blocks the map may have between checkpoints: those that a mount takes; of the blocks beyond the need at most
 * a quarter, and no more than a checkpoint takes; beside pinned ones no more than that. */
uint32_t ftl_map_blocks_most(const struct ftl *f);

#endif
