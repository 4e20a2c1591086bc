/* SPDX-License-Identifier: Apache-2.0 */
/* Dies that are not there (docs/decisions/014-drives-without-a-die.md).
 *
 * geometry.out has a bit for each die that nobody operates: operations of it end in ftl_io.h. From ftl_scan() on these
 * are the dies that do not answer, if any may be missing; when it is known what the drive was made without, these and
 * no others. All blocks of a die that the drive was made without are bad, in the bad-block table too, so nothing is
 * given a place there: no data, log, map, root or table. It stays so for good, also when that die answers later. */
#ifndef FTL_DIES_H
#define FTL_DIES_H

#include "ftl.h"

/* Names a die in the report. */
void ftl_dies_name(struct ftl *f, uint32_t die);

/* From now on it is out. */
void ftl_dies_leave(struct ftl *f, uint32_t die);

/* Of a drive with a root (f->old_root): what it was made without. FTL_ERR_LOST: another die is absent. */
FTL_MUST_CHECK enum ftl_error ftl_dies_of_root(struct ftl *f);

/* Of a drive to be formatted, with BAD known: what it is made without, the dies that are absent and those without a
 * good block (of a first format that was cut).
 * FTL_ERR_LOST: the table has good blocks of an absent die, so it was there. FTL_ERR_DIE: more are absent than may be.
 * */
FTL_MUST_CHECK enum ftl_error ftl_dies_of_blank(struct ftl *f);

#endif
