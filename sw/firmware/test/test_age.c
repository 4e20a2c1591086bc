/* SPDX-License-Identifier: Apache-2.0 */
/* How old blocks are (ftl_age.h), and which victim that makes (ftl_collect.h). */
#include <string.h>

#include "drive_hw.h"
#include "ftl_age.h"
#include "ftl_blocks.h"
#include "tests.h"
#include "traffic.h"

static void ages_count_blocks_that_are_closed(void) {
    sim_new(1, 1, 600, 16, 64);
    mounted();
    struct ftl *f = &drive.ftl;
    CHECK(ftl_age_of(f, 20) == FTL_AGE_MOST && f->blocks.unit == 2); /* 150 units are the drive */
    uint32_t erases = ftl_erases_of(f, 20);
    *ftl_erases(f, 0, 20) += 3;
    while (f->blocks.closed % 4 != 3) ftl_age_close(f, 30);
    ftl_age_close(f, 20);
    CHECK(ftl_age_of(f, 20) == 0 && ftl_erases_of(f, 20) == erases + 3);
    for (uint32_t n = 0; n < 4 * 100; n++) ftl_age_close(f, 30 + n % 2);
    CHECK(ftl_age_of(f, 20) == 100 && ftl_age_of(f, 30) <= 1 && ftl_erases_of(f, 20) == erases + 3);
    for (uint32_t n = 0; n < 4 * 5000; n++) { /* more than a stamp can say */
        ftl_age_close(f, 30);
        ftl_wear_step(f);
        CHECK(ftl_age_of(f, 20) >= 100 && ftl_age_of(f, 20) <= FTL_AGE_MOST + 64);
    }
    CHECK(ftl_age_of(f, 20) >= FTL_AGE_MOST && ftl_erases_of(f, 20) == erases + 3);
    drive_cut();
    mounted();
    CHECK(ftl_age_of(&drive.ftl, 20) == FTL_AGE_MOST);
}

/* The victim of a search over all blocks of which `old` is the only one that is old. */
static uint32_t victim_with(uint32_t old, bool by_benefit) {
    static struct ftl_collect collect;
    struct ftl_retire retire = drive.retire;
    struct ftl_supply supply = drive.supply;
    memset(&collect, 0, sizeof collect);
    collect.cold_from = 1000000; /* none for its wear */
    sim.cost_benefit = by_benefit;
    for (uint32_t b = 12; b < sim.g.blocks; b++) ftl_age_close(&drive.ftl, b);
    *ftl_erases(&drive.ftl, 0, old) ^= FTL_AGE_MOST / 2 << FTL_ERASES_BITS;
    for (uint32_t n = 0; collect.victim[0].block == 0; n++) {
        CHECK(n < 1000);
        ftl_collect_step(&drive.ftl, &supply, &retire, &collect);
    }
    return collect.victim[0].block - 1;
}

static void old_blocks_are_collected_though_more_of_them_lives(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    sim.no_collect = true;
    for (uint32_t n = 0; !ftl_supply_low(&drive.ftl); n++) {
        CHECK(n < 5000);
        uint32_t i = n < 8 ? n + 2 : n == 30 ? 9 : n % 2; /* six live in the first block, one in a later one */
        while (!drive_write(&(uint32_t){drive_lpn(i)}, 1, true)) drive_supply(4);
        drive_supply(4);
        if (n % 8 == 0) drive_settle();
    }
    drive_settle();
    uint32_t few = FTL_NO_BLOCK, many = FTL_NO_BLOCK;
    for (uint32_t b = 12; b < sim.g.blocks; b++) {
        uint32_t live = hal_live(b);
        if (!ftl_blocks_is_data(&drive.ftl, b) || live == 0 || live == sim.g.pages) continue;
        if (few == FTL_NO_BLOCK || live < hal_live(few)) few = b;
        if (many == FTL_NO_BLOCK || live > hal_live(many)) many = b;
    }
    CHECK(few != FTL_NO_BLOCK && hal_live(few) < hal_live(many));
    CHECK(ftl_age_of(&drive.ftl, few) < sim.g.blocks); /* it was closed in this session */
    CHECK(victim_with(many, false) == few);
    CHECK(victim_with(many, true) == many);
    CHECK(victim_with(few, true) == few);
    CHECK(hal_live(victim_with(13, true)) == hal_live(few)); /* alike in age: the one with fewest */
    sim.no_collect = false;
    CHECK(power_down());
    sim_power_on();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    uint32_t age = ftl_age_of(&drive.ftl, few);
    CHECK(age >= FTL_AGE_MOST && age < FTL_AGE_MOST + sim.g.blocks && ftl_erases_of(&drive.ftl, few) < 100);
}

const struct test age_tests[] = {
    {"age: counts blocks that are closed, and stops", ages_count_blocks_that_are_closed},
    {"age: old blocks are collected though more of them lives", old_blocks_are_collected_though_more_of_them_lives},
    {0}};
