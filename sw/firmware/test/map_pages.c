/* SPDX-License-Identifier: Apache-2.0 */
#include "map_pages.h"

#include <string.h>

#include "ftl_blocks.h"
#include "ftl_erases.h"

#define BAD 0x40000000u /* `heals` of a page that went bad here */

static struct sim_page *newest_root(void) {
    struct sim_page *newest = NULL;
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;)
        if (newest == NULL || p->sequence > newest->sequence) newest = p;
    return newest;
}

/* The n-th page of the kind: PPNs of both copies. */
static bool find(uint32_t kind, uint32_t n, uint32_t *ppns) {
    const struct sim_page *root = newest_root();
    for (uint32_t d = 0; d < root->words[FTL_ROOT_DIRECTORIES]; d++) {
        const uint32_t *named = root->words + FTL_ROOT_DIRECTORY + d;
        if (named[0] == FTL_NO_PPN) continue;
        if (kind == FTL_KIND_DIRECTORY && n-- == 0) {
            ppns[0] = named[0];
            ppns[1] = named[FTL_ROOT_COPY];
            return true;
        }
        const uint32_t *words = sim_pages[named[sim_pages[named[0]].state == SIM_WHOLE ? 0 : FTL_ROOT_COPY]].words;
        for (uint32_t i = 0; kind == FTL_KIND_MAP && i < FTL_PAGE_WORDS; i += 2) {
            if (words[i] == FTL_NO_PPN || n-- != 0) continue;
            ppns[0] = words[i];
            ppns[1] = words[i + 1];
            return true;
        }
    }
    return false;
}

struct sim_page *map_page_named(uint32_t kind, uint32_t n, uint32_t copy) {
    uint32_t ppns[2];
    return find(kind, n, ppns) ? &sim_pages[ppns[copy]] : NULL;
}

uint32_t map_pages_stand_twice(void) {
    uint32_t ppns[2], found = 0;
    for (uint32_t kind = FTL_KIND_MAP; kind <= FTL_KIND_DIRECTORY; kind += FTL_KIND_DIRECTORY - FTL_KIND_MAP)
        for (uint32_t n = 0; find(kind, n, ppns); n++) {
            const struct sim_page *a = &sim_pages[ppns[0]], *b = &sim_pages[ppns[1]];
            CHECK(a->state == SIM_WHOLE && b->state == SIM_WHOLE && a->kind == kind && b->kind == kind);
            CHECK(a->lpn == b->lpn && a->sequence == b->sequence && a->generation == b->generation);
            CHECK(memcmp(a->words, b->words, sizeof a->words) == 0);
            CHECK(ppns[0] >> sim.g.page_bits != ppns[1] >> sim.g.page_bits);
            found++;
        }
    return found;
}

static uint16_t named[SIM_BLOCKS]; /* by the root that counts */

static uint32_t name(uint32_t ppn) {
    if (ppn == FTL_NO_PPN) return 0;
    named[ppn >> sim.g.page_bits]++;
    return 1;
}

static uint32_t count_named(void) {
    const uint32_t *root = NULL;
    uint32_t all = 0;
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;) /* a bad anchor may hold others */
        if (p->sequence == drive.ftl.old_root.sequence && p->words[FTL_ROOT_MAGIC] == FTL_ROOT_MAGIC_LO)
            root = p->words;
    memset(named, 0, sizeof named);
    for (uint32_t d = 0; d < root[FTL_ROOT_DIRECTORIES]; d++) {
        uint32_t first = root[FTL_ROOT_DIRECTORY + d], second = root[FTL_ROOT_SECOND + d];
        all += name(first) + name(second);
        if (first == FTL_NO_PPN) continue;
        const uint32_t *words = sim_pages[sim_pages[first].state == SIM_WHOLE ? first : second].words;
        for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) all += name(words[i]);
    }
    for (uint32_t i = 0; i < ftl_erases_pages(&sim.g); i++) all += name(root[FTL_ROOT_WEAR + i]);
    return all;
}

uint32_t named_pages(uint32_t block_id) {
    (void)count_named();
    return named[block_id];
}

void map_blocks_are_counted(void) {
    struct ftl *f = &drive.ftl;
    uint32_t pinned = 0, known = 0, all = count_named();
    for (uint32_t i = 0; i < f->map.n; i++) {
        const struct ftl_map_block *b = &f->map.at[i];
        bool open = false;
        for (uint32_t c = 0; c < 2; c++)
            open = open || (f->map.left[c] != 0 && f->map.to[c] >> sim.g.page_bits == b->id);
        CHECK(b->live == named[b->id] && ftl_blocks_is_taken(f, b->id));
        CHECK(b->live != 0 || b->pinned || open);
        pinned += b->pinned;
        known += b->live;
    }
    CHECK(all == known && pinned == f->map.pinned);
}

void map_becomes_format_8(void) {
    uint32_t ppns[2];
    for (uint32_t n = 0; find(FTL_KIND_MAP, n, ppns); n++) sim_pages[ppns[1]].state = SIM_TORN;
    for (uint32_t n = 0; find(FTL_KIND_DIRECTORY, n, ppns); n++) {
        uint32_t *words = sim_pages[ppns[0]].words;
        for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) words[i] = 2 * i < FTL_PAGE_WORDS ? words[2 * i] : FTL_NO_PPN;
        sim_pages[ppns[1]].state = SIM_TORN;
    }
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;) {
        p->words[FTL_ROOT_VERSION_WORD] = 8;
        for (uint32_t d = 0; d < FTL_MAX_DIRECTORIES; d++) p->words[FTL_ROOT_SECOND + d] = 0;
    }
}

bool map_page_goes_bad(void) {
    uint32_t kind = sim_random(2) ? FTL_KIND_MAP : FTL_KIND_DIRECTORY, pages = 0;
    if (newest_root() == NULL) return false;
    while (map_page_named(kind, pages, 0) != NULL) pages++;
    if (pages == 0) return false;
    struct sim_page *page = map_page_named(kind, sim_random(pages), sim_random(2));
    if (page->state != SIM_WHOLE) return false;
    page->state = SIM_TORN;
    page->heals = BAD;
    return true;
}

void map_page_heals(void) {
    for (uint32_t p = 0; p < ftl_first_ppn(&sim.g, ftl_block_id(&sim.g, sim.g.dies - 1, sim.g.blocks)); p++)
        if (sim_pages[p].state == SIM_TORN && sim_pages[p].heals > BAD / 2) {
            sim_pages[p].state = SIM_WHOLE;
            sim_pages[p].heals = 0;
        }
}
