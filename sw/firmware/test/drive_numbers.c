/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of the host that are under way, which pages are in use, numbers of the log and notes in it: what ftl_collect.c
 * and ftl_checkpoint.c ask of the hardware. Nothing that is erased may be needed by a read. */
#include <string.h>

#include "drive_hw.h"

#define READS 8u

static struct {
    uint32_t ppn, stamp, turn;
    bool busy;
} read_of[READS];
static uint32_t turn;

static bool in_block(uint32_t ppn, uint32_t block) { return ppn != NO_PAGE && ppn >> sim.g.page_bits == block; }

/* A copy counts from its SWAP on, as in the hardware (Rescue.scala: live). */
static uint32_t live(uint32_t block_id) {
    uint32_t n = map_references(block_id);
    for (uint32_t i = 0; i < hw.datas; i++) n += in_block(hw.data[i].ppn, block_id) && !map_names(hw.data[i].ppn);
    for (uint32_t i = 0; i < hw.fails; i++) n += in_block(hw.failed[i].ppn, block_id) && !map_names(hw.failed[i].ppn);
    if (hw.relocate != 0) n += in_block(hw.rescue_ppn, block_id);
    return n;
}

uint32_t hal_live(uint32_t block_id) { return sim.enabled ? live(block_id) : sim_live[block_id]; }

static bool in_use(uint32_t ppn) {
    for (uint32_t i = 0; i < hw.datas; i++)
        if (hw.data[i].ppn == ppn) return true;
    for (uint32_t i = 0; i < hw.fails; i++)
        if (hw.failed[i].ppn == ppn) return true;
    return map_names(ppn) || (hw.relocate != 0 && hw.rescue_ppn == ppn);
}

uint32_t hal_live_pages(uint32_t block_id, uint32_t word) {
    uint32_t pages = 0, first = ftl_first_ppn(&sim.g, block_id) + 32 * word;
    CHECK(sim.enabled && 32 * word < sim.g.pages);
    for (uint32_t n = 0; n < 32 && 32 * word + n < sim.g.pages; n++) pages |= (uint32_t)in_use(first + n) << n;
    return pages;
}

uint32_t hal_alloc_left(void) { return drive_pages_left(); }

void hal_page_clocks(uint32_t clocks) {
    CHECK(clocks <= HAL_PAGE_CLOCKS);
    hw.page_clocks = clocks;
}

bool hal_cost_benefit(void) { return sim.cost_benefit; }

bool hal_fault(void) { return hw.stopped; }

bool hal_reads_old(void) {
    for (uint32_t i = 0; i < READS; i++)
        if (read_of[i].busy && read_of[i].turn != turn) return true;
    return false;
}

void hal_reads_turn(void) {
    CHECK(!hal_reads_old());
    turn++;
}

static void erased(uint32_t block_id) {
    CHECK(live(block_id) == 0);
    for (uint32_t i = 0; i < READS; i++) CHECK(!read_of[i].busy || !in_block(read_of[i].ppn, block_id));
}

void drive_read_ends(uint32_t i) {
    if (!read_of[i].busy) return;
    const struct sim_page *p = &sim_pages[read_of[i].ppn];
    CHECK(p->state == SIM_TORN || (p->state == SIM_WHOLE && p->stamp == read_of[i].stamp));
    read_of[i].busy = false;
}

bool drive_read_begins(uint32_t i, uint32_t lpn) {
    uint32_t word = hal_map()[lpn];
    if (read_of[i].busy || FTL_WORD_KIND(word) != FTL_WORD_KIND_NAND) return false;
    read_of[i].busy = true;
    read_of[i].ppn = FTL_WORD_VALUE(word);
    read_of[i].stamp = sim_pages[read_of[i].ppn].stamp;
    read_of[i].turn = turn;
    return true;
}

void reads_start(void) {
    memset(read_of, 0, sizeof read_of);
    turn = 0;
    sim.on_erase = erased;
}

void reads_step(void) {
    if (sim.on_erase == NULL) return;      /* nothing but a mount has happened */
    for (uint32_t i = 1; i < READS; i++) { /* read 0 is a test's own */
        if (read_of[i].busy && sim_random(6) == 0) drive_read_ends(i);
        else if (!read_of[i].busy && sim_random(12) == 0) (void)drive_read_begins(i, drive_lpn(sim_random(DRIVE_LPNS)));
    }
}

void hal_log_place(struct hal_log_place *place) {
    uint32_t n = 0;
    while (n < hw.flights && (hw.flight[n].copy[0].ppn != NO_PAGE || hw.flight[n].copy[0].places != 0)) n++;
    place->page = n < hw.flights ? hw.flight[n].number : hw.pages;
    place->first = n < hw.flights ? hw.flight[n].first : hw.closed;
    for (uint32_t l = 0; l < sim.g.lanes; l++) {
        bool over = hw.lane[l].page == sim.g.pages;
        place->lane[l].block = over ? hw.lane[l].next : hw.lane[l].block;
        place->lane[l].page = over ? 0 : hw.lane[l].page;
    }
}

bool hal_tx_first(uint32_t txid, uint64_t *index) {
    if (!drive.tx[txid].open && !map_pending_of(txid)) return false;
    if (drive.restored >> txid & 1u && (map_pending(FTL_FIRST_USE(txid)) || drive_open(FTL_FIRST_USE(txid)))) {
        *index = 0; /* TxFirst.scala */
        return true;
    }
    for (uint64_t i = 0; i < hw.head; i++) {
        const struct ftl_entry *e = &hw.entry[i];
        if (!(e->flags & FTL_ENTRY_IN_TX) || e->serial % FTL_TXIDS != txid ||
            !(map_pending(e->serial) || drive_open(e->serial)))
            continue;
        *index = i;
        return true;
    }
    return false;
}

uint64_t hal_log_durable_mark(void) { return hw.durable_mark; }

bool hal_log_dirty(void) { return hw.head != hw.durable || hw.head != hw.watermark; }

uint32_t hal_asked(void) { return sim.asked; }

bool hal_log_note(bool urgent) {
    CHECK(!urgent || drive.supply.urgent_notes < FTL_URGENT_NOTES);
    if (drive_group_open() || (!urgent && log_is_short())) return false;
    if (hw.stopped || hw.head + 2 > DRIVE_LOG || sim_random(4) == 0) return false;
    if (hw.note_waits) return false;
    hw.note_waits = true;
    hw.note = hw.head;
    return true;
}

/* The hardware brings a note to NAND by itself, when what stands before it is durable. */
void note_step(void) {
    if (hw.note_waits && hw.durable >= hw.note && !drive_group_open() && hw.head + 2 <= DRIVE_LOG) {
        drive_append((struct ftl_entry){.kind = FTL_NOTE, .n = 1});
        hw.note_waits = false;
        hw.note = hw.head;
    }
    if (hw.note <= hw.durable || sim.log_rests) return;
    if (hw.note > hw.closed && drive_can_close()) drive_close();
    if (sim_random(2)) drive_finish_log();
}
