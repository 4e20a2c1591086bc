/* SPDX-License-Identifier: Apache-2.0 */
/* The bad-block table (docs/decisions/011-failing-nand.md): set BAD of ftl_blocks.h and its two copies on NAND.
 *
 * A version of the table is f->blocks.frames pages of kind BBT, all with the version as their sequence; they follow one
 * another in a block, versions too. Each copy has three blocks of its own. The newest version with all its pages whole
 * counts, wherever it is; a copy in a block that became bad is still read.
 * A block that an earlier session wrote gets no further page: a new version goes to the next good one of the three,
 * erased just before, and to the one that holds the copy's newest version only if there is no other and the other copy
 * is not older. The older copy is written first. So one whole version is there at any instant. A block that fails on
 * the way becomes bad itself, which makes a newer version.
 * When none of the three can be used (bad, or named by the map) the copy is given up until the next
 * ftl_bbt_write(). */
#ifndef FTL_BBT_H
#define FTL_BBT_H

#include "ftl_blocks.h"

/* Finds the newest version and reads it into BAD. False: there is none, BAD is empty. Programs and erases nothing. */
bool ftl_bbt_load(struct ftl *f);

/* Puts a block into the table. False: it is there already. */
bool ftl_bbt_mark(struct ftl *f, uint32_t block_id);

/* Whether a copy is not of the version that BAD holds and can be written. */
bool ftl_bbt_dirty(const struct ftl *f);
/* One erase or program on the way to two copies of the newest version; nothing else may be in flight. */
void ftl_bbt_step(struct ftl *f);
/* All of them; a copy that was given up is tried again. */
void ftl_bbt_write(struct ftl *f);

#endif
