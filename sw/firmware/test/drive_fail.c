/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that fail while the drive runs, as docs/decisions/011-failing-nand.md has it: the rescue of data pages, one
 * at a time, the events, the moves of the firmware; and the part of hal.h that these need. */
#include <string.h>

#include "drive_hw.h"
#include "ftl_blocks.h"

void fail_event(uint32_t ppn) {
    uint32_t block = ppn >> sim.g.page_bits, die = ftl_die_of(&sim.g, block);
    if (hw.open[die].left != 0 && hw.open[die].block == block) hw.open[die].left = 0; /* no further data page there */
    CHECK(hw.events < EVENTS);
    hw.event[hw.events++] = block;
}

void fail_data(uint32_t i) {
    hw.failed[hw.fails++] = hw.data[i];
    fail_event(hw.data[i].ppn);
}

static void append_relocate(uint32_t lpn, uint32_t from, uint32_t to, uint64_t sequence) {
    struct ftl_entry e = {
        .kind = FTL_RELOCATE, .n = 1, .lpn = lpn, .location = FTL_WORD_NAND(to), .arg = from, .sequence = sequence};
    hw.done[drive_append(e)] = true; /* its page is programmed */
    hw_advance();
}

void fail_rescued(uint32_t i, bool ok) {
    const struct data_flight *f = &hw.failed[0];
    if (ok) {
        append_relocate(f->lpn, f->ppn, hw.data[i].ppn, f->sequence);
        hw.relocate = hw.head;
    } else {
        fail_event(hw.data[i].ppn);
        hw.rescue_ppn = NO_PAGE;
    }
}

static bool rescue_step(void) {
    struct data_flight *f = &hw.failed[0];
    if (hw.fails == 0 || hw.stopped) return false;
    if (hw.rescue_ppn == NO_PAGE) {
        if (hw.datas == DATA_FLIGHT) return false;
        if (!hw_page(&hw.rescue_ppn)) {
            hw.stopped = sim.full && hw.events == 0; /* no page will come: read-only */
            return false;
        }
        hw.data[hw.datas] = *f; /* at once, so that pages of a block stay in order */
        hw.data[hw.datas].ppn = hw.rescue_ppn;
        hw.data[hw.datas++].rescue = true;
        return true;
    }
    if (hw.relocate == 0) return false;
    if (hw.durable < hw.relocate) return false;
    (void)map_swap(f->lpn, false, f->ppn, hw.rescue_ppn);
    hw.done[f->index] = true;
    hw.rescue_ppn = NO_PAGE;
    hw.relocate = 0;
    hw.fails--;
    memmove(&hw.failed[0], &hw.failed[1], hw.fails * sizeof hw.failed[0]);
    hw_advance();
    return true;
}

static bool move_step(void) {
    if (!hw.move.waits || hw.stopped || sim.no_moves || log_is_short()) return false;
    append_relocate(hw.move.lpn, hw.move.from, hw.move.to, hw.move.sequence);
    if (map_swap(hw.move.lpn, true, hw.move.from, hw.move.to)) drive.moved++;
    hw.move.waits = false;
    if (hw.laters != 0) {
        hw.laters--;
        memcpy(&hw.move, &hw.later[0], sizeof hw.move);
        memcpy(&hw.later[0], &hw.later[1], sizeof hw.move);
    }
    return true;
}

bool fail_step(void) {
    if (drive_group_open()) return false;               /* RELOCATE waits for the group's end */
    return hw.fails != 0 ? rescue_step() : move_step(); /* one page at a time, failed ones first */
}

bool fail_wants_close(void) { return hw.relocate > hw.closed || hw.note > hw.closed; }

static bool was_full;

bool hal_bad_block(uint32_t *block_id) {
    *block_id = hw.event[0];
    was_full = sim.full;
    return hw.events != 0;
}

void hal_bad_block_taken(void) {
    CHECK(hw.events != 0);
    if (was_full && !sim.full) drive.full_taken_back++;
    hw.events--;
    memmove(&hw.event[0], &hw.event[1], hw.events * sizeof hw.event[0]);
}

void drive_weak(uint32_t ppn) {
    if (hw.weaks < WEAK) hw.weak[hw.weaks++] = ppn;
}

bool hal_weak_page(uint32_t *ppn) {
    if (hw.weaks == 0) return false;
    *ppn = hw.weak[0];
    hw.weaks--;
    memmove(&hw.weak[0], &hw.weak[1], hw.weaks * sizeof hw.weak[0]);
    return true;
}

uint64_t hal_log_head(void) { return drive_group_open() ? hw.group_end : hw.head; }

uint64_t hal_log_fence(uint32_t *beyond) {
    *beyond = 0; /* it has no write buffer */
    return hal_log_head();
}

/* The mark may rise between any two reads: each one sees what was true at the one before. */
uint64_t hal_log_mark(void) {
    uint64_t mark = hw.mark_read;
    hw.mark_read = hw.watermark;
    return mark;
}

bool hal_page_wanted(void) {
    return hw.fails != 0 && hw.rescue_ppn == NO_PAGE && !hw.stopped && drive_pages_left() == 0;
}

bool hal_moving(void) { return hw.move.waits || hw.laters != 0; }

bool hal_move_logged(void) { return hal_moving() && !log_is_short(); }

/* move_ready: the queue has room. Not: what was handed over is done */
bool hal_relocate_room(void) { return hw.laters < 2; }

void hal_relocate(uint32_t lpn, uint32_t old_ppn, uint32_t new_ppn, uint64_t sequence) {
    const struct sim_page *p = &sim_pages[new_ppn], *old = &sim_pages[old_ppn];
    CHECK(p->state == SIM_WHOLE && p->kind == FTL_KIND_DATA && p->lpn == lpn && p->sequence == sequence &&
          p->generation == sim.generation);
    CHECK(new_ppn != old_ppn && (old->state != SIM_WHOLE || old->lpn != lpn || old->stamp == p->stamp));
    CHECK(new_ppn >> sim.g.page_bits != old_ppn >> sim.g.page_bits ||
          !ftl_blocks_is_bad(&drive.ftl, new_ppn >> sim.g.page_bits));
    if (hw.move.waits) {
        memcpy(&hw.later[hw.laters], &hw.move, sizeof hw.move); /* same type of members */
        hw.later[hw.laters].lpn = lpn;
        hw.later[hw.laters].from = old_ppn;
        hw.later[hw.laters].to = new_ppn;
        hw.later[hw.laters++].sequence = sequence;
        return;
    }
    hw.move.waits = true;
    hw.move.lpn = lpn;
    hw.move.from = old_ppn;
    hw.move.to = new_ppn;
    hw.move.sequence = sequence;
}
