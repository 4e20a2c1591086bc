/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_moves.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_dies.h"

/* Whether the map names that page as what `lpn` holds; with `chains`, whether it may. */
static bool is_live(uint32_t lpn, uint32_t ppn, bool chains) {
    uint32_t word = hal_map()[lpn];
    return word == FTL_WORD_NAND(ppn) || (chains && FTL_WORD_KIND(word) == FTL_WORD_KIND_VER);
}

static bool is_data(const struct ftl *f, const struct hal_nand_done *d) {
    return d->status == FTL_PAGE_OK && d->kind == FTL_KIND_DATA && d->generation <= f->report.generation &&
           d->lpn < f->geometry.lbas;
}

static uint32_t block_of(const struct ftl *f, uint32_t ppn) { return ppn >> f->geometry.page_bits; }

static void start(struct ftl *f, struct ftl_moves *m, uint32_t i, enum hal_op op, enum ftl_move_state state) {
    struct hal_nand_op o = {.op = op,
                            .ppn = op == HAL_PROGRAM ? m->move[i].to : m->move[i].from,
                            .frame = FTL_FRAME_MOVE(f) - i,
                            .kind = FTL_KIND_DATA,
                            .lpn = m->move[i].lpn,
                            .sequence = m->move[i].sequence};
    m->move[i].state = (uint8_t)state;
    ftl_io_put_apart(&f->io, i, &o);
}

bool ftl_moves_has(const struct ftl_moves *m, uint32_t ppn) {
    for (uint32_t i = 0; i < FTL_MOVES; i++)
        if (m->move[i].state != FTL_MOVE_NONE && m->move[i].from == ppn) return true;
    return false;
}

bool ftl_moves_from(const struct ftl *f, const struct ftl_moves *m, uint32_t block) {
    for (uint32_t i = 0; i < FTL_MOVES; i++)
        if (m->move[i].state != FTL_MOVE_NONE && block_of(f, m->move[i].from) == block) return true;
    return false;
}

bool ftl_moves_to(const struct ftl *f, const struct ftl_moves *m, uint32_t block) {
    for (uint32_t i = 0; i < FTL_MOVES; i++)
        if (m->move[i].state >= FTL_MOVE_PROGRAM && block_of(f, m->move[i].to) == block) return true;
    return false;
}

uint32_t ftl_moves_reads(const struct ftl *f, const struct ftl_moves *m, uint32_t die) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < FTL_MOVES; i++)
        n += m->move[i].state == FTL_MOVE_READ && ftl_die_of(&f->geometry, block_of(f, m->move[i].from)) == die;
    return n;
}

bool ftl_moves_none(const struct ftl_moves *m) {
    for (uint32_t i = 0; i < FTL_MOVES; i++)
        if (m->move[i].state != FTL_MOVE_NONE) return false;
    return true;
}

bool ftl_moves_begin(struct ftl *f, struct ftl_moves *m, uint32_t ppn, bool chains) {
    uint32_t i = 0;
    while (i < f->moves && m->move[i].state != FTL_MOVE_NONE) i++;
    if (i == f->moves || ftl_moves_has(m, ppn) || !ftl_io_room(&f->io)) return false;
    m->move[i].from = ppn;
    m->move[i].chains = chains;
    start(f, m, i, HAL_READ, FTL_MOVE_READ);
    return true;
}

/* Gives a page that is in its frame a place. False: all blocks are busy, or there is none. */
static bool place(struct ftl *f, struct ftl_moves *m, uint32_t i) {
    uint32_t b = 0;
    while (b < FTL_MOVE_BLOCKS && (m->open[b].left == 0 || m->open[b].busy)) b++;
    if (b == FTL_MOVE_BLOCKS || !ftl_io_room(&f->io)) return false;
    m->open[b].busy = true;
    m->move[i].at = (uint8_t)b;
    m->move[i].to = ftl_first_ppn(&f->geometry, m->open[b].block - 1) + f->geometry.pages - m->open[b].left;
    start(f, m, i, HAL_PROGRAM, FTL_MOVE_PROGRAM);
    return true;
}

