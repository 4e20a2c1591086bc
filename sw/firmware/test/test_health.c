/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the drive's health are true, and those since the format survive. */
#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "tests.h"

static uint64_t wide(enum ftl_health_word word) { return (uint64_t)sim.health[word + 1] << 32 | sim.health[word]; }

static uint32_t programs_of_firmware(void) { return sim.count[HAL_PROGRAM]; }

static void begin(void) {
    ftl_health_begin(&drive.ftl);
    for (uint32_t i = 0; i <= FTL_HEALTH_LOST_COUNTS; i++) CHECK(sim.health[i] != 0xa5a5a5a5u);
}

static void words_are_true_at_any_moment(void) {
    sim_new(2, 1, 64, 8, 64);
    mounted();
    begin();
    CHECK(sim.health[FTL_HEALTH_STARTS] == 1 && wide(FTL_HEALTH_HOST_PAGES) == 0);
    for (uint32_t i = 0; i < 600; i++) write_one(i % 3);
    drive_supply(64); /* a few rounds of all words */
    CHECK(wide(FTL_HEALTH_HOST_PAGES) == 600 && sim.data_pages == 600);
    CHECK(wide(FTL_HEALTH_NAND_PAGES) == 600 + sim.log_pages + programs_of_firmware());
    CHECK(wide(FTL_HEALTH_MOVED_PAGES) == drive.retire.moves.moved);
    CHECK(sim.health[FTL_HEALTH_FREE_BLOCKS] == drive.ftl.blocks.total);
    CHECK(sim.health[FTL_HEALTH_COLLECTED_BLOCKS] == drive.collect.released && drive.collect.released > 0);
    CHECK(sim.health[FTL_HEALTH_CHECKPOINTS] == drive.checkpoint.done && drive.checkpoint.done > 0);
    CHECK(sim.health[FTL_HEALTH_LEVELLED_BLOCKS] == drive.collect.levelled);
    CHECK(sim.health[FTL_HEALTH_CORRECTED_READS] == 7 && sim.health[FTL_HEALTH_WEAK_READS] == 5);
    uint32_t least = sim.health[FTL_HEALTH_LEAST_ERASES], mean = sim.health[FTL_HEALTH_MEAN_ERASES],
             most = sim.health[FTL_HEALTH_MOST_ERASES];
    CHECK(least <= mean && mean <= most && most > 1);
}

/* What came after the last root is lost. */
static void numbers_since_the_format_survive(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    uint64_t host = 0, nand = 0;
    for (uint32_t n = 0; n < 4; n++) {
        for (uint32_t i = 0; i < 300; i++) write_one(i % 3);
        drive.ftl.geometry.checkpoint_pages = 1;
        uint32_t done = drive.checkpoint.done;
        while (drive.checkpoint.done == done) {
            write_one(0);
            drive_supply(40);
        }
        host += sim.data_pages;
        nand += sim.data_pages + sim.log_pages + programs_of_firmware();
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_start();
        begin();
        uint32_t mine = programs_of_firmware();
        CHECK(wide(FTL_HEALTH_HOST_PAGES) <= host && wide(FTL_HEALTH_HOST_PAGES) + 8 >= host);
        CHECK(wide(FTL_HEALTH_NAND_PAGES) <= nand + mine && wide(FTL_HEALTH_NAND_PAGES) + 100 >= nand);
        CHECK(sim.health[FTL_HEALTH_STARTS] == n + 2);
    }
}

static void a_bad_block_is_one_less_to_spare(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    begin();
    uint32_t spare = sim.health[FTL_HEALTH_SPARE_BLOCKS];
    CHECK(spare > 2 && sim.health[FTL_HEALTH_BAD_BLOCKS] == 0);
    sim.fail_next[FTL_KIND_DATA] = 1;
    write_one(0);
    drive_supply(200);
    CHECK(sim.health[FTL_HEALTH_BAD_BLOCKS] == 1 && sim.health[FTL_HEALTH_SPARE_BLOCKS] == spare - 1);
}

const struct test health_tests[] = {
    {"health: the words are true at any moment", words_are_true_at_any_moment},
    {"health: numbers since the format survive", numbers_since_the_format_survive},
    {"health: a bad block is one less to spare", a_bad_block_is_one_less_to_spare},
    {0},
};
