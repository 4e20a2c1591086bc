/* SPDX-License-Identifier: Apache-2.0 */
/* Log pages of another drive, each with a good CRC, at places where this drive's log could be: they are never taken for
 * this drive's, and the report says that they are there. */
#include "boot_report.h"
#include "drive_hw.h"
#include "tests.h"

#define MANY 14u

/* A log of `pages` pages, an acknowledged write in each; then the power is off. */
static void begin(uint32_t channels, uint32_t pages) {
    sim_new(channels, 1, 52, 8, 64);
    mounted();
    for (uint32_t n = 0; n < pages; n++) write_one(n % DRIVE_LPNS);
    drive_finish_data();
    sim_power_on();
}

/* Both copies are those of another drive, of the same generation there or of another. */
static void make_foreign(struct drive_copies *of, bool same_generation) {
    for (uint32_t i = 0; i < of->n; i++) {
        struct sim_page *p = of->copy[i];
        p->words[FTL_LOG_DRIVE_ID] += 5;
        if (same_generation) continue;
        p->generation += 3;
        p->words[FTL_LOG_GENERATION] += 3;
    }
}

/* One with later pages of this drive behind it is a gap; nothing is touched, and without it nothing is lost. */
static void inside_the_log_it_is_a_gap(void) {
    for (uint32_t channels = 1; channels < 4; channels++)
        for (uint32_t at = 0; at < 2 * MANY; at++) {
            begin(channels, MANY + channels);
            struct drive_copies of = drive_log_page(at / 2);
            make_foreign(&of, at % 2);
            CHECK(sim_mount(&drive.ftl) == FTL_ERR_GAP && drive.ftl.report.readable && sim.read_only);
            CHECK(sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0 && sim.lost_log_pages == 1);
            (void)says("");
            sim_said('|'); /* where it begins */
            boot_report_error(FTL_ERR_GAP, &drive.ftl.report);
            CHECK(says("|otx: 1 log page is of another drive and is left out\notx: read-only: "));
            drive_log_mend(&of);
            remounted();
            CHECK(sim.lost_log_pages == 0 && sim.dropped == 0 && drive.ftl.report.lost.foreign == 0);
            drive_judge();
        }
}

/* One behind the last page ends the log there. Its entries mean nothing: it would trim what was written. */
static void behind_the_log_it_ends_it(void) {
    for (uint32_t same = 0; same < 2; same++) {
        sim_new(2, 1, 36, 8, 64);
        mounted();
        write_one(0);
        uint32_t number = hw.pages, value = drive_value(drive_lpn(0));
        CHECK(value != NOTHING && drive_trim(drive_lpn(0)));
        drive_close();
        drive_finish_log();
        struct drive_copies of = drive_log_page(number);
        make_foreign(&of, same);
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK && drive_value(drive_lpn(0)) == value && sim.dropped == 0);
        CHECK(drive.ftl.report.entries == 1 && sim.lost_log_pages == 1);
        (void)says("");
        sim_said('|'); /* where it begins */
        boot_report_mounted(&drive.ftl.report);
        CHECK(says("|otx: 1 log page is of another drive and is left out\notx: mounted "));
    }
}

/* Beside one that cannot be read at all each is said by its own line. */
static void what_cannot_be_read_is_said_apart(void) {
    begin(2, MANY);
    struct drive_copies torn = drive_log_page(6), foreign = drive_log_page(7);
    drive_log_spoil(&torn, SIM_TORN);
    make_foreign(&foreign, true);
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_GAP);
    (void)says("");
    sim_said('|'); /* where it begins */
    boot_report_error(FTL_ERR_GAP, &drive.ftl.report);
    CHECK(says("|otx: 1 log page was begun and cannot be read\notx: 1 log page is of another drive and is left out\n"));
}

const struct test foreign_tests[] = {
    {"a log page of another drive inside the log is a gap that is said", inside_the_log_it_is_a_gap},
    {"a log page of another drive behind the log ends it and is said", behind_the_log_it_ends_it},
    {"a log page of another drive and one that cannot be read are said apart", what_cannot_be_read_is_said_apart},
    {0},
};
