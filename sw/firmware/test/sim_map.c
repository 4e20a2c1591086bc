/* SPDX-License-Identifier: Apache-2.0 */
/* What hardware does for a mount: pages of the map, counts (spinal/.../data/MapPages.scala, LiveCounts.scala). A task
 * is done when its end is waited for, and until then nobody may touch its frame or the map. */
#include <string.h>

#include "sim.h"

static struct hal_map_task task;
static bool under_way;
static uint32_t scanned;
static bool changed[FTL_PAGE_WORDS];

void sim_map_power_on(void) {
    under_way = false;
    memset(sim_live, 0xa5, sizeof sim_live);
    for (uint32_t m = 0; m < FTL_PAGE_WORDS; m++) changed[m] = m % 3 != 0;
}

bool sim_map_uses(uint32_t frame) {
    return under_way && task.frame == frame &&
           (task.op == HAL_MAP_LOAD || task.op == HAL_MAP_STORE || task.op == HAL_MAP_APPLY);
}

bool sim_map_busy(void) { return under_way; }

static bool named(uint32_t word) {
    return FTL_WORD_KIND(word) == FTL_WORD_KIND_NAND &&
           ftl_block_exists(&sim.g, FTL_WORD_VALUE(word) >> sim.g.page_bits);
}

static void count(uint32_t word) {
    uint16_t *live = &sim_live[FTL_WORD_VALUE(word) >> sim.g.page_bits];
    if (*live < sim.g.pages) ++*live;
}

static uint32_t plain(uint32_t word) {
    if (FTL_WORD_KIND(word) != FTL_WORD_KIND_BUF) return word;
    return word == 0xbfffffffu ? FTL_WORD_NONE : FTL_WORD_NAND(FTL_WORD_VALUE(word));
}

static struct hal_map_state page(uint32_t *map, uint32_t *frame) {
    struct hal_map_state state = {0};
    for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) {
        bool inside = task.page * FTL_PAGE_WORDS + i < sim.g.lbas;
        uint32_t *word = &map[task.page * FTL_PAGE_WORDS + i], to = task.op == HAL_MAP_LOAD ? frame[i] : plain(*word);
        if (task.op == HAL_MAP_FILL || !inside) to = FTL_WORD_NONE;
        if (task.op == HAL_MAP_LOAD && to != FTL_WORD_NONE && !named(to)) state.bad = true;
        if (task.op == HAL_MAP_STORE) frame[i] = to;
        if (inside) *word = to;
        if (named(to)) count(to);
        state.any = state.any || to != FTL_WORD_NONE;
    }
    return state;
}

static struct hal_map_state apply(uint32_t *map, const uint32_t *frame) {
    struct hal_map_state state = {.stop = task.first};
    for (; state.stop < task.end; state.stop++) {
        struct ftl_entry e;
        ftl_entry_unpack(frame + FTL_LOG_ENTRY + state.stop * FTL_ENTRY_WORDS, &e);
        if (e.kind != FTL_MAP || e.flags & FTL_ENTRY_IN_TX || e.lpn >= sim.g.lbas || !named(e.location)) break;
        map[e.lpn] = FTL_WORD(FTL_WORD_KIND_BUF, FTL_WORD_VALUE(e.location));
        changed[e.lpn / FTL_PAGE_WORDS] = true;
        count(e.location);
    }
    return state;
}

struct hal_map_state hal_map_wait(void) {
    static struct hal_map_state state;
    if (!under_way) return state;
    under_way = false;
    state = (struct hal_map_state){0};
    if (task.op == HAL_MAP_CLEAR) memset(sim_live, 0, sizeof sim_live);
    else if (task.op == HAL_MAP_APPLY) state = apply(hal_map(), hal_frame(task.frame));
    else if (task.op == HAL_MAP_FILL)
        for (uint32_t more = task.frame; state = page(hal_map(), NULL), more > 0; more--) task.page++;
    else state = page(hal_map(), hal_frame(task.frame));
    if (task.op != HAL_MAP_CLEAR && sim.memory_bad != 0 && --sim.memory_bad == 0) {
        sim.memory_hit = task.op;
        state.bad = true;
    }
    return state;
}

void hal_map_start(const struct hal_map_task *to) {
    CHECK(!sim.enabled && to->op <= HAL_MAP_APPLY && to->first <= to->end && to->end <= FTL_LOG_ENTRIES);
    CHECK((to->page + (to->op == HAL_MAP_FILL ? to->frame : 0)) * FTL_PAGE_WORDS < sim.g.lbas);
    CHECK(to->frame < sim.g.frames || to->op == HAL_MAP_FILL);
    (void)hal_map_wait();
    sim.map_stored += to->op == HAL_MAP_STORE;
    task = *to;
    under_way = true;
}

uint32_t hal_map_changed(uint32_t group, bool take) {
    uint32_t mask = 0;
    for (uint32_t n = 0; n < 32; n++) {
        mask |= (uint32_t)changed[group * 32 + n] << n;
        if (take) changed[group * 32 + n] = false;
    }
    return mask;
}

void hal_map_touch(uint32_t page) {
    CHECK(!sim.enabled && !(under_way && task.op == HAL_MAP_APPLY));
    changed[page] = true;
}

void sim_map_written(uint32_t lpn) { changed[lpn / FTL_PAGE_WORDS] = true; }

void hal_live_scan(uint32_t block_id) { scanned = block_id; }

uint32_t hal_live_mask(void) {
    uint32_t mask = 0;
    CHECK(!under_way);
    for (uint32_t n = 0; n < 32 && scanned + n < SIM_BLOCKS; n++) mask |= (uint32_t)(sim_live[scanned + n] != 0) << n;
    return mask;
}
