/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"
#include "ftl_dies.h"
#include "ftl_map.h"
#include "ftl_map_blocks.h"
#include "ftl_wear.h"

/* Whether it is the page that the root means. From format FTL_SHARED on it may be as old as it likes: a block that the
 * root names a page of is not erased, so what stands there was programmed for it. */
static bool is_page(const struct ftl *f, const struct hal_nand_done *done, uint32_t kind, uint32_t lpn) {
    const struct ftl_root *r = &f->old_root;
    if (done->status != FTL_PAGE_OK || done->kind != kind || done->lpn != lpn) return false;
    bool has_position = kind == FTL_KIND_MAP && r->version > 4;
    if (r->version >= FTL_SHARED)
        return done->generation <= r->map_generation && (has_position || done->sequence <= r->map_sequence);
    return done->generation == r->map_generation && (has_position || done->sequence == r->map_sequence);
}

/* Positions count in the log of the generation that wrote the page. */
static void set_position(const struct ftl *f, uint32_t map_page, uint32_t generation, uint64_t position) {
    const struct ftl_root *r = &f->old_root;
    bool counts = r->version > 4 && generation == r->generation && position > r->map_first;
    *ftl_map_position(f, map_page) = counts ? (uint32_t)(position - r->map_first) : 0;
}

/* A page of the map: its block is BUSY. Whether that is unwanted: the page has to be written anew. */
static bool is_unwanted(struct ftl *f, uint32_t ppn) {
    uint32_t block_id = ppn >> f->geometry.page_bits;
    ftl_blocks_busy(f, block_id);
    if (!ftl_map_blocks_named(f, ppn)) f->map_whole = f->map_must_move = true;
    return ftl_blocks_unwanted(f, block_id);
}

static void page_must(struct ftl *f, uint32_t map_page) {
    f->map_must_move = true;
    hal_map_touch(map_page);
}

static void directory_must(struct ftl *f, uint32_t d) {
    f->map_must_move = true;
    f->directory_must[d / 32] |= 1u << d % 32;
}

static void holds_wear(struct ftl *f, uint32_t ppn) {
    if (is_unwanted(f, ppn)) f->map_must_move = true;
}

/* No page counts as changed. */
static void take_all(const struct ftl *f) {
    for (uint32_t m = 0; m < f->geometry.map_pages; m += 32) (void)hal_map_changed(m / 32, true);
}

uint32_t ftl_map_changed(const struct ftl *f) {
    uint32_t n = 0;
    for (uint32_t m = 0; m < f->geometry.map_pages; m += 32) n += ftl_dies_count(hal_map_changed(m / 32, false));
    return n;
}

static bool run(enum hal_map_op op, uint32_t frame, uint32_t map_page) {
    struct hal_map_task t = {.op = op, .frame = frame, .page = map_page};
    hal_map_start(&t);
    return !hal_map_wait().bad;
}

/* Map pages from `first` up to `end` become NONE. */
static enum ftl_error fill_none(uint32_t first, uint32_t end) {
    return first == end || run(HAL_MAP_FILL, end - first - 1, first) ? FTL_OK : FTL_ERR_MEMORY;
}

/* How directories of f->old_root are written: 1 << copy_bits PPNs for each map page, one behind the other. */
static uint32_t copy_bits(const struct ftl *f) { return f->old_root.version > 8 ? 1 : 0; }
static uint32_t copies(const struct ftl *f) { return 1u << copy_bits(f); }
_Static_assert(FTL_MAP_COPIES == 2, "copy_bits");

/* Some map pages of a directory: from `first` to `end`, those with a bit in left[]. */
struct part {
    uint32_t first, end;
    uint32_t left[FTL_PAGE_WORDS / 32]; /* bit per page from `first` on: it has to be loaded */
};
#define NO_PAGE 0xffffffffu

static uint32_t frame_of(uint32_t map_page) { return FTL_FRAME_POOL + map_page % HAL_NAND_DEPTH; }

static bool is_left(const struct part *p, uint32_t map_page) {
    return (p->left[(map_page - p->first) / 32] >> (map_page - p->first) % 32 & 1u) != 0;
}

/* Starts reads of what is left, from page `next` up to `end`, as long as there is room; returns where it goes on. */
static uint32_t read_ahead(struct ftl *f, const struct part *p, uint32_t copy, uint32_t next, uint32_t end) {
    const uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY);
    struct hal_nand_op o = {.op = HAL_READ};
    for (; next < end && next < p->end && ftl_io_room(&f->io); next++) {
        o.ppn = ppns[((next - p->first) << copy_bits(f)) + copy];
        o.frame = frame_of(next);
        if (is_left(p, next)) ftl_io_put(&f->io, &o);
    }
    return next;
}

/* The page that the hardware moves into the map is there, and left no longer, unless it is bad: then it has been
 * counted in vain, and the map, which must move, will be counted anew. */
static void loaded(struct part *p, uint32_t *page) {
    if (*page == NO_PAGE) return;
    if (!hal_map_wait().bad) p->left[(*page - p->first) / 32] &= ~(1u << (*page - p->first) % 32);
    *page = NO_PAGE;
}

