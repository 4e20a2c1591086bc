/* SPDX-License-Identifier: Apache-2.0 */
/* Roots: where a mount begins and ends (docs/architecture.md, rules of the mount: old-root, seal, old-last,
 * anchor-first, open-clean).
 *
 * A root is in one of the first three pages of an anchor block; there are FTL_ANCHORS of them (ftl_blocks.h), taken in
 * turn. While the drive is open exactly one holds a root. A mount chooses it, erases all other anchors that may hold
 * anything, writes its root into the next one that works and behind it a seal (a page from page FTL_SEAL_PAGE on; only
 * that it is not blank matters), and then erases the anchor it began with. Cut on the way, two roots may be found: the
 * newer one counts if it has a seal, else the older one, for a root without a seal may have been cut in its program and
 * fade. The older may be half erased when the newer has a seal.
 *
 * An anchor whose erase fails, or in which three programs of the root or of the seal fail, becomes bad, is in the
 * bad-block table before the next one is begun, and its pages never count again. */
#ifndef FTL_ROOT_H
#define FTL_ROOT_H

#include "ftl.h"
#include "ftl_blocks.h"

/* How many anchors are not bad. */
uint32_t ftl_root_anchors(struct ftl *f);

#define FTL_SEAL_PAGE 3u

/* Finds the root that counts, outside BAD blocks, into f->old_root and frame FTL_FRAME_ROOT, and which anchors are not
 * blank. *none is set, and f->old_root all zero, when there is no whole one, or only one without a seal beside blank
 * anchors: a first format that did not end, so nothing was ever acknowledged.
 * What bad blocks hold that nobody knows yet is not taken for a root: it has no CRC, kind and magic of one. Neither is
 * what is on a die that another root was made without. FTL_ERR_VERSION, _GEOMETRY: as in ftl_error.h. Programs and
 * erases nothing. */
FTL_MUST_CHECK enum ftl_error ftl_root_find(struct ftl *f, bool *none);

/* Of a drive without a root: whether it was never formatted. All anchors are blank, or only the first pages of the
 * first one are written, with nothing whole in them but a root, no seal behind it, and no first page of any other block
 * (a first format that was cut); the table's blocks may hold the bad-block table. With a die that is out blank anchors
 * are not enough: no other block was begun either. BAD must be known: the pages of a bad block say nothing. Programs
 * and erases nothing. */
bool ftl_root_never(struct ftl *f);

/* Before anything else is erased or programmed: erases all anchors that may hold something, but not the one of
 * f->old_root (anchor-first): a root that does not read today may read tomorrow. Nothing on a drive that never had one.
 * */
void ftl_root_alone(struct ftl *f);

/* Writes `root` and a seal into the next anchor that works, and root->anchor; f's frame root->frame holds the directory
 * PPNs from word FTL_ROOT_DIRECTORY on. Anchors that fail on the way become bad. FTL_ERR_ANCHOR: none is left, and the
 * old root still counts. The root is whole and sealed when this returns FTL_OK. */
FTL_MUST_CHECK enum ftl_error ftl_root_write(struct ftl *f, struct ftl_root *root);

/* After that: erases the anchor of f->old_root (open-clean); what only it needed is free now. One that cannot be erased
 * becomes bad. */
void ftl_root_leave_old(struct ftl *f);

#endif
