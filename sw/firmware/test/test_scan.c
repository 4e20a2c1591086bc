/* SPDX-License-Identifier: Apache-2.0 */
/* Identification: parts with and without a parameter page, its copies, timing modes, refusals. */
#include <string.h>

#include "boot_report.h"
#include "tests.h"

#define K9F8G08 0x64a610d3ecull

static const struct ftl_report *found(void) { return &drive.ftl.report; }

static void two_by_two(void) { sim_new(2, 2, 84, 8, 2100); }

static void refused(enum ftl_error error) {
    CHECK(sim_mount(&drive.ftl) == (int)error && !sim.enabled);
    CHECK(sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0);
}

static void refused_at(enum ftl_error error, uint32_t die) {
    refused(error);
    CHECK(found()->die == die && found()->channel == die / sim.g.ways && found()->way == die % sim.g.ways);
}

static void all_in_mode(uint32_t mode) {
    CHECK(found()->mode == mode && sim.bus_mode == mode);
    for (uint32_t d = 0; d < sim.g.dies; d++) CHECK(sim.mode[d] == mode);
}

/* What the report says, in memory. */
static char said[512];
static uint32_t said_n;
void sim_said(char c) {
    if (said_n + 1 < sizeof said) said[said_n++] = c;
    said[said_n] = 0;
}
bool says(const char *words) {
    bool yes = strstr(said, words) != NULL;
    said_n = 0;
    return yes;
}

static void onfi_part_goes_to_its_highest_mode(void) {
    two_by_two();
    mounted();
    all_in_mode(5);
    CHECK(found()->part.onfi && found()->part.copy == 0 && strcmp(found()->part.name, "MAKER PART 1") == 0);
    CHECK(found()->part.spare_bytes == 128 && found()->part.pages == 8 && found()->part.blocks == sim.g.blocks &&
          found()->part.luns == 1);
    CHECK(sim.count[HAL_PARAM] == 4 && sim.count[HAL_SET_FEATURES] == 4);
    sim_said('\n');
    boot_report_part(found());
    CHECK(says("otx: nand MAKER PART 1, timing mode 5; lists set features\n"));
}

static void mode_is_one_that_part_and_board_have(void) {
    for (uint32_t part = 1; part < 64; part += 2)
        for (uint32_t board = 1; board < 64; board += 2) {
            sim_new(1, 2, 40, 8, 64);
            sim_put(&sim.part, 129, 2, part);
            sim_part_seal(&sim.part);
            sim.g.nand_modes = board;
            mounted();
            uint32_t best = 0;
            for (uint32_t m = 0; m < 6; m++) best = part & board & 1u << m ? m : best;
            all_in_mode(best);
        }
}

static void part_of_the_table_gets_its_own_times(void) {
    sim_new(1, 2, 40, 64, 64);
    sim.part = (struct sim_part){.id = K9F8G08};
    mounted();
    CHECK(found()->mode == FTL_OWN_MODE && sim.bus_mode == FTL_OWN_MODE && !found()->part.onfi &&
          found()->part.blocks == 4096);
    CHECK(sim.count[HAL_PARAM] == 0 && sim.count[HAL_SET_FEATURES] == 0 && sim.count[HAL_READ_ID] == 4);
    sim_said('\n');
    boot_report_part(found());
    CHECK(says("otx: nand Samsung K9F8G08U0M, its own times; lists multi-plane\n"));
}

static void part_of_the_table_on_a_controller_of_another_gets_a_slow_mode(void) {
    sim_new(1, 2, 40, 64, 64);
    sim.part = (struct sim_part){.id = K9F8G08};
    sim.g.nand_id = 0x314e58544full;
    mounted();
    CHECK(found()->mode == 2 && sim.bus_mode == 2);
    static const uint64_t toshiba[] = {0x762690dc98ull, 0x762690d398ull};
    for (uint32_t i = 0; i < 2; i++) {
        sim_new(1, 2, 40, 64, 64);
        sim.part = (struct sim_part){.id = toshiba[i]};
        mounted();
        CHECK(found()->mode == 0 && found()->part.blocks == 2048u << i && found()->part.spare_bytes == 224 + 8 * i);
    }
}

static void part_without_set_features_keeps_its_mode(void) {
    two_by_two();
    sim_put(&sim.part, 8, 2, 0);
    sim_put(&sim.part, 129, 2, 0x1f);
    sim_part_seal(&sim.part);
    for (uint32_t d = 0; d < 4; d++) sim.mode[d] = 4;
    sim.keeps_mode = true;
    mounted();
    CHECK(found()->mode == 4 && sim.bus_mode == 4 && sim.count[HAL_SET_FEATURES] == 0 &&
          sim.count[HAL_GET_FEATURES] == 0);
}

