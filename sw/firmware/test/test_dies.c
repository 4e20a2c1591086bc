/* SPDX-License-Identifier: Apache-2.0 */
/* Drives that are made without a die: which are, what is refused, what becomes of the die. */
#include <string.h>

#include "boot_report.h"
#include "ftl_blocks.h"
#include "ftl_dies.h"
#include "tests.h"

#define FIRST 1u /* of two by two dies, as a set */
#define LAST 8u

/* Two by two dies, of which so many may be missing. */
static void two_by_two(uint32_t missing, uint64_t dead, bool floats) {
    sim_new(2, 2, 80, 8, 1100);
    sim.g.missing_dies = missing;
    sim.dead = sim.closed = dead;
    sim.dead_floats = floats;
}

static void write_all(void) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
    drive_settle();
}

static void refused(int error) {
    struct sim_copy before = sim_save();
    CHECK(sim_mount(&drive.ftl) == error && !sim.enabled && sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0);
    sim_forget(&before);
}

static void lost(uint32_t die) {
    refused(FTL_ERR_LOST);
    CHECK(drive.ftl.report.die == die && drive.ftl.report.channel == die / 2 && drive.ftl.report.way == die % 2);
}

static void drive_is_made_without_a_die_and_runs_without_it(void) {
    for (uint32_t run = 0; run < 8; run++) {
        uint64_t dead = 1ull << run % 4;
        two_by_two(1, dead, run / 4);
        mounted();
        CHECK(drive.ftl.report.formatted && drive.ftl.report.out == dead && drive.ftl.report.absent == dead &&
              drive.ftl.report.blocks_bad == 0);
        for (uint32_t generation = 2; generation < 16; generation++) {
            write_all();
            quiet();
            sim.dead = generation % 3 == 0 ? 0 : dead; /* it answers, and stays unused */
            remounted();
            CHECK(sim.generation == generation && drive.ftl.report.out == dead && drive.ftl.report.absent == sim.dead &&
                  drive.ftl.report.blocks_bad == 0);
            drive_judge();
            drive_start();
        }
    }
}

static void several_dies_may_be_missing(void) {
    sim_new(4, 2, 40, 8, 64);
    sim.g.missing_dies = 3;
    sim.dead = sim.closed = 1u << 0 | 1u << 3 | 1u << 4;
    mounted();
    write_all();
    remounted();
    CHECK(drive.ftl.report.out == sim.closed && ftl_dies_used(&drive.ftl.geometry) == 5 &&
          ftl_dies_first(&drive.ftl.geometry) == 1);
    drive_judge();
    sim_new(4, 2, 40, 8, 64);
    sim.g.missing_dies = 3;
    sim.dead = sim.closed = 1u << 0 | 1u << 3 | 1u << 4 | 1u << 5;
    refused(FTL_ERR_DIE);
}

static void without_the_setting_it_is_refused(void) {
    two_by_two(0, 2, false);
    refused(FTL_ERR_DIE);
    two_by_two(1, 2, false);
    mounted();
    drive_cut_dropping_all();
    sim.g.missing_dies = 0; /* the drive with another setting */
    refused(FTL_ERR_DIE);
    sim.dead = 0;
    refused(FTL_ERR_GEOMETRY);
}

static void drive_whose_only_dies_are_missing_is_refused(void) {
    for (uint32_t floats = 0; floats < 2; floats++) {
        two_by_two(3, 15, floats);
        refused(FTL_ERR_DIE);
    }
    sim_new(2, 2, 80, 8, 64);
    sim.g.missing_dies = 2;
    sim.dead = FIRST | LAST; /* nowhere for a root */
    refused(FTL_ERR_ANCHOR);
}

static void capacity_that_the_other_dies_do_not_hold_is_refused(void) {
    sim_new(1, 2, 44, 8, 400);
    sim.g.missing_dies = 1;
    sim.dead = sim.closed = 2;
    refused(FTL_ERR_BLOCKS);
    CHECK(drive.ftl.report.good_blocks == 38 && drive.ftl.report.needed > 38);
}

/* At each age of the drive, the youngest has no root but in its first anchor; with nothing written and with something.
 * */
