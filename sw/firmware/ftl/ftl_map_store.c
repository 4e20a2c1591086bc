/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"
#include "ftl_map.h"
#include "ftl_prepared.h"
#include "ftl_wear.h"

/* Copies one map page into a frame and puts its data blocks into LIVE. False: all of it is NONE. */
static bool copy_out(struct ftl *f, uint32_t map_page, uint32_t frame) {
    uint32_t *from = hal_map() + map_page * FTL_PAGE_WORDS;
    uint32_t *to = hal_frame(frame), left = f->geometry.lbas - map_page * FTL_PAGE_WORDS, bits = f->geometry.page_bits;
    uint32_t n = left < FTL_PAGE_WORDS ? left : FTL_PAGE_WORDS, any = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t word = from[i], plain = ftl_word_plain(word);
        if (word != plain) from[i] = word = plain;
        to[i] = word;
        any |= word;
        if (word != FTL_WORD_NONE) ftl_blocks_live(f, FTL_WORD_VALUE(word) >> bits);
    }
    for (uint32_t i = n; i < FTL_PAGE_WORDS; i++) to[i] = FTL_WORD_NONE;
    return any != 0;
}

/* One directory and its map pages. */
static enum ftl_error store_directory(struct ftl *f, struct ftl_writer *w, uint32_t d, uint32_t *root_ppns) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY), ring = 0, first = d * FTL_DIRECTORY_PAGES;
    enum ftl_error error = FTL_OK;
    bool any = false;
    for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) ppns[i] = FTL_NO_PPN;
    for (uint32_t m = first; m < g->map_pages && m < first + FTL_DIRECTORY_PAGES && error == FTL_OK; m++) {
        struct ftl_write write = {.kind = FTL_KIND_MAP, .number = m, .frame = FTL_FRAME_POOL + ring};
        /* more frames than operations; after a failure one page at a time, so no frame is filled that is still to be
         * programmed */
        error = w->tries != 0 ? ftl_writer_drain(f, w) : ftl_writer_room(f, w);
        if (error != FTL_OK || !copy_out(f, m, write.frame)) continue;
        error = ftl_writer_put_twice(f, w, write, ppns + (m - first) * FTL_MAP_COPIES, 1);
        ring = ring + 1 == 2 * HAL_NAND_DEPTH ? 0 : ring + 1;
        any = true;
    }
    if (error == FTL_OK) error = ftl_writer_drain(f, w);
    for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) root_ppns[c * FTL_ROOT_COPY] = FTL_NO_PPN;
    if (error != FTL_OK || !any) return error;
    struct ftl_write write = {.kind = FTL_KIND_DIRECTORY, .number = d, .frame = FTL_FRAME_DIRECTORY};
    error = ftl_writer_put_twice(f, w, write, root_ppns, FTL_ROOT_COPY);
    return error == FTL_OK ? ftl_writer_drain(f, w) : error;
}

enum ftl_error ftl_map_store(struct ftl *f, struct ftl_root *root) {
    const struct ftl_geometry *g = &f->geometry;
    struct ftl_writer w = {.sequence = root->map_sequence,
                           .pages_to_go = FTL_MAP_COPIES * (g->map_pages + g->directories) + ftl_erases_pages(g)};
    uint32_t *root_words = hal_frame(root->frame);
    enum ftl_error error = FTL_OK;
    f->map.n = 0;
    for (uint32_t d = 0; d < g->directories && error == FTL_OK; d++)
        error = store_directory(f, &w, d, root_words + FTL_ROOT_DIRECTORY + d);
    root->directories = g->directories;
    ftl_wear_none(root_words);
    for (uint32_t n = 0; n < ftl_erases_pages(g) && error == FTL_OK; n++) {
        struct ftl_write write = {
            .kind = FTL_KIND_WEAR, .number = n, .frame = f->io.wear_frame + n, .ppn = root_words + FTL_ROOT_WEAR + n};
        error = ftl_writer_put(f, &w, &write);
        if (error == FTL_OK) error = ftl_writer_drain(f, &w);
    }
    if (error == FTL_OK) error = ftl_prepared_store(f, root, &w);
    return error;
}
