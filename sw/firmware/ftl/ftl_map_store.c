/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"
#include "ftl_map.h"
#include "ftl_map_blocks.h"
#include "ftl_prepared.h"
#include "ftl_wear.h"

#define FTL_DIRECTORY_WORDS (FTL_PAGE_WORDS / FTL_MAP_COPIES / 32u)

/* One map page into a frame, words of the log's kind plain on both sides. *any: not all of it is NONE. */
static enum ftl_error copy_out(uint32_t map_page, uint32_t frame, bool *any) {
    struct hal_map_task t = {.op = HAL_MAP_STORE, .frame = frame, .page = map_page};
    hal_map_start(&t);
    struct hal_map_state state = hal_map_wait();
    *any = state.any;
    return state.bad ? FTL_ERR_MEMORY : FTL_OK;
}

/* What is common to all directories. */
struct store {
    struct ftl_writer writer;
    uint32_t bits; /* of the 32 pages that the next one is of */
    bool whole;
};

/* Takes the directory as the old root has it, or without a page. False: it was there and cannot be read any more, and
 * all of its pages are to be written. */
static bool take_directory(struct ftl *f, uint32_t d, const uint32_t *root_ppns) {
    uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY);
    bool none = root_ppns[0] == FTL_NO_PPN,
         lost = !none && ftl_map_directory(f, d, root_ppns, FTL_FRAME_DIRECTORY) == FTL_MAP_COPIES;
    for (uint32_t i = 0; i < FTL_PAGE_WORDS && (none || lost); i++) ppns[i] = FTL_NO_PPN;
    return !lost;
}

/* Writes the directory; it has no page: then there is none. */
static enum ftl_error put_directory(struct ftl *f, struct store *s, uint32_t d, uint32_t *root_ppns) {
    const uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY);
    bool any = false;
    for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) ftl_map_blocks_drop(f, root_ppns + c * FTL_ROOT_COPY);
    for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) any = any || ppns[i] != FTL_NO_PPN;
    if (!any) return FTL_OK;
    struct ftl_write write = {.kind = FTL_KIND_DIRECTORY, .number = d, .frame = FTL_FRAME_DIRECTORY};
    enum ftl_error error = ftl_writer_put_twice(f, &s->writer, write, root_ppns, FTL_ROOT_COPY);
    if (error == FTL_OK) error = ftl_writer_drain(f, &s->writer);
    for (uint32_t c = 0; c < FTL_MAP_COPIES && error == FTL_OK; c++)
        ftl_map_blocks_put(f, root_ppns[c * FTL_ROOT_COPY]);
    return error;
}

/* One directory and its map pages. */
static enum ftl_error store_directory(struct ftl *f, struct store *s, uint32_t d, uint32_t *root_ppns) {
    const struct ftl_geometry *g = &f->geometry;
    struct ftl_writer *w = &s->writer;
    uint32_t ring = 0, first = d * FTL_DIRECTORY_PAGES, wrote[FTL_DIRECTORY_WORDS] = {0};
    bool lost = !take_directory(f, d, root_ppns);
    bool changed = lost || f->directory_must[d / 32] >> d % 32 & 1u || ftl_map_blocks_leaves(f, root_ppns[0]) ||
                   ftl_map_blocks_leaves(f, root_ppns[FTL_ROOT_COPY]);
    uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY);
    enum ftl_error error = FTL_OK;
    for (uint32_t m = first; m < g->map_pages && m < first + FTL_DIRECTORY_PAGES && error == FTL_OK; m++) {
        uint32_t *own = ppns + (m - first) * FTL_MAP_COPIES;
        if (m % 32 == 0) s->bits = hal_map_changed(m / 32, true);
        bool due = s->whole || lost || s->bits >> m % 32 & 1u || ftl_map_blocks_leaves(f, own[0]) ||
                   ftl_map_blocks_leaves(f, own[1]);
        if (!due && own[0] == FTL_NO_PPN && own[1] == FTL_NO_PPN) continue; /* all NONE, as the load has left it */
        struct ftl_write write = {
            .kind = FTL_KIND_MAP, .number = m, .frame = due ? FTL_FRAME_POOL + ring : FTL_FRAME_MAP(f)};
        /* more frames than operations; after a failure one page at a time, so no frame is filled that is still to be
         * programmed */
        if (due) error = w->tries != 0 ? ftl_writer_drain(f, w) : ftl_writer_room(f, w);
        bool any = false;
        if (error == FTL_OK) error = copy_out(m, write.frame, &any);
        if (error != FTL_OK || !due) continue;
        changed = true;
        for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) ftl_map_blocks_drop(f, own + c);
        if (!any) continue;
        error = ftl_writer_put_twice(f, w, write, own, 1);
        ring = ring + 1 == 2 * HAL_NAND_DEPTH ? 0 : ring + 1;
        wrote[(m - first) / 32] |= 1u << (m - first) % 32;
    }
    if (error == FTL_OK) error = ftl_writer_drain(f, w);
    for (uint32_t i = 0; i < FTL_DIRECTORY_PAGES * FTL_MAP_COPIES && error == FTL_OK; i++)
        if (wrote[i / FTL_MAP_COPIES / 32] >> i / FTL_MAP_COPIES % 32 & 1u) ftl_map_blocks_put(f, ppns[i]);
    return error == FTL_OK && changed ? put_directory(f, s, d, root_ppns) : error;
}

