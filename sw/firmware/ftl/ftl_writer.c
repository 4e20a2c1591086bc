/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_writer.h"

#include <stddef.h>

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_erase.h"
#include "ftl_map_blocks.h"

/* program failures survived in one mount: a die that fails always shall not take all its blocks into the table */
#define PROGRAM_TRIES 64u

/* The die of a slot; another one begins in each generation. */
static uint32_t die_of(const struct ftl *f, const struct ftl_writer *w, uint32_t slot) {
    uint32_t dies = f->geometry.dies, apart = dies / w->slots;
    return (f->old_root.generation + slot * (apart == 0 ? 1 : apart)) % dies;
}

static uint32_t block_of(const struct ftl *f, uint32_t ppn) { return ppn >> f->geometry.page_bits; }

/* Whether the next page of an open block may have this write: it does not hold the other copy. */
static bool may_go(const struct ftl *f, const struct ftl_writer *w, uint32_t slot, const struct ftl_write *write) {
    bool other =
        write->other != NULL && *write->other != FTL_NO_PPN && block_of(f, *write->other) == block_of(f, w->next[slot]);
    return w->left[slot] != 0 && !other;
}

/* Opens blocks where none is open: one per slot, but no more than there are pages to write; any one if these dies have
 * none. Nothing is in flight. */
static enum ftl_error open_blocks(struct ftl *f, struct ftl_writer *w) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t ids[FTL_WRITER_SLOTS], at[FTL_WRITER_SLOTS], n = 0, none = 0;
    for (uint32_t slot = 0; slot < w->slots && n < w->pages_to_go; slot++) {
        if (w->left[slot] != 0) continue;
        none = slot;
        ids[n] = ftl_blocks_take(f, die_of(f, w, slot));
        at[n] = slot;
        if (ids[n] != FTL_NO_BLOCK) n++;
    }
    if (n == 0) {
        at[n] = none;
        ids[n] = ftl_blocks_take_near(f, 0);
        if (ids[n++] == FTL_NO_BLOCK) return FTL_ERR_NO_BLOCK;
    }
    enum ftl_error error = ftl_erase(f, ids, n);
    if (error != FTL_OK) return error;
    for (uint32_t i = 0; i < n; i++) {
        w->next[at[i]] = ftl_first_ppn(g, ids[i]);
        w->left[at[i]] = g->pages;
        (void)ftl_map_blocks_open(f, ids[i]); /* without room it is not free before the next mount */
    }
    return FTL_OK;
}

static bool any_open(const struct ftl *f, const struct ftl_writer *w, const struct ftl_write *write) {
    for (uint32_t slot = 0; slot < w->slots; slot++)
        if (may_go(f, w, slot, write)) return true;
    return false;
}

/* Takes the oldest result. */
static enum ftl_error collect(struct ftl *f, struct ftl_writer *w) {
    struct hal_nand_done done;
    ftl_io_get(&f->io, &done);
    struct ftl_write *write = &w->flight[w->got++ % HAL_NAND_DEPTH];
    if (done.status == FTL_PAGE_OK) return FTL_OK;
    uint32_t block = block_of(f, *write->ppn);
    for (uint32_t slot = 0; slot < w->slots; slot++)
        if (w->left[slot] != 0 && block_of(f, w->next[slot]) == block) w->left[slot] = 0;
    (void)ftl_bbt_mark(f, block);
    w->again[w->fails++] = *write;
    return ++w->tries > PROGRAM_TRIES ? FTL_ERR_PROGRAM : FTL_OK;
}

enum ftl_error ftl_writer_room(struct ftl *f, struct ftl_writer *w) {
    enum ftl_error error = FTL_OK;
    while (!ftl_io_room(&f->io) && error == FTL_OK) error = collect(f, w);
    return error;
}

static void start(struct ftl *f, struct ftl_writer *w, const struct ftl_write *write) {
    struct hal_nand_op o = {.op = HAL_PROGRAM, .frame = write->frame, .kind = write->kind, .lpn = write->number};
    if (write->kind != FTL_KIND_MAP) o.sequence = w->sequence;
    while (!may_go(f, w, w->slot, write)) w->slot = w->slot + 1 == w->slots ? 0 : w->slot + 1;
    o.ppn = *write->ppn = w->next[w->slot]++;
    w->left[w->slot]--;
    w->slot = w->slot + 1 == w->slots ? 0 : w->slot + 1;
    w->flight[w->put++ % HAL_NAND_DEPTH] = *write;
    ftl_io_put(&f->io, &o);
}

enum ftl_error ftl_writer_drain(struct ftl *f, struct ftl_writer *w) {
    enum ftl_error error = FTL_OK;
    while (error == FTL_OK) {
        while (!ftl_io_empty(&f->io) && error == FTL_OK) error = collect(f, w);
        if (error != FTL_OK || w->fails == 0) return error;
        struct ftl_write write = w->again[w->fails - 1];
        if (!any_open(f, w, &write)) error = open_blocks(f, w);
        if (error != FTL_OK) return error;
        w->fails--;
        start(f, w, &write);
    }
    return error;
}

enum ftl_error ftl_writer_put(struct ftl *f, struct ftl_writer *w, const struct ftl_write *write) {
    enum ftl_error error = ftl_writer_room(f, w);
    if (error == FTL_OK && (w->fails != 0 || !any_open(f, w, write))) {
        error = ftl_writer_drain(f, w);
        if (error == FTL_OK && !any_open(f, w, write)) error = open_blocks(f, w);
    }
    if (error != FTL_OK) return error;
    start(f, w, write);
    if (w->pages_to_go > 1) w->pages_to_go--;
    return FTL_OK;
}

enum ftl_error ftl_writer_put_twice(struct ftl *f, struct ftl_writer *w, struct ftl_write write, uint32_t *ppns,
                                    uint32_t apart) {
    uint32_t *second = ppns + apart;
    *ppns = *second = FTL_NO_PPN;
    write.ppn = ppns;
    write.other = second;
    enum ftl_error error = ftl_writer_put(f, w, &write);
    write.ppn = second;
    write.other = ppns;
    return error == FTL_OK ? ftl_writer_put(f, w, &write) : error;
}

void ftl_writer_leave(struct ftl *f, const struct ftl_writer *w) {
    struct ftl_map_blocks *m = &f->map;
    uint32_t c = 0;
    for (uint32_t slot = 0; slot < w->slots && c < FTL_MAP_COPIES; slot++) {
        if (w->left[slot] == 0) continue;
        m->to[c] = w->next[slot];
        m->left[c++] = w->left[slot];
    }
}
