/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_io.h"

#include "ftl_format.h"

#define PLACE(number) ((number) % HAL_NAND_DEPTH)

/* Cookies: the place in the queue, or behind those the place apart. */
static void arrive(struct ftl_io *io, const struct hal_nand_done *done) {
    uint32_t place = done->cookie;
    if (place < HAL_NAND_DEPTH) {
        io->done[place] = *done;
        io->arrived |= 1u << place;
    } else {
        io->apart_done[place - HAL_NAND_DEPTH] = *done;
        io->apart_arrived |= 1u << (place - HAL_NAND_DEPTH);
    }
}

static void collect(struct ftl_io *io) {
    struct hal_nand_done done;
    while (hal_nand_done(&done)) {
        arrive(io, &done);
    }
}

bool ftl_io_room(const struct ftl_io *io) { return io->put - io->got + io->apart < HAL_NAND_DEPTH; }

bool ftl_io_empty(const struct ftl_io *io) { return io->put == io->got; }

static void count_erase(const struct ftl_io *io, uint32_t block_id) {
    const struct ftl_geometry *g = io->geometry;
    uint32_t at = ftl_die_of(g, block_id) * g->blocks + ftl_block_of(g, block_id);
    if (io->wear_frame != 0) ++hal_frame(io->wear_frame + at / FTL_PAGE_WORDS)[at % FTL_PAGE_WORDS];
}

static void begin(struct ftl_io *io, const struct hal_nand_op *op, uint32_t cookie) {
    struct hal_nand_op tagged = *op;
    tagged.cookie = cookie;
    if (ftl_die_is_out(io->geometry, ftl_die_of(io->geometry, op->ppn >> io->geometry->page_bits))) {
        struct hal_nand_done none = {.cookie = cookie, .status = FTL_PAGE_TIMEOUT};
        arrive(io, &none);
        return;
    }
    if (op->op == HAL_PROGRAM) io->programs++;
    if (op->op == HAL_ERASE) count_erase(io, op->ppn >> io->geometry->page_bits);
    while (!hal_nand_start(&tagged)) collect(io);
}

void ftl_io_put(struct ftl_io *io, const struct hal_nand_op *op) { begin(io, op, PLACE(io->put++)); }

bool ftl_io_ready(struct ftl_io *io) {
    if (ftl_io_empty(io)) return false;
    uint32_t bit = 1u << PLACE(io->got);
    if (!(io->arrived & bit)) collect(io);
    return (io->arrived & bit) != 0;
}

void ftl_io_get(struct ftl_io *io, struct hal_nand_done *done) {
    while (!ftl_io_ready(io)) {}
    uint32_t place = PLACE(io->got);
    *done = io->done[place];
    io->arrived &= ~(1u << place);
    io->got++;
}

void ftl_io_one(struct ftl_io *io, const struct hal_nand_op *op, struct hal_nand_done *done) {
    ftl_io_put(io, op);
    ftl_io_get(io, done);
}

void ftl_io_put_apart(struct ftl_io *io, uint32_t place, const struct hal_nand_op *op) {
    io->apart++;
    begin(io, op, HAL_NAND_DEPTH + place);
}

bool ftl_io_get_apart(struct ftl_io *io, uint32_t place, struct hal_nand_done *done) {
    uint32_t bit = 1u << place;
    if (!(io->apart_arrived & bit)) collect(io);
    if (!(io->apart_arrived & bit)) return false;
    *done = io->apart_done[place];
    io->apart_arrived &= ~bit;
    io->apart--;
    return true;
}
