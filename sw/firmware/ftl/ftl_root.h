/* SPDX-License-Identifier: Apache-2.0 */
/* Roots: where a mount begins and ends.
 *
 * A root is in one of the first three pages of an anchor block; there are FTL_ANCHORS of them (ftl_blocks.h), taken in turn: a mount writes its root into the next
 * one that works after the one with the newest root, erased just before, for a block that was partly written before a power cut may hold a torn page that
 * looks blank. An anchor whose erase fails, or in which three programs fail, becomes bad, is in the bad-block table before the next one is begun, and its
 * pages never count again. So of the anchors that work the one with the newest root is never erased, and none but the next one holds anything of a root that was
 * not finished. The newest root is the whole ROOT page with the highest sequence; a torn one does not count. */
#ifndef FTL_ROOT_H
#define FTL_ROOT_H

#include "ftl.h"

/* How many anchors are not bad. */
uint32_t ftl_root_anchors(struct ftl *f);

/* Finds the newest root outside BAD blocks into f->old_root and frame FTL_FRAME_ROOT. *none is set, and f->old_root all zero, when there is no whole one.
 * What bad blocks hold that nobody knows yet is not taken for a root: it has no CRC, kind and magic of one. Neither is what is on a die that another root was made without. FTL_ERR_VERSION, _GEOMETRY: as in
 * ftl_error.h. Programs and erases nothing. */
FTL_MUST_CHECK enum ftl_error ftl_root_find(struct ftl *f, bool *none);

/* Of a drive without a root: whether it was never formatted. All anchors are blank, or only the first pages of the first one are written, none of
 * them whole, and no first page of any other block (a first format that was cut); the table's blocks may hold the bad-block table. With a die that is out blank
 * anchors are not enough: no other block was begun either. BAD must be known: the pages of a bad block say nothing. Programs and erases nothing. */
bool ftl_root_never(struct ftl *f);

/* Writes `root` into the next anchor that works, and root->anchor; f's frame root->frame holds the directory PPNs from word FTL_ROOT_DIRECTORY on. Anchors that
 * fail on the way become bad. FTL_ERR_ANCHOR: none is left, and the old root still counts. The root is whole when this returns FTL_OK. */
FTL_MUST_CHECK enum ftl_error ftl_root_write(struct ftl *f, struct ftl_root *root);

#endif