/* A program has ended. A block that failed, or FTL_NO_BLOCK. */
static uint32_t programmed(struct ftl *f, struct ftl_moves *m, uint32_t i, bool ok) {
    uint32_t b = m->move[i].at, block = m->open[b].block - 1;
    m->open[b].busy = false;
    if (ok) {
        m->open[b].left--;
        m->moved++;
        m->move[i].state = FTL_MOVE_COPIED;
        return FTL_NO_BLOCK;
    }
    m->open[b].left = m->open[b].block = 0;
    m->move[i].state = FTL_MOVE_HELD;
    return ftl_bbt_mark(f, block) ? block : FTL_NO_BLOCK;
}

/* What has ended of a move, and what comes next. */
static uint32_t advance(struct ftl *f, struct ftl_moves *m, uint32_t i) {
    struct hal_nand_done d;
    enum ftl_move_state state = (enum ftl_move_state)m->move[i].state;
    if ((state != FTL_MOVE_READ && state != FTL_MOVE_PROGRAM) || !ftl_io_get_apart(&f->io, i, &d)) return FTL_NO_BLOCK;
    if (state == FTL_MOVE_PROGRAM) return programmed(f, m, i, d.status == FTL_PAGE_OK);
    m->move[i].lpn = d.lpn;
    m->move[i].sequence = d.sequence;
    bool moves = is_data(f, &d) && is_live(d.lpn, m->move[i].from, m->move[i].chains);
    m->move[i].state = moves ? FTL_MOVE_HELD : FTL_MOVE_NONE;
    return FTL_NO_BLOCK;
}

/* The hardware is done with the page that it has, or has none; gives it the next one. */
static void hand_over(struct ftl_moves *m, bool may, uint32_t i) {
    if (hal_moving()) return;
    for (uint32_t n = 0; n < FTL_MOVES; n++)
        if (m->move[n].state == FTL_MOVE_HANDED) m->move[n].state = FTL_MOVE_NONE;
    if (!may || m->move[i].state != FTL_MOVE_COPIED || !hal_relocate_room()) return;
    hal_relocate(m->move[i].lpn, m->move[i].from, m->move[i].to, m->move[i].sequence);
    m->move[i].state = FTL_MOVE_HANDED;
    m->handed = true;
}

/* Takes blocks that are erased, closes those that are full, asks for more. */
static void blocks(struct ftl *f, struct ftl_supply *s, struct ftl_moves *m) {
    bool waits = false, any = s->moves.waiting + s->moves.coming != 0;
    uint64_t one = 0, two = 0;
    uint32_t open = 0;
    for (uint32_t b = 0; b < FTL_MOVE_BLOCKS; b++) {
        if (m->open[b].block != 0 && m->open[b].left == 0 && !ftl_moves_to(f, m, m->open[b].block - 1)) {
            ftl_blocks_close(f, m->open[b].block - 1);
            m->open[b].block = 0;
        }
        if (m->open[b].block == 0 && ftl_supply_moves_block(s, &m->open[b].block)) m->open[b].left = f->geometry.pages;
        if (m->open[b].left == 0) continue;
        uint64_t die = 1ull << ftl_die_of(&f->geometry, m->open[b].block - 1);
        two |= one & die;
        one |= die;
        open++;
        any = true;
    }
    for (uint32_t i = 0; i < FTL_MOVES; i++)
        if (m->move[i].state == FTL_MOVE_HELD && !place(f, m, i)) waits = true;
    s->moves_want = waits;
    s->moves_open = open;
    s->moves_dies = ftl_dies_count(one) < ftl_dies_used(&f->geometry) ? one : two;
    if (!waits || any || ftl_supply_moves_may(f, s)) return;
    for (uint32_t i = 0; i < FTL_MOVES; i++)
        if (m->move[i].state == FTL_MOVE_HELD) m->move[i].state = FTL_MOVE_NONE;
    s->moves_want = false;
    m->stopped = true;
}

uint32_t ftl_moves_step(struct ftl *f, struct ftl_supply *s, struct ftl_moves *m) {
    uint32_t failed = FTL_NO_BLOCK;
    bool may = !m->handed;
    m->stopped = false;
    if (ftl_moves_none(m)) {
        s->moves_want = m->handed = false;
        blocks(f, s, m);
        return failed;
    }
    m->handed = false;
    for (uint32_t i = 0; i < FTL_MOVES && failed == FTL_NO_BLOCK; i++) {
        if (m->move[i].state == FTL_MOVE_NONE) continue;
        failed = advance(f, m, i);
        hand_over(m, may, i);
    }
    blocks(f, s, m);
    return failed;
}
