/* SPDX-License-Identifier: Apache-2.0 */
/* Log pages stand twice (rules log-twice and mark-log). */
#include <string.h>

#include "drive_hw.h"
#include "tests.h"
#include "traffic.h"

#define PAGES 14u

/* One acknowledged write in each of PAGES log pages. */
static void fourteen_pages(uint32_t channels) {
    sim_new(channels, 1, 60, 8, 64);
    mounted();
    for (uint32_t n = 0; n < PAGES; n++) write_one(n % DRIVE_LPNS);
}

/* One copy cannot be read, looks blank, or fades: nothing is lost, and nothing is said; with the mount cut anywhere. */
static void one_bad_copy_in_the_log_harms_nobody(void) {
    for (uint32_t channels = 1; channels < 6; channels++)
        for (uint32_t at = 0; at < 6 * PAGES; at++) {
            sim_seed(at);
            fourteen_pages(channels);
            struct drive_copies of = drive_log_page(at / 6);
            CHECK(of.n == FTL_LOG_COPIES);
            struct sim_page *p = of.copy[at % 2];
            sim_power_on();
            if (at / 2 % 3 == 2) p->fades = 1 + at % 3;
            else p->state = at / 2 % 3 == 1 ? SIM_TORN_BLANK : SIM_TORN;
            sim.cut_at = at % 7 * 6;
            if (sim.cut_at == 0 || sim_mount(&drive.ftl) == -1) {
                sim.cut_at = 0;
                CHECK(sim_mount(&drive.ftl) == FTL_OK);
            }
            sim.cut_at = 0;
            CHECK(!sim.read_only && sim.lost_log_pages == 0 && sim.dropped == 0 && sim.doubtful == 0);
            drive_judge();
            remounted();
            drive_judge();
        }
}

/* Both copies of all pages are of different pages of flash, and of different lanes when there are two. */
static void copies_are_in_different_lanes(void) {
    for (uint32_t channels = 1; channels < 6; channels++) {
        fourteen_pages(channels);
        for (uint32_t n = 0; n < PAGES; n++) {
            struct drive_copies of = drive_log_page(n);
            const uint32_t *w = of.copy[0]->words;
            CHECK(of.n == FTL_LOG_COPIES && memcmp(w + FTL_LOG_ENTRY, of.copy[1]->words + FTL_LOG_ENTRY, 64) == 0);
            uint32_t block[2] = {w[FTL_LOG_BLOCK], w[FTL_LOG_SECOND_BLOCK]};
            CHECK(channels == 1 || (block[0] != block[1] && block[1] != 0));
        }
    }
}

/* A page of the log goes bad: of the generation that the next mount recovers, whichever it is. */
static bool log_page_goes_bad(void) {
    uint32_t n = 0, which;
    struct sim_page *p = NULL;
    while ((p = sim_next(p, FTL_KIND_LOG)) != NULL)
        n += p->state == SIM_WHOLE && p->generation == drive.ftl.report.generation;
    if (n == 0) return false;
    for (which = sim_random(n); (p = sim_next(p, FTL_KIND_LOG)) != NULL;)
        if (p->state == SIM_WHOLE && p->generation == drive.ftl.report.generation && which-- == 0) break;
    p->fades = 0;
    p->state = sim_random(4) ? SIM_TORN : SIM_TORN_BLANK;
    return true;
}

/* One page of the log goes bad before each mount. */
static void random_histories_with_an_error_in_the_log(void) {
    histories_with_an_error(9000101, log_page_goes_bad, NULL);
}

/* Log pages stand once there, and one in each lane may be under way. */
static void format_9_is_taken_cut_at_every_operation(void) {
    for (uint32_t channels = 1; channels < 5; channels++) {
        sim_seed(channels);
        sim_new(channels, 1, 60, 8, 64);
        sim.log_once = true;
        mounted();
        history(150);
        drive_cut();
        for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;)
            p->words[FTL_ROOT_VERSION_WORD] = FTL_LOG_TWICE - 1;
        sim.log_once = false;
        struct sim_copy at_cut = sim_save();
        struct drive before = drive;
        bool ended = false;
        for (uint32_t cut = 1; !ended; cut++) {
            ended = mount_cut_at(&at_cut, &before, cut);
            if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
        }
        sim_forget(&at_cut);
        drive_start();
        write_one(1);
        CHECK(drive_log_page(0).n == FTL_LOG_COPIES);
        remounted();
        drive_judge();
    }
}

/* What stands before a watermark stands in two pages: also when everything is complete at once. */
static void watermark_passes_only_what_stands_twice(void) {
    sim_new(2, 1, 60, 8, 64);
    mounted();
    for (uint32_t n = 0; n < PAGES; n++) {
        CHECK(drive_write(&(uint32_t){drive_lpn(n)}, 1, true));
        drive_finish_data();
        drive_close();
        drive_finish_log();
        struct drive_copies of = drive_log_page(n);
        for (uint32_t c = 0; c < of.n; c++) CHECK(ftl_get48(of.copy[c]->words, FTL_LOG_WATERMARK) == n);
    }
}

/* A log longer than the frames is read twice: a copy that fades between has another one, also where no header names it:
 * of one lane, or when a program failed. */