/* Wrong bits of a copy, in another place in each copy or in the same. */
static void spoil(uint32_t copy, bool same) {
    for (uint32_t n = 0; n < 5; n++) {
        uint32_t at = (same ? 80 : 80 + 48 * copy) + 9 * n;
        sim.part.page[256 * copy + at] ^= (uint8_t)(same ? 1u << n : 1u << sim_random(8));
    }
}

static void any_one_whole_copy_is_enough(void) {
    for (uint32_t wrong = 0; wrong < 7; wrong++) {
        two_by_two();
        for (uint32_t c = 0; c < 3; c++)
            if (wrong >> c & 1u) spoil(c, true);
        mounted();
        all_in_mode(5);
        CHECK(found()->part.copy == (wrong & 1 ? wrong & 2 ? 2 : 1 : 0) && found()->part.blocks == sim.g.blocks);
    }
    two_by_two();
    sim.part.page[0] = 'X'; /* its CRC is right, but it is no parameter page */
    sim_part_seal(&sim.part);
    refused(FTL_ERR_PARAM);
}

static void majority_of_three_wrong_copies_is_enough(void) {
    for (uint32_t round = 0; round < 50; round++) {
        two_by_two();
        /* nothing that the drive looks at */
        for (uint32_t at = 141; at < 254; at++) sim.part.page[at] = (uint8_t)sim_random(256);
        sim_part_seal(&sim.part);
        for (uint32_t c = 0; c < 3; c++) spoil(c, false);
        mounted();
        all_in_mode(5);
        CHECK(found()->part.copy == 3 && found()->part.blocks == sim.g.blocks && found()->part.pages == 8);
    }
    sim_said('\n');
    boot_report_part(found());
    CHECK(says("; parameter page by majority\n"));
}

static void unreadable_parameter_page_is_refused(void) {
    two_by_two();
    for (uint32_t c = 0; c < 3; c++) spoil(c, true);
    refused_at(FTL_ERR_PARAM, 0);
    sim_said('\n');
    boot_report_error(FTL_ERR_PARAM, found());
    CHECK(says("otx: not ready: die at channel 0, way 0: its parameter page is unreadable\n"));
    two_by_two();
    memset(sim.part.page, 0xff, sizeof sim.part.page);
    refused(FTL_ERR_PARAM);
}

static void unknown_part_is_refused(void) {
    two_by_two();
    sim.part = (struct sim_part){.id = 0x0504030201ull};
    refused_at(FTL_ERR_PART, 0);
    sim_said('\n');
    boot_report_error(FTL_ERR_PART, found());
    CHECK(says("otx: not ready: die at channel 0, way 0: unknown part, ID 01 02 03 04 05\n"));
}

static void part_that_does_not_fit_is_refused(void) {
    static const struct {
        uint32_t at, bytes, value;
    } wrong[] = {{80, 4, 2048}, {80, 4, 8192}, {92, 4, 4}, {92, 4, 16}, {96, 4, 23}, {100, 1, 2}, {6, 2, 1}};
    for (uint32_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        two_by_two();
        sim_put(&sim.part, wrong[i].at, wrong[i].bytes, wrong[i].value);
        sim_part_seal(&sim.part);
        refused(FTL_ERR_FIT);
        if (i == 0) {
            sim_said('\n');
            boot_report_error(FTL_ERR_FIT, found());
            CHECK(says("otx: not ready: the drive is built for another part than MAKER PART 1: pages of 2,048 + 128 "
                       "bytes, 8 in a block, 84 blocks, 1 LUN\n"));
        }
    }
    for (uint32_t spare = 64; spare < 128; spare += 63) {
        two_by_two();
        sim_put(&sim.part, 84, 2, spare);
        sim_part_seal(&sim.part);
        refused(FTL_ERR_SPARE);
    }
    sim_new(1, 2, 40, 64, 64);
    sim.part = (struct sim_part){.id = K9F8G08};
    sim.g.spare_bytes = 192; /* of a drive with the longer code */
    refused(FTL_ERR_SPARE);
    sim_said('\n');
    boot_report_error(FTL_ERR_SPARE, found());
    CHECK(says("otx: not ready: Samsung K9F8G08U0M has 128 spare bytes in a page, the drive needs 192\n"));
    sim_new(1, 2, 40, 64, 64);
    sim.part = (struct sim_part){.id = 0x762690dc98ull}; /* it has 224 */
    sim.g.spare_bytes = 192;
    mounted();
    two_by_two();
    sim_put(&sim.part, 96, 4, 4096); /* more blocks and spare bytes do no harm */
    sim_put(&sim.part, 84, 2, 224);
    sim_part_seal(&sim.part);
    mounted();
    sim_new(1, 2, 40, 8, 64);
    sim.part = (struct sim_part){.id = K9F8G08}; /* 64 pages in a block, not 8 */
    refused(FTL_ERR_FIT);
}

