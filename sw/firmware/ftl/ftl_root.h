/* SPDX-License-Identifier: Apache-2.0 */
/* Roots: where a mount begins and ends (docs/architecture.md, rules of the mount: old-root, seal, old-last,
 * anchor-first, open-clean).
 *
 * A root is in one of the first three pages of an anchor block, and stands twice: in two anchors, of different dies
 * when the drive has more than one (two-roots). There are FTL_ANCHORS of them (ftl_blocks.h), taken in turn. While the
 * drive is open exactly one root is there. A mount chooses it, erases all other anchors, writes both copies of its root
 * into the next ones that work, then behind each a seal (a page from page FTL_SEAL_PAGE on), and then erases the
 * anchors it began with. Cut on the way, two roots may be found: the newer one counts if it has a seal, else the older
 * one, for a root without a seal may have been cut in its program and fade. The older may be half erased when the newer
 * has a seal. A seal says that both copies are complete, and a copy says in which anchors they are, so behind either of
 * them it speaks for both; only that it is not blank matters. So one page that cannot be read, root or seal, changes
 * nothing.
 *
 * An anchor whose erase fails, or in which three programs of the root or of the seal fail, becomes bad, is in the
 * bad-block table before the next one is begun, and its pages never count again. With fewer than four that work a root
 * may stand once: the new one takes what the old one leaves, and when that is nothing, the old one's second. */
#ifndef FTL_ROOT_H
#define FTL_ROOT_H

#include "ftl.h"
#include "ftl_blocks.h"

/* How many anchors are not bad. */
uint32_t ftl_root_anchors(struct ftl *f);

#define FTL_SEAL_PAGE 3u
#define FTL_ROOT_COPIES 2u

/* Finds the root that counts, outside BAD blocks, into f->old_root and frame FTL_FRAME_ROOT. *none is set, and
 * f->old_root all zero, when there is no whole one, or only that of a first format without a seal: it did not end, so
 * nothing was ever acknowledged.
 * What bad blocks hold that nobody knows yet is not taken for a root: it has no CRC, kind and magic of one. Neither is
 * what is on a die that another root was made without. FTL_ERR_VERSION, _GEOMETRY: as in ftl_error.h. Programs and
 * erases nothing. */
FTL_MUST_CHECK enum ftl_error ftl_root_find(struct ftl *f, bool *none);

/* Of a drive without a root: whether it was never formatted. All anchors are blank, or only the first pages of
 * those where a first format begins are written, with nothing whole in them but a root, no seal behind it, and no first
 * page of any other block (a first format that was cut); the table's blocks may hold the bad-block table. With a die
 * that is out blank anchors are not enough: no other block was begun either. BAD must be known: the pages of a bad
 * block say nothing. Programs and erases nothing. */
bool ftl_root_never(struct ftl *f);

/* Whether a block holds f->old_root. */
bool ftl_root_is_in(const struct ftl *f, uint32_t block_id);

/* Before anything else is erased or programmed: erases all anchors but those of f->old_root (anchor-first): a root that
 * does not read today, or whose page looks blank, may read tomorrow. Nothing on a drive that never had one. */
void ftl_root_alone(struct ftl *f);

/* Writes `root` and seals into the next anchors that work, and root->anchors; f's frame root->frame holds the directory
 * PPNs from word FTL_ROOT_DIRECTORY on. Nothing else is in flight. Anchors that fail on the way become bad.
 * FTL_ERR_ANCHOR: none is left, and the old root still counts. The root is whole and sealed when this returns FTL_OK.
 */
FTL_MUST_CHECK enum ftl_error ftl_root_write(struct ftl *f, struct ftl_root *root);

/* After that: erases the anchors of f->old_root (open-clean); what only it needed is free now. One that cannot be
 * erased becomes bad. */
void ftl_root_leave_old(struct ftl *f);

#endif
