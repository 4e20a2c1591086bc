/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"
#include "ftl_map.h"
#include "ftl_prepared.h"
#include "ftl_wear.h"

/* One map page into a frame, words of the log's kind plain on both sides. *any: not all of it is NONE. */
static enum ftl_error copy_out(uint32_t map_page, uint32_t frame, bool *any) {
    struct hal_map_task t = {.op = HAL_MAP_STORE, .frame = frame, .page = map_page};
    hal_map_start(&t);
    struct hal_map_state state = hal_map_wait();
    *any = state.any;
    return state.bad ? FTL_ERR_MEMORY : FTL_OK;
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
        bool here = false;
        if (error == FTL_OK) error = copy_out(m, write.frame, &here);
        if (error != FTL_OK || !here) continue;
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
    struct hal_map_task none = {.op = HAL_MAP_CLEAR};
    hal_map_start(&none);
    f->map.n = 0;
    for (uint32_t d = 0; d < g->directories && error == FTL_OK; d++)
        error = store_directory(f, &w, d, root_words + FTL_ROOT_DIRECTORY + d);
    root->directories = g->directories;
    ftl_wear_none(root_words);
    for (uint32_t n = 0; n < ftl_erases_pages(g) && error == FTL_OK; n++) {
        struct ftl_write write = {
            .kind = FTL_KIND_WEAR, .number = n, .frame = f->io.wear_frame + n, .ppn = root_words + FTL_ROOT_WEAR + n};
        ftl_wear_say_open(f, n);
        error = ftl_writer_put(f, &w, &write);
        if (error == FTL_OK) error = ftl_writer_drain(f, &w);
        ftl_wear_plain(f, n);
    }
    if (error == FTL_OK) error = ftl_prepared_store(f, root, &w);
    while (!ftl_io_empty(&f->io)) { /* after an error: the drive may open, to be read */
        struct hal_nand_done done;
        ftl_io_get(&f->io, &done);
    }
    return error;
}