static enum ftl_error store_wear(struct ftl *f, struct ftl_writer *w, uint32_t *ppns) {
    enum ftl_error error = FTL_OK;
    uint32_t pages = ftl_erases_pages(&f->geometry), said = 0;
    for (; said < pages && error == FTL_OK; said++) {
        struct ftl_write write = {
            .kind = FTL_KIND_WEAR, .number = said, .frame = f->io.wear_frame + said, .ppn = ppns + said};
        ftl_map_blocks_drop(f, ppns + said);
        ftl_wear_say_open(f, said);
        error = ftl_writer_put(f, w, &write);
    }
    if (error == FTL_OK) error = ftl_writer_drain(f, w);
    for (uint32_t n = 0; n < said; n++) {
        ftl_wear_plain(f, n);
        if (error == FTL_OK) ftl_map_blocks_put(f, ppns[n]);
    }
    return error;
}

/* What is to be written, and which blocks leave. */
static void plan(struct ftl *f, const struct ftl_root *root, struct store *s) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t pages = ftl_map_changed(f) + g->directories, beside = ftl_erases_pages(g) + ftl_prepared_pages_now(f),
             *words = hal_frame(root->frame);
    s->whole = ftl_map_blocks_begin(f, pages, beside, f->map_whole);
    if (s->whole) pages = g->map_pages + g->directories;
    s->writer = (struct ftl_writer){.sequence = root->map_sequence, .pages_to_go = FTL_MAP_COPIES * pages + beside};
    s->writer.slots = ftl_mount_slots(g, s->writer.pages_to_go);
    for (uint32_t d = s->whole ? 0 : f->old_root.directories; d < FTL_MAX_DIRECTORIES; d++)
        words[FTL_ROOT_DIRECTORY + d] = words[FTL_ROOT_SECOND + d] = FTL_NO_PPN;
}

enum ftl_error ftl_map_store(struct ftl *f, struct ftl_root *root) {
    const struct ftl_geometry *g = &f->geometry;
    struct store s;
    uint32_t *root_words = hal_frame(root->frame);
    enum ftl_error error = FTL_OK;
    struct hal_map_task none = {.op = HAL_MAP_CLEAR};
    hal_map_start(&none);
    (void)hal_map_wait();
    plan(f, root, &s);
    for (uint32_t d = 0; d < g->directories && error == FTL_OK; d++)
        error = store_directory(f, &s, d, root_words + FTL_ROOT_DIRECTORY + d);
    root->directories = g->directories;
    if (s.whole) ftl_wear_none(root_words);
    if (error == FTL_OK) error = store_wear(f, &s.writer, root_words + FTL_ROOT_WEAR);
    if (error == FTL_OK) error = ftl_prepared_store(f, root, &s.writer);
    while (!ftl_io_empty(&f->io)) { /* after an error: the drive may open, to be read */
        struct hal_nand_done done;
        ftl_io_get(&f->io, &done);
    }
    if (error != FTL_OK) return error;
    ftl_writer_leave(f, &s.writer);
    ftl_map_blocks_end(f, true, false);
    for (uint32_t i = 0; i < f->map.n; i++) ftl_blocks_live(f, f->map.at[i].id);
    return FTL_OK;
}
