/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_pace.h"

#define MOST (HAL_PAGE_CLOCKS / FTL_PACE_MOST)

/* Clocks for each page that collection frees, in the mean of the last measurements. */
static void measure(const struct ftl *f, const struct ftl_retire *r, const struct ftl_collect *c, struct ftl_pace *p) {
    uint32_t freed = c->released * f->geometry.pages - r->moves.moved, now = hal_clocks();
    if (p->measures && c->released - p->back < ftl_dies_used(&f->geometry)) return;
    if (p->measures) {
        int32_t pages = (int32_t)(freed - p->freed) + (int32_t)(p->pages - p->pages / 8);
        p->took = p->took - p->took / 8 + (now - p->begin);
        p->pages = pages > 0 ? (uint32_t)pages : 0;
        p->gain = p->pages != 0 ? p->took / p->pages : MOST;
        if (p->gain > MOST) p->gain = MOST;
    }
    p->measures = true;
    p->begin = now;
    p->back = c->released;
    p->freed = freed;
}

void ftl_pace_step(const struct ftl *f, const struct ftl_supply *s, const struct ftl_retire *r,
                   const struct ftl_collect *c, struct ftl_pace *p) {
    uint32_t clocks = 0, one = ftl_dies_used(&f->geometry) * f->geometry.pages;
    if (!ftl_supply_low(f)) p->measures = false;
    else {
        measure(f, r, c, p);
        uint32_t pages = hal_alloc_left() + ftl_supply_ahead(f, s) * f->geometry.pages;
        if (pages < FTL_PACE_FROM * one)
            clocks = pages * FTL_PACE_MOST <= one ? FTL_PACE_MOST * p->gain : p->gain * one / pages;
    }
    if (clocks == p->clocks) return;
    hal_page_clocks(clocks);
    p->clocks = clocks;
}
