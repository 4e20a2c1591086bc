/* SPDX-License-Identifier: Apache-2.0 */
/* Roots: where a mount begins and ends.
 *
 * Two anchor blocks. A mount writes its root into the anchor that does not hold the newest one, erased just before: a block that was partly
 * written before a power cut may hold a torn page that looks blank, so it is never programmed further. Pages behind the first are
 * for roots of the same session. The newest root is the whole ROOT page with the highest sequence; a torn one does not count. */
#ifndef FTL_ROOT_H
#define FTL_ROOT_H

#include "ftl.h"

/* Finds the newest root into f->old_root and frame FTL_FRAME_ROOT. *blank is set, and f->old_root all zero, when the drive was never
 * formatted: both anchors blank, or only page 0 of the first one written, not whole, and no first page of any other block written
 * (a first format that was cut). FTL_ERR_NO_ROOT, _VERSION, _GEOMETRY: as in ftl_error.h. Programs and erases nothing. */
FTL_MUST_CHECK enum ftl_error ftl_root_find(struct ftl *f, bool *blank);

/* Programs `root` into its anchor, which has been erased; f's frame root->frame holds the directory PPNs from word FTL_ROOT_DIRECTORY on.
 * The root is whole when this returns FTL_OK. */
FTL_MUST_CHECK enum ftl_error ftl_root_write(struct ftl *f, const struct ftl_root *root);

#endif
