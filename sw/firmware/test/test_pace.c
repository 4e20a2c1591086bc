/* SPDX-License-Identifier: Apache-2.0 */
/* How fast hosts may write while free blocks are few (ftl_pace.h), and victims on several dies. */
#include <string.h>

#include "drive_hw.h"
#include "ftl_blocks.h"
#include "tests.h"
#include "traffic.h"

static struct ftl_pace pace;
static struct ftl_collect collect;

/* One round in which hosts have so many pages before them; what a page costs. */
static uint32_t round_with(uint32_t pages) {
    hw.open[0].left = pages;
    ftl_pace_step(&drive.ftl, &drive.supply, &drive.retire, &collect, &pace);
    CHECK(hw.page_clocks == pace.clocks);
    return pace.clocks;
}

/* Blocks are few, and nothing is before hosts but what a test says. */
static void short_of_blocks(void) {
    sim_new(4, 1, 48, 16, 64);
    mounted();
    sim.no_collect = true;
    memset(&pace, 0, sizeof pace);
    memset(&collect, 0, sizeof collect);
    drive.ftl.blocks.total = ftl_supply_kept(&drive.ftl);
    for (uint32_t die = 0; die < 4; die++) hw.open[die].left = sim.data[die].n = 0;
    memset(drive.supply.die, 0, sizeof drive.supply.die);
    CHECK(ftl_supply_low(&drive.ftl) && hal_alloc_left() == 0);
}

/* Blocks come back, each after so many moves; a round each, of which the clocks are told. */
static void come_back(uint32_t blocks, uint32_t moves, uint32_t clocks) {
    for (uint32_t n = 0; n < blocks; n++) {
        collect.released++;
        drive.retire.moves.moved += moves;
        sim.clocks += clocks;
        (void)round_with(64);
    }
}

static void rate_falls_with_the_pages_and_never_to_nothing(void) {
    short_of_blocks();
    CHECK(round_with(10) == 0); /* nothing has been measured */
    pace.gain = 1000;
    pace.measures = true;
    uint32_t one = 4 * sim.g.pages, last = 0;
    for (uint32_t pages = FTL_PACE_FROM * one + 8; pages-- > 0;) {
        uint32_t clocks = round_with(pages);
        CHECK(clocks >= last && clocks <= FTL_PACE_MOST * 1000);
        CHECK(pages < FTL_PACE_FROM * one ? clocks >= 1000 / FTL_PACE_FROM : clocks == 0);
        last = clocks;
    }
    CHECK(last == FTL_PACE_MOST * 1000 && round_with(one) == 1000 && round_with(one / 2) == 2000);
    drive.supply.die[2].waiting = 1; /* erased blocks count */
    CHECK(round_with(one - sim.g.pages) == 1000);
    drive.ftl.blocks.total = 100;
    CHECK(!ftl_supply_low(&drive.ftl) && round_with(1) == 0);
}

static void collection_is_measured(void) {
    short_of_blocks();
    sim.clocks_per_ask = 0;
    (void)round_with(64);
    come_back(3, 10, 600);
    CHECK(pace.gain == 0);
    come_back(1, 10, 600);
    CHECK(pace.gain == 100); /* 600 clocks for 16 - 10 pages */
    come_back(400, 14, 600);
    CHECK(pace.gain > 280 && pace.gain <= 300);
    come_back(8, 15, 600); /* the last ones do not count alone */
    CHECK(pace.gain > 300 && pace.gain < 400);
    drive.ftl.blocks.total = 100; /* a time in which nothing was collected does not count */
    (void)round_with(64);
    sim.clocks += 1u << 28;
    drive.ftl.blocks.total = ftl_supply_kept(&drive.ftl);
    (void)round_with(64);
    come_back(8, 14, 600);
    CHECK(pace.gain < 400);
    come_back(400, 16, 1 << 20);
    CHECK(pace.gain == HAL_PAGE_CLOCKS / FTL_PACE_MOST && round_with(0) <= HAL_PAGE_CLOCKS);
}

/* Each has pages to move, and two of one die would wait for each other. */
static void victims_are_on_different_dies(void) {
    uint32_t dies = 0, victims = 0;
    sim_new(4, 1, 48, 16, 64);
    mounted();
    sim.no_collect = true;
    for (uint32_t n = 0; !ftl_supply_low(&drive.ftl); n++) {
        CHECK(n < 4000);
        write_one(n < DRIVE_LPNS ? n : 0);
    }
    for (uint32_t die = 0; die < 4; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            uint32_t block = ftl_block_id(&sim.g, die, b);
            if (hal_live(block) == 0) ftl_blocks_set_aside(&drive.ftl, block);
        }
    drive.ftl.blocks.total = ftl_supply_kept(&drive.ftl);
    for (uint32_t n = 0; n < 100; n++) ftl_collect_step(&drive.ftl, &drive.supply, &drive.retire, &drive.collect);
    for (uint32_t v = 0; v < FTL_VICTIMS; v++) {
        uint32_t block = drive.collect.victim[v].block;
        if (block == 0) continue;
        uint32_t die = 1u << ftl_die_of(&sim.g, block - 1);
        CHECK(!(dies & die) && ftl_retire_waits(&drive.retire, block - 1));
        dies |= die;
        victims++;
    }
    CHECK(victims == 4);
}

const struct test pace_tests[] = {
    {"pace: the rate falls with the pages and never to nothing", rate_falls_with_the_pages_and_never_to_nothing},
    {"pace: collection is measured", collection_is_measured},
    {"victims are on different dies", victims_are_on_different_dies},
    {0},
};