static void dies_of_different_parts_are_refused(void) {
    for (uint32_t die = 1; die < 4; die++) {
        two_by_two();
        sim.odd_die = die + 1;
        refused_at(FTL_ERR_PARTS, die);
        two_by_two();
        sim.odd_page = die + 1;
        refused_at(FTL_ERR_PARTS, die);
    }
    sim_said('\n');
    boot_report_error(FTL_ERR_PARTS, found());
    CHECK(says("otx: not ready: die at channel 1, way 1 is another part than die 0\n"));
}

static void die_that_does_not_answer_is_named(void) {
    for (uint32_t die = 0; die < 4; die++)
        for (uint32_t floats = 0; floats < 2; floats++) {
            two_by_two();
            sim.dead = 1ull << die;
            sim.dead_floats = floats;
            refused_at(FTL_ERR_DIE, die);
        }
    sim_said('\n');
    boot_report_error(FTL_ERR_DIE, found());
    CHECK(says("otx: not ready: die at channel 1, way 1 does not answer\n"));
}

static void mode_in_which_the_id_reads_wrong_is_left(void) {
    for (uint32_t from = 1; from < 7; from++) {
        two_by_two();
        sim.noisy_from = from;
        mounted();
        all_in_mode(from <= 5 ? 0 : 5);
        CHECK(found()->wanted_mode == 5);
    }
    two_by_two();
    sim.noisy_from = 3;
    mounted();
    sim_said('\n');
    boot_report_part(found());
    CHECK(says("timing mode 0 because the dies do not work with timing mode 5; lists"));
    sim_new(1, 2, 40, 64, 64);
    sim.part = (struct sim_part){.id = K9F8G08};
    sim.noisy_from = 6;
    mounted();
    CHECK(found()->mode == 0 && sim.bus_mode == 0);
}

static void die_that_does_not_take_the_mode_keeps_all_in_mode_0(void) {
    two_by_two();
    sim.ignores_mode = true;
    mounted();
    all_in_mode(0);
    CHECK(sim.count[HAL_GET_FEATURES] != 0);
}

static void every_mount_identifies_again(void) {
    two_by_two();
    mounted();
    for (uint32_t i = 0; i < 3; i++) {
        remounted();
        all_in_mode(5);
        drive_start();
    }
}

static void capabilities_are_read_from_the_page(void) {
    two_by_two();
    sim_put(&sim.part, 6, 2, 0x48);
    sim_put(&sim.part, 8, 2, 0x0f);
    sim_part_seal(&sim.part);
    mounted();
    CHECK(found()->part.capabilities == 63);
    sim_said('\n');
    boot_report_part(found());
    CHECK(says("; lists set features, cache read, cache program, multi-plane, multi-plane read, enhanced status\n"));
    const uint32_t optional[] = {4, 2, 1, 8};
    const uint32_t capabilities[] = {FTL_CAN_SET_FEATURES, FTL_CAN_CACHE_READ, FTL_CAN_CACHE_PROGRAM,
                                     FTL_CAN_STATUS_ENHANCED};
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t words[192] = {0};
        struct ftl_part part = {0};
        sim_put(&sim.part, 6, 2, 0);
        sim_put(&sim.part, 8, 2, optional[i]);
        sim_part_seal(&sim.part);
        memcpy(words, sim.part.page, sizeof words);
        CHECK(ftl_part_of_page(words, &part) && part.capabilities == capabilities[i]);
    }
}

/* What the channels may use: what the part lists, as far as the board wants it, and several planes only if there are as
 * many as the board was made for. */
