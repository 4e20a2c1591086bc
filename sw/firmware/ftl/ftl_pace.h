/* SPDX-License-Identifier: Apache-2.0 */
/* How fast hosts may write while free blocks are few (docs/decisions/022-collection.md).
 *
 * Hosts have so many pages before them: those of erased blocks, and of free ones that data may take. While collection
 * is under way and these are fewer than FTL_PACE_FROM blocks for each die, each page costs a host clocks
 * (hal_page_clocks): as many as collection has last taken for a page that it freed, times the ratio of one block for
 * each die to the pages that there are, at most FTL_PACE_MOST times. So hosts write faster than collection frees pages
 * while there are more than that, and slower when there are less: the rate falls with the pages, and comes to rest
 * where as many are freed as are written. It is never 0, so nobody waits for collection but for pages that are not
 * there. Hardware keeps to it (WritePace.scala); firmware that is late changes nothing but the rate. */
#ifndef FTL_PACE_H
#define FTL_PACE_H

#include "ftl_collect.h"

#define FTL_PACE_FROM 4u
#define FTL_PACE_MOST 4u

struct ftl_pace {
    uint32_t clocks;      /* as the hardware was told */
    uint32_t gain;        /* clocks that a page takes that collection frees; 0: not known */
    uint32_t took, pages; /* clocks and pages of the measurements that it is from, the older ones with less weight */
    bool measures;        /* blocks are collected */
    uint32_t begin, back; /* the measurement under way: its first clock, blocks that had come back then, */
    uint32_t freed;       /* pages that had been freed, modulo 2^32 */
};

/* One round. */
void ftl_pace_step(const struct ftl *f, const struct ftl_supply *s, const struct ftl_retire *r,
                   const struct ftl_collect *c, struct ftl_pace *p);

#endif
