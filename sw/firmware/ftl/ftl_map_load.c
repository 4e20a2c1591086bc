/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"
#include "ftl_map.h"
#include "ftl_wear.h"

static bool is_page(const struct ftl *f, const struct hal_nand_done *done, uint32_t kind, uint32_t lpn) {
    const struct ftl_root *r = &f->old_root;
    return done->status == FTL_PAGE_OK && done->kind == kind && done->lpn == lpn &&
           (done->sequence == r->map_sequence || (kind == FTL_KIND_MAP && r->version > 4)) &&
           done->generation == r->map_generation;
}

/* Positions count in the log of the generation that wrote the map. */
static void set_position(const struct ftl *f, uint32_t map_page, uint64_t position) {
    const struct ftl_root *r = &f->old_root;
    bool counts = r->version > 4 && r->map_generation == r->generation && position > r->map_first;
    *ftl_map_position(f, map_page) = counts ? (uint32_t)(position - r->map_first) : 0;
}

/* A block with pages of the map: BUSY, and if it is unwanted the map has to be written anew. */
static void holds_map(struct ftl *f, uint32_t block_id) {
    ftl_blocks_busy(f, block_id);
    ftl_holders_put(&f->map, block_id);
    if (ftl_blocks_unwanted(f, block_id)) f->map_must_move = true;
}

static uint32_t words_of(const struct ftl *f, uint32_t map_page) {
    uint32_t left = f->geometry.lbas - map_page * FTL_PAGE_WORDS;
    return left < FTL_PAGE_WORDS ? left : FTL_PAGE_WORDS;
}

static void fill_none(struct ftl *f, uint32_t map_page) {
    uint32_t *to = hal_map() + map_page * FTL_PAGE_WORDS, n = words_of(f, map_page);
    for (; n >= 8; n -= 8, to += 8) to[0] = to[1] = to[2] = to[3] = to[4] = to[5] = to[6] = to[7] = FTL_WORD_NONE;
    for (; n > 0; n--) *to++ = FTL_WORD_NONE;
}

static enum ftl_error copy_in(struct ftl *f, uint32_t map_page, uint32_t frame) {
    const uint32_t *from = hal_frame(frame);
    uint32_t *to = hal_map() + map_page * FTL_PAGE_WORDS, bits = f->geometry.page_bits;
    for (uint32_t n = words_of(f, map_page); n > 0; n--) {
        uint32_t word = *from++;
        *to++ = word;
        if (word == FTL_WORD_NONE) continue;
        uint32_t block = FTL_WORD_VALUE(word) >> bits;
        if (block == f->blocks.last_busy) continue;
        if (FTL_WORD_KIND(word) != FTL_WORD_KIND_NAND || !ftl_block_exists(&f->geometry, block)) return FTL_ERR_MAP;
        ftl_blocks_busy(f, block);
    }
    return FTL_OK;
}

/* One directory and its map pages: reads stay ahead of the copying. */
static enum ftl_error load_directory(struct ftl *f, uint32_t d, uint32_t ppn) {
    const struct ftl_geometry *g = &f->geometry;
    struct hal_nand_op o = {.op = HAL_READ, .ppn = ppn, .frame = FTL_FRAME_DIRECTORY};
    struct hal_nand_done done;
    if (!ftl_block_exists(g, ppn >> g->page_bits)) return FTL_ERR_MAP;
    holds_map(f, ppn >> g->page_bits);
    ftl_io_one(&f->io, &o, &done);
    if (!is_page(f, &done, FTL_KIND_DIRECTORY, d)) return FTL_ERR_MAP;
    const uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY);
    uint32_t first = d * FTL_PAGE_WORDS,
             end = first + FTL_PAGE_WORDS < g->map_pages ? first + FTL_PAGE_WORDS : g->map_pages, put = first;
    enum ftl_error error = FTL_OK;
    for (uint32_t m = first; m < end; m++) {
        for (; put < end && ftl_io_room(&f->io) && put < m + HAL_NAND_DEPTH; put++) {
            o.ppn = ppns[put - first];
            o.frame = FTL_FRAME_POOL + put % HAL_NAND_DEPTH;
            if (o.ppn == FTL_NO_PPN) continue;
            if (!ftl_block_exists(g, o.ppn >> g->page_bits)) return FTL_ERR_MAP;
            holds_map(f, o.ppn >> g->page_bits);
            ftl_io_put(&f->io, &o);
        }
        if (ppns[m - first] == FTL_NO_PPN) {
            fill_none(f, m);
            continue;
        }
        ftl_io_get(&f->io, &done);
        set_position(f, m, done.sequence);
        if (error == FTL_OK)
            error =
                is_page(f, &done, FTL_KIND_MAP, m) ? copy_in(f, m, FTL_FRAME_POOL + m % HAL_NAND_DEPTH) : FTL_ERR_MAP;
    }
    return error;
}

void ftl_map_plain(const struct ftl *f) {
    for (uint32_t lpn = 0; lpn < f->geometry.lbas; lpn++) hal_map()[lpn] = ftl_word_plain(hal_map()[lpn]);
}

enum ftl_error ftl_map_load(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    f->map.n = 0;
    ftl_wear_load(f, holds_map);
    const uint32_t *ppns = hal_frame(f->old_root.frame) + FTL_ROOT_DIRECTORY;
    for (uint32_t d = 0; d < g->directories; d++) {
        if (d < f->old_root.directories && ppns[d] != FTL_NO_PPN) {
            enum ftl_error error = load_directory(f, d, ppns[d]);
            if (error != FTL_OK) return error;
            continue;
        }
        uint32_t end = (d + 1) * FTL_PAGE_WORDS < g->map_pages ? (d + 1) * FTL_PAGE_WORDS : g->map_pages;
        for (uint32_t m = d * FTL_PAGE_WORDS; m < end; m++) fill_none(f, m);
    }
    return FTL_OK;
}