static void die_that_the_drive_was_made_with_is_missed(void) {
    for (uint32_t run = 0; run < 4 * 3 * 2; run++) {
        uint32_t die = run % 4, age = run / 4 % 3, write = run / 12;
        two_by_two(1, 0, run % 2);
        mounted();
        for (uint32_t n = 0; n < age; n++) {
            if (write) write_all();
            remounted();
            drive_start();
        }
        if (write) write_all();
        drive_cut_dropping_all();
        sim.dead = 1ull << die;
        lost(die);
        sim.dead = 0;
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
    two_by_two(2, 2, false); /* made without one, and now another one is gone too */
    mounted();
    write_all();
    drive_cut_dropping_all();
    sim.dead |= 4;
    lost(2);
    sim.dead = 4;
    lost(2);
}

/* Without the table too, and with nothing but data. */
static void drive_in_use_is_never_formatted_because_a_die_is_missing(void) {
    for (uint32_t die = 0; die < 4; die += 3) {
        two_by_two(1, 0, false);
        mounted();
        write_all();
        drive_cut_dropping_all();
        for (uint32_t b = 0; b < FTL_TABLE_BLOCKS; b++)
            for (uint32_t c = 0; c < 2; c++)
                sim_pages[ftl_first_ppn(&sim.g, ftl_table_block(&sim.g, c, b))].state = SIM_TORN;
        sim.dead = 1ull << die;
        refused(FTL_ERR_LOST); /* the other copy of the root says so */
    }
    two_by_two(1, FIRST, false);
    mounted();
    write_all();
    drive_cut_dropping_all();
    sim.dead = LAST; /* where its roots are */
    refused(FTL_ERR_NO_ROOT);
}

/* A chip of another drive, with roots and a table newer than ours. */
static void roots_and_table_of_another_drive_do_not_count(void) {
    for (uint32_t run = 0; run < 2; run++) {
        uint32_t die = run * 3;
        two_by_two(1, 0, false);
        mounted();
        for (uint32_t n = 0; n < 9; n++) {
            write_all();
            remounted();
            drive_start();
        }
        struct sim_copy other = sim_save();
        uint32_t first = ftl_first_ppn(&sim.g, ftl_block_id(&sim.g, die, 0)), pages = sim.g.blocks * sim.g.pages;
        two_by_two(1, 1ull << die, false);
        mounted();
        write_all();
        drive_cut_dropping_all();
        memcpy(&sim_pages[first], &other.pages[first], pages * sizeof *sim_pages);
        sim_forget(&other);
        sim.dead = 0;
        for (uint32_t n = 0; n < 3; n++) {
            remounted();
            CHECK(sim.generation == 2 + n && drive.ftl.report.out == sim.closed && drive.ftl.report.absent == 0);
            drive_judge();
            drive_start();
        }
    }
}

/* The die answers again, or not, or another one is missing. Never is anything lost that was there. */
static void first_format_without_a_die_cut_at_every_operation_is_done_again(void) {
    for (uint32_t die = 0; die < 4; die++)
        for (uint32_t cut = 1, ended = 0; !ended; cut += cut + 13 < 3 * 3 * 40 ? 13 : 1) {
            sim_seed(cut);
            sim_new(2, 2, 40, 8, 64);
            sim.g.missing_dies = 1;
            sim.dead = 1ull << die;
            sim.cut_at = cut;
            ended = sim_mount(&drive.ftl) != -1;
            sim.cut_at = 0;
            drive_cut_dropping_all();
            struct sim_copy at_cut = sim_save();
            for (uint32_t then = 0; then < 2; then++) {
                if (then == 1) sim_restore(&at_cut);
                if (then == 1) sim.dead = 0;
                CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.generation <= 2);
                CHECK(drive.ftl.report.out == 1ull << die || (then == 1 && drive.ftl.report.out == 0));
                drive_start();
                write_all();
                sim.closed = drive.ftl.report.out;
                remounted();
                drive_judge();
                sim.closed = 0;
            }
            sim_forget(&at_cut);
        }
}

/* A drive with a table but no whole root is one whose first format was cut: what the table has good blocks of was
 * there. */
static void die_that_was_there_when_the_format_was_cut_is_missed(void) {
    two_by_two(1, 0, false);
    mounted();
    drive_cut_dropping_all();
    for (uint32_t n = 0; n < 2; n++) sim_pages[ftl_first_ppn(&sim.g, ftl_anchor(&sim.g, n))].state = SIM_TORN;
    sim.dead = 4;
    lost(2);
}

static bool report_says(const char *words) {
    (void)says("");
    boot_report_mounted(&drive.ftl.report);
    return says(words);
}

static void report_names_the_dies(void) {
    two_by_two(1, 4, false);
    mounted();
    CHECK(report_says("otx: made without the die at channel 1, way 0\n"));
    sim.dead = 0;
    remounted();
    CHECK(report_says("otx: made without the die at channel 1, way 0, which answers now and stays unused\n"));
    drive_cut_dropping_all();
    sim.dead = 2;
    refused(FTL_ERR_LOST);
    (void)says("");
    boot_report_error(FTL_ERR_LOST, &drive.ftl.report);
    CHECK(says("otx: not ready: die at channel 0, way 1 does not answer, and the drive was made with it; nothing was "
               "changed\n"));
}

const struct test dies_tests[] = {
    {"a drive is made without a die that does not answer, and runs without it",
     drive_is_made_without_a_die_and_runs_without_it},
    {"several dies may be missing, but no more than the geometry says", several_dies_may_be_missing},
    {"without the setting a missing die is refused, also by a drive that was made without it",
     without_the_setting_it_is_refused},
    {"a drive without a die for its roots is refused", drive_whose_only_dies_are_missing_is_refused},
    {"a capacity that the other dies do not hold is refused", capacity_that_the_other_dies_do_not_hold_is_refused},
    {"a die that the drive was made with is missed, and nothing is touched",
     die_that_the_drive_was_made_with_is_missed},
    {"a drive in use is never formatted because a die is missing",
     drive_in_use_is_never_formatted_because_a_die_is_missing},
    {"roots and table on a chip of another drive do not count", roots_and_table_of_another_drive_do_not_count},
    {"the first format without a die cut at every operation is done again",
     first_format_without_a_die_cut_at_every_operation_is_done_again},
    {"a die that was there when the first format was cut is missed",
     die_that_was_there_when_the_format_was_cut_is_missed},
    {"the report names the dies", report_names_the_dies},
    {0},
};