static void a_copy_that_fades_in_a_long_recovery_has_another_one(void) {
    for (uint32_t run = 0; run < 4 * 3 * 2 * 3; run++) {
        uint32_t channels = 1 + run % 4, fades = 2 + run / 4 % 3, fails = run / 12 % 2;
        sim_seed(run);
        sim_new(channels, 1, 80, 32, 64);
        mounted();
        sim.no_collect = true;
        uint32_t pages = sim.g.frames - sim.g.firmware_frames + 20;
        uint32_t k = run / 24 == 0 ? 5 : run / 24 == 1 ? 44 : pages - 1;
        for (uint32_t n = 0; n < pages; n++) {
            if (fails && n == k) sim.fail_next[FTL_KIND_LOG] = 1;
            write_one(n % DRIVE_LPNS);
        }
        struct drive_copies of = drive_log_page(k);
        sim_power_on();
        of.copy[run % of.n]->fades = fades;
        CHECK(sim_mount(&drive.ftl) == FTL_OK && !sim.read_only && sim.lost_log_pages == 0);
        CHECK(drive.ftl.report.log_pages == pages);
        drive_judge();
    }
}

/* A program at page 2 of a block fails and looks blank, and so does the copy at page 3, which went bad. */
static void blank_places_before_a_block_may_be_left_are_not_its_end(void) {
    for (uint32_t more = 0; more < 3; more++) {
        sim_new(1, 1, 60, 8, 64);
        mounted();
        uint32_t k = 0;
        while (k < 5 || hw.lane[0].page != 2) write_one(k++ % DRIVE_LPNS);
        uint32_t first = ftl_first_ppn(&sim.g, hw.lane[0].block);
        sim.fail_next[FTL_KIND_LOG] = 1;
        for (uint32_t n = 0; n <= more; n++) write_one((k + n) % DRIVE_LPNS);
        sim_power_on();
        CHECK(sim_pages[first + 3].lpn == k);
        sim_pages[first + 2].state = sim_pages[first + 3].state = SIM_TORN_BLANK;
        CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.report.log_pages == k + 1 + more);
        drive_judge();
    }
}

/* No program succeeds in the block that a lane comes to: the copy goes to another lane, and what it leaves is found
 * again, also with one more page of the log that cannot be read, whichever it is. */
static void a_block_of_the_log_that_is_wholly_bad_costs_nothing(void) {
    for (uint32_t channels = 2; channels < 6; channels++)
        for (uint32_t bad = 1; bad < 3; bad++) { /* blocks one after the other */
            sim_seed(channels);
            sim_new(channels, 1, 60, 8, 64);
            mounted();
            sim.no_collect = true;
            uint32_t k = 0;
            while (hw.lane[1].page != sim.g.pages) write_one(k++ % DRIVE_LPNS);
            sim_blocks[hw.lane[1].next].refuses = UINT8_MAX;
            while (hw.left < bad) {
                CHECK(k < 100 && !hw.stopped);
                write_one(k++ % DRIVE_LPNS);
                if (bad == 2 && hw.left == 1) sim_blocks[hw.lane[1].next].refuses = UINT8_MAX;
            }
            CHECK(hw.left == bad && !hw.stopped);
            for (uint32_t n = 0; n < 20; n++) write_one(k++ % DRIVE_LPNS);
            sim_power_on();
            struct sim_copy at_cut = sim_save();
            struct drive before = drive;
            for (uint32_t n = 0; n <= FTL_LOG_COPIES * k; n++) { /* 0: no other page is bad */
                sim_restore(&at_cut);
                drive = before;
                struct drive_copies of = drive_log_page(n == 0 ? 0 : (n - 1) / FTL_LOG_COPIES);
                CHECK(of.n >= FTL_LOG_COPIES);
                if (n != 0) of.copy[n % of.n]->state = SIM_TORN;
                CHECK(sim_mount(&drive.ftl) == FTL_OK && !sim.read_only && sim.lost_log_pages == 0);
                CHECK(drive.ftl.report.log_pages == k);
                drive_judge();
            }
            sim_forget(&at_cut);
        }
}

/* FTL_LOG_WINDOW pages behind a page whose copies are both bad tell that it was complete; fewer may have been under way
 * beside it. */
static void missing_page_is_a_gap_when_one_behind_the_window_is_there(void) {
    for (uint32_t channels = 1; channels < 6; channels++)
        for (uint32_t behind = 0; behind < 6; behind++) {
            fourteen_pages(channels);
            struct drive_copies of = drive_log_page(PAGES - 1 - behind);
            sim_power_on();
            drive_log_spoil(&of, SIM_TORN);
            bool gap = behind >= FTL_LOG_WINDOW(sim.g.lanes);
            CHECK(sim_mount(&drive.ftl) == (gap ? FTL_ERR_GAP : FTL_OK) && sim.read_only == gap);
            CHECK(sim.lost_log_pages != 0);
        }
}

const struct test log_twice_tests[] = {
    {"one bad copy in the log harms nobody", one_bad_copy_in_the_log_harms_nobody},
    {"copies of log pages are in different lanes", copies_are_in_different_lanes},
    {"random histories with an error in the log", random_histories_with_an_error_in_the_log},
    {"a drive of format 9 is taken, cut at every operation", format_9_is_taken_cut_at_every_operation},
    {"a watermark passes only what stands twice", watermark_passes_only_what_stands_twice},
    {"a copy that fades in a long recovery has another one", a_copy_that_fades_in_a_long_recovery_has_another_one},
    {"blank places before a block may be left are not its end",
     blank_places_before_a_block_may_be_left_are_not_its_end},
    {"a block of the log that is wholly bad costs nothing", a_block_of_the_log_that_is_wholly_bad_costs_nothing},
    {"a missing page is a gap when one behind the window is there",
     missing_page_is_a_gap_when_one_behind_the_window_is_there},
    {0},
};