static void capabilities_are_used_as_far_as_board_and_part_have_them(void) {
    const struct {
        uint32_t features, optional, plane_bits, cache_ops, planes, capabilities;
    } cases[] = {{8, 15, 1, 1, 2, 15}, {8, 15, 1, 0, 2, 12}, {8, 15, 1, 1, 1, 11},
                 {8, 15, 2, 1, 2, 11}, {8, 15, 2, 0, 4, 12}, {0, 15, 1, 1, 2, 11},
                 {8, 5, 1, 1, 2, 5},   {8, 6, 1, 1, 2, 6},   {8, 4, 1, 0, 1, 0}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        two_by_two();
        sim.g.cache_ops = cases[i].cache_ops;
        sim.g.planes = cases[i].planes;
        sim_put(&sim.part, 6, 2, cases[i].features);
        sim_put(&sim.part, 8, 2, cases[i].optional);
        sim_put(&sim.part, 113, 1, cases[i].plane_bits);
        sim_part_seal(&sim.part);
        sim.capabilities = 15;
        mounted();
        CHECK(sim.capabilities == cases[i].capabilities);
    }
    two_by_two();
    struct ftl_part table;
    CHECK(ftl_part_of_id(0x64a610d3ec, &table) && table.capabilities == FTL_CAN_MULTI_PLANE);
    const struct ftl_geometry all = {.cache_ops = 1, .planes = 2, .read_retries = 7};
    table.capabilities = ~0u;
    table.planes = 2;
    table.retries = 7;
    CHECK(ftl_part_use(&table, &all) == 0); /* whatever it can, its commands are not ONFI's */
}

/* Read levels: those of the part, as far as they are to be tried; all dies are set back to level 0, where the last user
 * may not have left them. */
static void read_levels_are_used_as_far_as_board_and_part_have_them(void) {
    const struct {
        uint32_t maker, revision, optional, count, wanted, capabilities;
    } cases[] = {{0x2c, 1, 4, 4, 3, 3},  {0x2c, 1, 4, 4, 2, 2}, {0x2c, 1, 4, 3, 7, 2}, {0x2c, 1, 4, 4, 0, 0},
                 {0x2c, 1, 4, 16, 7, 7}, {0x2c, 1, 4, 8, 7, 7}, {0x2c, 0, 4, 4, 3, 0}, {0x98, 1, 4, 4, 3, 0},
                 {0x2c, 1, 0, 4, 3, 0},  {0x2c, 1, 4, 1, 3, 0}, {0x2c, 1, 4, 0, 3, 0}};
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        two_by_two();
        sim.g.read_retries = cases[i].wanted;
        sim_put(&sim.part, 8, 2, cases[i].optional);
        sim_put(&sim.part, 64, 1, cases[i].maker);
        sim_put(&sim.part, 164, 2, cases[i].revision);
        sim_put(&sim.part, 180, 1, cases[i].count);
        sim_part_seal(&sim.part);
        sim.keeps_mode = cases[i].optional == 0;
        for (uint32_t die = 0; die < 4; die++) {
            sim.level[die] = 1;
            sim.mode[die] = sim.keeps_mode ? 5 : 0;
        }
        mounted();
        bool lists = i < 6;
        CHECK(sim.capabilities >> 4 == cases[i].capabilities &&
              ((found()->part.capabilities & FTL_CAN_READ_RETRY) != 0) == lists);
        for (uint32_t die = 0; die < 4; die++) CHECK(sim.level[die] == (lists ? 0 : 1));
        sim_said('\n');
        boot_report_part(found());
        CHECK(says(", read retry") == lists);
    }
}

const struct test scan_tests[] = {
    {"read levels are used as far as board and part have them",
     read_levels_are_used_as_far_as_board_and_part_have_them},
    {"an ONFI part goes to its highest mode", onfi_part_goes_to_its_highest_mode},
    {"the mode is one that part and board have", mode_is_one_that_part_and_board_have},
    {"a part of the table gets its own times", part_of_the_table_gets_its_own_times},
    {"a part of the table on a controller for another one gets a slow mode",
     part_of_the_table_on_a_controller_of_another_gets_a_slow_mode},
    {"a part without SET FEATURES keeps its mode", part_without_set_features_keeps_its_mode},
    {"any one whole copy of the parameter page is enough", any_one_whole_copy_is_enough},
    {"the majority of three wrong copies is enough", majority_of_three_wrong_copies_is_enough},
    {"an unreadable parameter page is refused", unreadable_parameter_page_is_refused},
    {"an unknown part is refused", unknown_part_is_refused},
    {"a part that does not fit is refused", part_that_does_not_fit_is_refused},
    {"dies of different parts are refused", dies_of_different_parts_are_refused},
    {"a die that does not answer is named", die_that_does_not_answer_is_named},
    {"a mode in which the ID reads wrong is left", mode_in_which_the_id_reads_wrong_is_left},
    {"a die that does not take the mode keeps all in mode 0", die_that_does_not_take_the_mode_keeps_all_in_mode_0},
    {"every mount identifies again", every_mount_identifies_again},
    {"capabilities are read from the page", capabilities_are_read_from_the_page},
    {"capabilities are used as far as board and part have them",
     capabilities_are_used_as_far_as_board_and_part_have_them},
    {0},
};
