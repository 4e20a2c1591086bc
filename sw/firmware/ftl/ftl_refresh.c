/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_refresh.h"

void ftl_refresh_take(const struct ftl *f, struct ftl_refresh *r) {
    uint32_t ppn;
    if (!hal_weak_page(&ppn) || r->pages == FTL_REFRESH_PAGES ||
        !ftl_block_exists(&f->geometry, ppn >> f->geometry.page_bits))
        return;
    for (uint32_t i = 0; i < r->pages; i++)
        if (r->page[i].ppn == ppn) return;
    r->page[r->pages].ppn = ppn;
    r->page[r->pages++].head = hal_log_head();
}

bool ftl_refresh_ready(const struct ftl_refresh *r, uint64_t mark) { return r->pages != 0 && mark >= r->page[0].head; }

void ftl_refresh_drop(struct ftl_refresh *r) {
    r->pages--;
    for (uint32_t i = 0; i < r->pages; i++) r->page[i] = r->page[i + 1];
}
