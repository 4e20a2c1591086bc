/* SPDX-License-Identifier: Apache-2.0 */
/* Roots: where a mount begins and ends.
 *
 * Two anchor blocks. A mount writes its root into the anchor that does not hold the newest one, erased just before: a block that was partly
 * written before a power cut may hold a torn page that looks blank, so it is never programmed further. Pages behind the first are
 * for roots of the same session. The newest root is the whole ROOT page with the highest sequence; a torn one does not count. */
#ifndef FTL_ROOT_H
#define FTL_ROOT_H

#include "ftl.h"

/* Says where the second anchor is (g->second_anchor): block 0 of the last die, which the vendor guarantees; of an only die the first one of the blocks 1, 8, 9
 * ... without a factory mark. FTL_ERR_DIE: it does not answer. Before ftl_blocks_init. */
FTL_MUST_CHECK enum ftl_error ftl_root_anchors(struct ftl *f);

/* Finds the newest root into f->old_root and frame FTL_FRAME_ROOT. *none is set, and f->old_root all zero, when there is no whole one.
 * FTL_ERR_VERSION, _GEOMETRY: as in ftl_error.h. Programs and erases nothing. */
FTL_MUST_CHECK enum ftl_error ftl_root_find(struct ftl *f, bool *none);

/* Of a drive without a root: whether it was never formatted. Both anchors are blank, or only the first pages of the first one are written, none of
 * them whole, and no first page of any other good block (a first format that was cut); the table's blocks may hold the bad-block table. BAD must
 * be known: the pages of a bad block say nothing. Programs and erases nothing. */
bool ftl_root_never(struct ftl *f);

/* Programs `root` into its anchor, which has been erased; f's frame root->frame holds the directory PPNs from word FTL_ROOT_DIRECTORY on.
 * A page that fails is followed by the next one, three in all; then FTL_ERR_ANCHOR, and the old root still counts. The root is whole when this
 * returns FTL_OK. An anchor never gets into the bad-block table: nothing can stand in for it. */
FTL_MUST_CHECK enum ftl_error ftl_root_write(struct ftl *f, const struct ftl_root *root);

#endif
