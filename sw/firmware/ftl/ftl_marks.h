/* SPDX-License-Identifier: Apache-2.0 */
/* Factory bad-block marks: the first spare byte of the first, second and last page of a block. Two or more bits that
 * are 0 in one of the three make the block bad; one 0 may be a read error. No block with a mark is ever erased, and no
 * page of the drive has a byte there other than FFh, so marks can be read at any time. Programs and erases nothing. */
#ifndef FTL_MARKS_H
#define FTL_MARKS_H

#include "ftl.h"

/* All blocks of all dies; those with a mark become BAD, but not the one that f->old_root was found in: its mark was
 * misread, and its root must not become void.
 * All blocks of a die that is out are BAD. FTL_ERR_DIE: another die does not answer. */
FTL_MUST_CHECK enum ftl_error ftl_marks_read(struct ftl *f);

#endif
