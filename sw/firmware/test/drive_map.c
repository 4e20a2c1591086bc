/* SPDX-License-Identifier: Apache-2.0 */
/* The map of the running drive: what each of the blocks that histories write holds, plainly and in transactions that
 * are open or not yet visible. */
#include <string.h>

#include "drive_hw.h"

struct location {
    bool held, complete;
    uint32_t ppn; /* NO_PAGE: zeroes */
};
static struct location base[DRIVE_LPNS], open_tx[FTL_TXIDS][DRIVE_LPNS];
static struct {
    uint32_t serial;
    struct location at[DRIVE_LPNS];
} pending[PENDING];
static uint32_t pendings;

/* The words that the firmware sees: a chain when a version hangs there. */
static void show(void) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) {
        bool chain = false;
        for (uint32_t t = 0; t < FTL_TXIDS; t++) chain = chain || open_tx[t][i].held;
        for (uint32_t p = 0; p < pendings; p++) chain = chain || pending[p].at[i].held;
        uint32_t word = base[i].ppn == NO_PAGE ? FTL_WORD_NONE
                        : base[i].complete     ? FTL_WORD_NAND(base[i].ppn)
                                               : 2u << 30;
        hal_map()[drive_lpn(i)] = chain ? FTL_WORD(FTL_WORD_KIND_VER, i) : word;
    }
}

static uint32_t count(const struct location *l, uint32_t block) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < DRIVE_LPNS; i++)
        n += l[i].held && l[i].ppn != NO_PAGE && l[i].ppn >> sim.g.page_bits == block;
    return n;
}

uint32_t hal_lookup(uint32_t lpn) {
    const struct location *l = &base[drive_number(lpn)];
    if (drive_lpn(drive_number(lpn)) != lpn || l->ppn == NO_PAGE) return FTL_WORD_NONE;
    return l->complete ? FTL_WORD_NAND(l->ppn) : FTL_WORD(FTL_WORD_KIND_BUF, 0);
}

bool map_pending(uint32_t serial) {
    for (uint32_t p = 0; p < pendings; p++)
        if (pending[p].serial == serial) return true;
    return false;
}

bool map_pending_of(uint32_t txid) {
    for (uint32_t p = 0; p < pendings; p++)
        if (pending[p].serial % FTL_TXIDS == txid) return true;
    return false;
}

uint32_t map_references(uint32_t block) {
    uint32_t n = count(base, block);
    for (uint32_t t = 0; t < FTL_TXIDS; t++) n += count(open_tx[t], block);
    for (uint32_t p = 0; p < pendings; p++) n += count(pending[p].at, block);
    return n;
}

static bool names(const struct location *l, uint32_t ppn) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++)
        if (l[i].held && l[i].ppn == ppn) return true;
    return false;
}

bool map_names(uint32_t ppn) {
    bool found = names(base, ppn);
    for (uint32_t t = 0; t < FTL_TXIDS; t++) found = found || names(open_tx[t], ppn);
    for (uint32_t p = 0; p < pendings; p++) found = found || names(pending[p].at, ppn);
    return found;
}

/* The versions that a mount brought back. */
static void start_prepared(void) {
    for (uint32_t t = 0; t < FTL_TXIDS; t++)
        for (uint32_t i = 0; i < drive.tx[t].n; i++) {
            uint32_t word = hal_tx_area(t)[4 * i + 1];
            open_tx[t][drive_number(drive.tx[t].lpn[i])] = (struct location){
                .held = true, .complete = true, .ppn = word == FTL_WORD_NONE ? NO_PAGE : FTL_WORD_VALUE(word)};
        }
}

void map_start(void) {
    memset(open_tx, 0, sizeof open_tx);
    pendings = 0;
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) {
        uint32_t word = drive_base(drive_lpn(i));
        base[i] = (struct location){
            .held = true, .complete = true, .ppn = word == FTL_WORD_NONE ? NO_PAGE : FTL_WORD_VALUE(word)};
    }
    start_prepared();
    show();
}

void map_plain(uint32_t lpn, uint32_t ppn) {
    base[drive_number(lpn)] = (struct location){.held = true, .ppn = ppn, .complete = ppn == NO_PAGE};
    sim_map_written(lpn);
    show();
}

void map_in_tx(uint32_t txid, uint32_t lpn, uint32_t ppn) {
    open_tx[txid][drive_number(lpn)] = (struct location){.held = true, .ppn = ppn, .complete = ppn == NO_PAGE};
    sim_map_written(lpn);
    show();
}

void map_commit(uint32_t txid, uint32_t serial) {
    CHECK(pendings < PENDING);
    pending[pendings].serial = serial;
    memcpy(pending[pendings++].at, open_tx[txid], sizeof open_tx[txid]);
    memset(open_tx[txid], 0, sizeof open_tx[txid]);
    show();
}

void map_visible(uint32_t serial) {
    uint32_t p = 0;
    while (p < pendings && pending[p].serial != serial) p++;
    CHECK(p < pendings);
    for (uint32_t i = 0; i < DRIVE_LPNS; i++)
        if (pending[p].at[i].held) base[i] = pending[p].at[i], sim_map_written(drive_lpn(i));
    pendings--;
    memmove(&pending[p], &pending[p + 1], (pendings - p) * sizeof pending[0]);
    show();
}

void map_abort(uint32_t txid) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++)
        if (open_tx[txid][i].held) sim_map_written(drive_lpn(i));
    memset(open_tx[txid], 0, sizeof open_tx[txid]);
    show();
}

static bool swap(struct location *l, bool complete, uint32_t from, uint32_t to) {
    if (!l->held || l->ppn != from || l->complete != complete) return false;
    l->ppn = to;
    l->complete = true;
    return true;
}

bool map_swap(uint32_t lpn, bool complete, uint32_t from, uint32_t to) {
    uint32_t i = drive_number(lpn);
    bool hit = swap(&base[i], complete, from, to);
    for (uint32_t t = 0; t < FTL_TXIDS; t++) hit = swap(&open_tx[t][i], complete, from, to) || hit;
    for (uint32_t p = 0; p < pendings; p++) hit = swap(&pending[p].at[i], complete, from, to) || hit;
    if (hit) sim_map_written(lpn);
    show();
    return hit;
}

void map_complete(uint32_t ppn) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) (void)map_swap(drive_lpn(i), false, ppn, ppn);
}
