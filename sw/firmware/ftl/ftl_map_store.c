/* SPDX-License-Identifier: Apache-2.0 */
/* Pages go round robin over the dies, each die with one open block; blocks are erased for all dies at once when all
 * open ones are full. A page whose program fails is programmed again when nothing is in flight; its block becomes bad
 * and gets no further page, what it holds stays until the next mount. */
#include <stddef.h>

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_erase.h"
#include "ftl_map.h"
#include "ftl_prepared.h"
#include "ftl_wear.h"

/* program failures survived in one mount: a die that fails always shall not take all its blocks into the table */
#define PROGRAM_TRIES 64u

struct writer {
    uint32_t next[FTL_MAX_DIES], left[FTL_MAX_DIES]; /* open block per die */
    uint32_t die, tries;
    uint32_t pages_to_go;
    struct write {
        uint32_t page, frame;
    } flight[HAL_NAND_DEPTH], again[HAL_NAND_DEPTH]; /* what the operations in flight are, in order; what failed */
    uint32_t put, got, fails;
};

/* Opens blocks: one per die, but no more than there are pages to write. Nothing is in flight. */
static enum ftl_error open_blocks(struct ftl *f, struct writer *w) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t ids[FTL_MAX_DIES], n = 0;
    for (uint32_t die = 0; die < g->dies && n < w->pages_to_go; die++) {
        ids[n] = ftl_blocks_take(f, die);
        if (ids[n] != FTL_NO_BLOCK) n++;
    }
    if (n == 0) return FTL_ERR_NO_BLOCK;
    enum ftl_error error = ftl_erase(f, ids, n);
    if (error != FTL_OK) return error;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t die = ftl_die_of(g, ids[i]);
        if (w->left[die] != 0) continue; /* a replacement on a die that has one already: it stays unused */
        w->next[die] = ftl_first_ppn(g, ids[i]);
        w->left[die] = g->pages;
        ftl_holders_put(&f->map, ids[i]);
    }
    return FTL_OK;
}

static bool any_open(const struct ftl *f, const struct writer *w) {
    for (uint32_t die = 0; die < f->geometry.dies; die++)
        if (w->left[die] != 0) return true;
    return false;
}

static uint32_t next_page(const struct ftl *f, struct writer *w) {
    while (w->left[w->die] == 0) w->die = w->die + 1 == f->geometry.dies ? 0 : w->die + 1;
    uint32_t die = w->die;
    w->die = die + 1 == f->geometry.dies ? 0 : die + 1;
    w->left[die]--;
    return w->next[die]++;
}

/* Takes the oldest result. */
static enum ftl_error collect(struct ftl *f, struct writer *w, const uint32_t *ppns) {
    struct hal_nand_done done;
    ftl_io_get(&f->io, &done);
    struct write write = w->flight[w->got++ % HAL_NAND_DEPTH];
    if (done.status == FTL_PAGE_OK) return FTL_OK;
    uint32_t block = ppns[write.page % FTL_PAGE_WORDS] >> f->geometry.page_bits, die = ftl_die_of(&f->geometry, block);
    if (w->left[die] != 0 && w->next[die] >> f->geometry.page_bits == block) w->left[die] = 0;
    (void)ftl_bbt_mark(f, block);
    w->again[w->fails++] = write;
    return ++w->tries > PROGRAM_TRIES ? FTL_ERR_PROGRAM : FTL_OK;
}

static void start(struct ftl *f, struct writer *w, uint32_t kind, const struct ftl_root *root, uint32_t *ppns,
                  struct write write) {
    struct hal_nand_op o = {.op = HAL_PROGRAM, .frame = write.frame, .kind = kind, .lpn = write.page};
    if (kind != FTL_KIND_MAP) o.sequence = root->map_sequence;
    o.ppn = ppns[write.page % FTL_PAGE_WORDS] = next_page(f, w);
    w->flight[w->put++ % HAL_NAND_DEPTH] = write;
    ftl_io_put(&f->io, &o);
}

/* Until nothing is in flight and nothing is left that failed. */
static enum ftl_error drain(struct ftl *f, struct writer *w, uint32_t kind, const struct ftl_root *root,
                            uint32_t *ppns) {
    enum ftl_error error = FTL_OK;
    while (error == FTL_OK) {
        while (!ftl_io_empty(&f->io) && error == FTL_OK) error = collect(f, w, ppns);
        if (error != FTL_OK || w->fails == 0) return error;
        if (!any_open(f, w)) error = open_blocks(f, w);
        if (error == FTL_OK) start(f, w, kind, root, ppns, w->again[--w->fails]);
    }
    return error;
}