/* Loads what is left of a part from that copy. While the hardware moves a page into the map, the next ones are read. */
static void load_copy(struct ftl *f, struct part *p, uint32_t copy) {
    struct hal_nand_done done;
    uint32_t moving = NO_PAGE, put = read_ahead(f, p, copy, p->first, p->first + HAL_NAND_DEPTH);
    for (uint32_t m = p->first; m < p->end; m++) {
        bool here = is_left(p, m);
        if (here) ftl_io_get(&f->io, &done);
        loaded(p, &moving);
        if (here && is_page(f, &done, FTL_KIND_MAP, m)) {
            struct hal_map_task t = {.op = HAL_MAP_LOAD, .frame = frame_of(m), .page = m};
            hal_map_start(&t);
            set_position(f, m, done.generation, done.sequence);
            moving = m;
        }
        put = read_ahead(f, p, copy, put, m + HAL_NAND_DEPTH + (moving == m ? 0 : 1));
    }
    loaded(p, &moving);
}

/* Which pages of a directory there are; their blocks become BUSY. */
static enum ftl_error look(struct ftl *f, struct part *p, bool *any) {
    const uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY), bits = copy_bits(f);
    for (uint32_t i = 0; i < FTL_PAGE_WORDS / 32; i++) p->left[i] = 0;
    for (uint32_t i = 0; i < (p->end - p->first) << bits; i++) {
        uint32_t page = i >> bits;
        if (ppns[page << bits] == FTL_NO_PPN) continue;
        if (!ftl_block_exists(&f->geometry, ppns[i] >> f->geometry.page_bits)) return FTL_ERR_MAP;
        if (is_unwanted(f, ppns[i])) page_must(f, p->first + page);
        p->left[page / 32] |= 1u << page % 32;
        *any = true;
    }
    return FTL_OK;
}

static bool any_left(const struct part *p) {
    for (uint32_t i = 0; i < FTL_PAGE_WORDS / 32; i++)
        if (p->left[i] != 0) return true;
    return false;
}

uint32_t ftl_map_directory(struct ftl *f, uint32_t d, const uint32_t *ppns, uint32_t frame) {
    for (uint32_t c = 0; c < copies(f); c++) {
        struct hal_nand_op o = {.op = HAL_READ, .ppn = ppns[c * FTL_ROOT_COPY], .frame = frame};
        struct hal_nand_done done;
        if (!ftl_block_exists(&f->geometry, o.ppn >> f->geometry.page_bits)) continue;
        ftl_io_one(&f->io, &o, &done);
        if (is_page(f, &done, FTL_KIND_DIRECTORY, d)) return c;
    }
    return FTL_MAP_COPIES;
}

/* One directory and its map pages. */
static enum ftl_error load_directory(struct ftl *f, uint32_t d, const uint32_t *ppns, struct part *p) {
    for (uint32_t c = 0; c < copies(f); c++) {
        uint32_t ppn = ppns[c * FTL_ROOT_COPY];
        if (ftl_block_exists(&f->geometry, ppn >> f->geometry.page_bits) && is_unwanted(f, ppn)) directory_must(f, d);
    }
    uint32_t copy = ftl_map_directory(f, d, ppns, FTL_FRAME_DIRECTORY);
    if (copy == FTL_MAP_COPIES) return FTL_ERR_MAP;
    if (copy != 0) directory_must(f, d);
    bool any = false;
    enum ftl_error error = look(f, p, &any);
    for (uint32_t m = p->first; m < p->end && error == FTL_OK; m++) {
        uint32_t first = m;
        while (m < p->end && !is_left(p, m)) m++;
        error = fill_none(first, m);
    }
    for (uint32_t c = 0; c < copies(f) && any && error == FTL_OK; c++) {
        load_copy(f, p, c);
        any = any_left(p);
        for (uint32_t m = p->first; m < p->end && any; m++)
            if (is_left(p, m)) page_must(f, m);
    }
    return error == FTL_OK && any ? FTL_ERR_MAP : error;
}

void ftl_map_plain(const struct ftl *f) {
    for (uint32_t m = 0; m < f->geometry.map_pages; m++) (void)run(HAL_MAP_STORE, FTL_FRAME_MAP(f), m);
}

enum ftl_error ftl_map_load(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *ppns = hal_frame(f->old_root.frame) + FTL_ROOT_DIRECTORY,
                   pages = FTL_DIRECTORY_PAGES << 1 >> copy_bits(f);
    enum ftl_error error = FTL_OK;
    (void)run(HAL_MAP_CLEAR, 0, 0);
    take_all(f);
    ftl_map_blocks_clear(f);
    f->map_whole = copies(f) < FTL_MAP_COPIES;
    for (uint32_t i = 0; i < FTL_MAX_DIRECTORIES / 32; i++) f->directory_must[i] = 0;
    if (f->old_root.version != 0 && f->map_whole) f->map_must_move = true;
    ftl_wear_load(f, holds_wear);
    for (uint32_t d = 0; d * pages < g->map_pages && error == FTL_OK; d++) {
        struct part p = {.first = d * pages, .end = (d + 1) * pages};
        if (p.end > g->map_pages) p.end = g->map_pages;
        if (d < f->old_root.directories && ppns[d] != FTL_NO_PPN) {
            error = load_directory(f, d, ppns + d, &p);
            continue;
        }
        error = fill_none(p.first, p.end);
    }
    if (error == FTL_OK) ftl_blocks_counted_busy(f);
    return error;
}
