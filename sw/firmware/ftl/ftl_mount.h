/* SPDX-License-Identifier: Apache-2.0 */
/* From power-on to an open drive.
 *
 * Scan, newest root, bad-block table (of a drive without one: factory marks), map, log, replay; then the table, if it
 * changed, and a new root of the next generation (rule "generation"), before anything that the old one or its log names
 * is erased or overwritten: cut at any instant, the next mount finds either root whole and comes to the same map.
 * Blocks that were partly written when power failed get no further pages. Blocks that fail to erase or program on the
 * way become bad, and others take their place; what lives in bad blocks is moved by ftl_retire.h. A drive that was
 * never written is formatted by the same steps with an empty map, if it has good blocks enough. */
#ifndef FTL_MOUNT_H
#define FTL_MOUNT_H

#include "ftl.h"

/* Needs f->geometry (ftl_geometry_init done), the rest zero. On FTL_OK the new root is whole, f->report is filled in
 * and ftl_open() may follow.
 * On any other result the drive stays closed and answers NOT_READY, or, if f->report.readable, it may be opened by
 * ftl_open_read_only(): the map is that of the old root and its log, and only what a new generation needs could not be
 * written: no anchor, no block, or too many programs failed. The next mount does the same again. */
FTL_MUST_CHECK enum ftl_error ftl_mount(struct ftl *f);

/* Enables the drive and gives each lane of the log its first two blocks. Then ftl_supply.h may run. */
void ftl_open(struct ftl *f);

/* Enables the drive for reads. Nothing is to be done after that. */
void ftl_open_read_only(void);

#endif