static enum ftl_error program(struct ftl *f, struct writer *w, uint32_t kind, const struct ftl_root *root,
                              uint32_t *ppns, uint32_t page, uint32_t frame) {
    enum ftl_error error = FTL_OK;
    while (!ftl_io_room(&f->io) && error == FTL_OK) error = collect(f, w, ppns);
    if (error == FTL_OK && (w->fails != 0 || !any_open(f, w))) {
        error = drain(f, w, kind, root, ppns);
        if (error == FTL_OK && !any_open(f, w)) error = open_blocks(f, w);
    }
    if (error != FTL_OK) return error;
    start(f, w, kind, root, ppns, (struct write){.page = page, .frame = frame});
    if (w->pages_to_go > 1) w->pages_to_go--;
    return FTL_OK;
}

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

/* One page of prepared transactions (ftl_prepared.h), in the blocks of the map. */
static enum ftl_error write_prepared(struct ftl *f, void *writer, const struct ftl_root *root, uint32_t number,
                                     uint32_t *ppn) {
    uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY);
    enum ftl_error error = program(f, writer, FTL_KIND_PREPARED, root, ppns, number, FTL_FRAME_POOL);
    if (error == FTL_OK) error = drain(f, writer, FTL_KIND_PREPARED, root, ppns);
    *ppn = ppns[number % FTL_PAGE_WORDS];
    return error;
}

enum ftl_error ftl_map_store(struct ftl *f, struct ftl_root *root) {
    const struct ftl_geometry *g = &f->geometry;
    struct writer w = {.pages_to_go = g->map_pages + g->directories + ftl_erases_pages(g)};
    uint32_t *ppns = hal_frame(FTL_FRAME_DIRECTORY), *directory_ppns = hal_frame(root->frame) + FTL_ROOT_DIRECTORY,
             ring = 0;
    enum ftl_error error = FTL_OK;
    f->map.n = 0;
    for (uint32_t d = 0; d < g->directories && error == FTL_OK; d++) {
        bool any = false;
        for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) ppns[i] = FTL_NO_PPN;
        for (uint32_t m = d * FTL_PAGE_WORDS; m < g->map_pages && m < (d + 1) * FTL_PAGE_WORDS && error == FTL_OK;
             m++) {
            /* twice as many frames as operations; after a failure one page at a time, so no frame is filled that is
             * still to be programmed */
            if (w.tries != 0) error = drain(f, &w, FTL_KIND_MAP, root, ppns);
            uint32_t frame = FTL_FRAME_POOL + ring;
            while (!ftl_io_room(&f->io) && error == FTL_OK) error = collect(f, &w, ppns);
            if (error != FTL_OK || !copy_out(f, m, frame)) continue;
            error = program(f, &w, FTL_KIND_MAP, root, ppns, m, frame);
            ring = ring + 1 == 2 * HAL_NAND_DEPTH ? 0 : ring + 1;
            any = true;
        }
        if (error == FTL_OK) error = drain(f, &w, FTL_KIND_MAP, root, ppns);
        directory_ppns[d] = FTL_NO_PPN;
        if (error == FTL_OK && any) {
            error = program(f, &w, FTL_KIND_DIRECTORY, root, directory_ppns, d, FTL_FRAME_DIRECTORY);
            if (error == FTL_OK) error = drain(f, &w, FTL_KIND_DIRECTORY, root, directory_ppns);
        }
    }
    root->directories = g->directories;
    ftl_wear_none(hal_frame(root->frame));
    for (uint32_t n = 0; n < ftl_erases_pages(g) && error == FTL_OK; n++) {
        uint32_t *wear_ppns = hal_frame(root->frame) + FTL_ROOT_WEAR;
        error = program(f, &w, FTL_KIND_WEAR, root, wear_ppns, n, f->io.wear_frame + n);
        if (error == FTL_OK) error = drain(f, &w, FTL_KIND_WEAR, root, wear_ppns);
    }
    if (error == FTL_OK) error = ftl_prepared_store(f, root, write_prepared, &w);
    return error;
}
