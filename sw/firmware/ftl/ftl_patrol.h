/* SPDX-License-Identifier: Apache-2.0 */
/* Looks at pages that nobody reads (docs/decisions/012-pages-written-again.md).
 *
 * While the drive is idle, a page every geometry.patrol_clocks is read by VERIFY, which moves no data; the pages of all
 * LPNs in turn, as the map names them. Of one with many corrected bits the hardware reports the same as when the host
 * reads it, and ftl_retire.h moves it. So this module only reads: it has no list and decides nothing. Versions of open
 * transactions and data that is still in a frame are passed over. Where it was is forgotten when power fails. */
#ifndef FTL_PATROL_H
#define FTL_PATROL_H

#include "ftl_retire.h"

#define FTL_PATROL_LPNS 256u /* that a round looks at in the map for one that has a page */

struct ftl_patrol {
    uint32_t lpn, last; /* the next one; when it last looked */
};

/* One round: waits at most for one page to be read. Nothing is done while anything else is to be done. */
void ftl_patrol_step(struct ftl *f, const struct ftl_retire *r, struct ftl_patrol *p);

#endif
