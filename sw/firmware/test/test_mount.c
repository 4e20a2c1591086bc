/* SPDX-License-Identifier: Apache-2.0 */
#include "boot_report.h"
#include "ftl_blocks.h"
#include "ftl_root.h"
#include "tests.h"

static bool nothing_written(void) { return sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0; }

static void blank_drive_is_formatted(void) {
    sim_new(2, 2, 84, 8, 2100);
    mounted();
    CHECK(drive.ftl.report.formatted && sim.generation == 1 && sim.drive_id == 77);
    for (uint32_t l = 0; l < sim.g.lbas; l++) CHECK(hal_map()[l] == FTL_WORD_NONE);
}

static void every_mount_starts_a_new_generation(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    for (uint32_t g = 2; g < 40; g++) {
        remounted();
        CHECK(sim.generation == g && !drive.ftl.report.formatted && drive.ftl.report.lost.dropped == 0);
        drive_start();
    }
}

static void unchanged_map_is_not_written_again(void) {
    sim_new(2, 2, 84, 8, 2100);
    mounted();
    CHECK(drive_write(&(uint32_t){drive_lpn(3)}, 1, true));
    drive_settle();
    remounted();
    CHECK(sim.programs[FTL_KIND_MAP] == 2 && sim.programs[FTL_KIND_DIRECTORY] == 2);
    drive_start();
    uint32_t v = drive_value(drive_lpn(3));
    for (int i = 0; i < 5; i++) {
        remounted();
        CHECK(sim.programs[FTL_KIND_MAP] == 0 && sim.programs[FTL_KIND_ROOT] == 2);
        drive_start();
        CHECK(v != NOTHING && drive_value(drive_lpn(3)) == v);
    }
}

static void another_geometry_is_refused(void) {
    sim_new(2, 2, 84, 8, 2100);
    mounted();
    drive_cut_dropping_all();
    sim.g.lbas = 2000;
    ftl_geometry_init(&sim.g);
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_GEOMETRY && nothing_written() && !sim.enabled);
}

static void another_format_is_refused(void) {
    for (uint32_t older = 0; older < 2; older++) {
        sim_new(1, 1, 52, 8, 64);
        mounted();
        drive_cut_dropping_all();
        for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;)
            p->words[FTL_ROOT_VERSION_WORD] = older ? 2 : 99;
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_VERSION && nothing_written() && !sim.enabled);
    }
}

static void corrupt_anchors_are_refused(void) {
    sim_new(2, 2, 84, 8, 2100);
    mounted();
    remounted();
    drive_cut_dropping_all();
    for (uint32_t a = 0; a < 4; a++) sim_pages[ftl_first_ppn(&sim.g, ftl_anchor(&sim.g, a))].state = SIM_TORN;
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && nothing_written() && !sim.enabled);
}

static void corrupt_root_on_a_drive_with_data_is_refused(void) {
    for (uint32_t no_seal = 0; no_seal < 2; no_seal++) {
        sim_new(1, 1, 52, 8, 64);
        mounted();
        CHECK(drive_write(&(uint32_t){5}, 1, true));
        drive_settle();
        drive_cut_dropping_all();
        for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;) p->state = SIM_TORN;
        for (struct sim_page *p = NULL; no_seal && (p = sim_next(p, FTL_KIND_SEAL)) != NULL;) p->state = SIM_TORN_BLANK;
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && nothing_written() && !sim.enabled);
    }
}

static void foreign_pages_in_an_anchor_are_refused(void) {
    for (uint32_t page = 0; page < 4; page++) {
        sim_new(1, 1, 52, 8, 64);
        sim_program(page, page < 2 ? FTL_KIND_ROOT : FTL_KIND_DATA, 0, 5); /* whole, but without the magic */
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && nothing_written());
    }
}

static void unreadable_map_page_is_refused(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    CHECK(drive_write(&(uint32_t){6}, 1, true));
    drive_settle();
    remounted();
    drive_cut_dropping_all();
    for (uint32_t p = 0; p < 44 * 8; p++)
        if (sim_pages[p].state == SIM_WHOLE && sim_pages[p].kind == FTL_KIND_MAP) sim_pages[p].state = SIM_TORN;
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_MAP && nothing_written() && !sim.enabled);
}

static void failing_erases_and_programs_of_a_mount_go_elsewhere(void) {
    for (uint32_t n = 1; n < 8; n++)
        for (uint32_t erase = 0; erase < 2; erase++) {
            sim_new(2, 2, 84, 8, 2100);
            mounted();
            for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
            drive_settle();
            drive_cut_dropping_all();
            *(erase ? &sim.fail_erase_at : &sim.fail_program_at) = n;
            int error = sim_mount(&drive.ftl);
            sim.fail_erase_at = sim.fail_program_at = 0;
            CHECK(error == FTL_OK && (!erase || drive.ftl.report.blocks_bad == sim.failed_erases));
            drive_judge();
        }
}

/* Why the mount of a drive in use cannot write: no anchor, no block, or nothing can be programmed. */
static void spoil(uint32_t why) {
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            uint32_t id = ftl_block_id(&sim.g, die, b);
            sim_blocks[id].worn = why == 1 || (why == 0 && ftl_is_anchor(&sim.g, id));
        }
    sim.fail_programs = why == 2 ? 1000 : 0;
}

static void drive_that_cannot_be_written_is_opened_read_only(void) {
    static const int errors[] = {FTL_ERR_ANCHOR, FTL_ERR_NO_BLOCK, FTL_ERR_PROGRAM};
    static const char *const words[] = {
        "no block for a new root is left that can be erased and written; the old root still counts",
        "no free block for map and log", "the map cannot be written: too many programs fail"};
    for (uint32_t run = 0; run < 3 * 8; run++) {
        uint32_t why = run % 3;
        sim_seed(run);
        sim_new(2, 2, 84, 8, 2100);
        sim.stays = why != 0; /* pages that fade cannot be copied then */
        mounted();
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
        if (run % 2) drive_settle();
        CHECK(drive_tx_write(3, drive_lpn(1)) && drive_commit(3));
        if (run % 4 < 2 || why == 2) drive_settle();
        drive_cut();
        spoil(why);
        for (uint32_t n = 0; n < 2; n++) {
            drive_cut_dropping_all();
            CHECK(sim_mount(&drive.ftl) == errors[why] && sim.enabled && sim.read_only && sim.drive_id == 77 &&
                  drive.ftl.report.readable);
            CHECK(sim.data[0].n == 0 && sim.lane[0].n == 0);
            drive_judge();
        }
        (void)says("");
        boot_report_error((enum ftl_error)errors[why], &drive.ftl.report);
        CHECK(says("otx: read-only: "));
        boot_report_error((enum ftl_error)errors[why], &drive.ftl.report);
        CHECK(says(words[why]));
        if (why != 2) continue;
        drive_cut_dropping_all(); /* it could be a moment's fault: then it goes on */
        spoil(3);
        CHECK(sim_mount(&drive.ftl) == FTL_OK && !sim.read_only && !drive.ftl.report.readable);
        drive_judge();
        drive_start();
        write_one(4);
        remounted();
        drive_judge();
    }
}

static void drive_that_cannot_be_formatted_stays_closed(void) {
    for (uint32_t why = 0; why < 3; why++) {
        sim_new(2, 2, 84, 8, 2100);
        spoil(why);
        CHECK(sim_mount(&drive.ftl) != FTL_OK && !sim.enabled && !drive.ftl.report.readable);
    }
}

/* Also when a checkpoint made the log begin behind its first page. */
static void entries_of_the_report_are_those_of_its_log_pages(void) {
    sim_new(2, 1, 48, 8, 64);
    sim.g.checkpoint_pages = 8;
    mounted();
    for (uint32_t n = 0; n < 100 && drive.checkpoint.done < 2; n++) {
        write_one(n % DRIVE_LPNS);
        drive_supply(20);
    }
    CHECK(drive.checkpoint.done == 2);
    uint32_t generation = sim.generation, last = 0, entries = 0;
    remounted();
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_LOG)) != NULL;)
        if (p->generation == generation && p->lpn > last) last = p->lpn;
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_LOG)) != NULL;)
        if (p->generation == generation && last - p->lpn < drive.ftl.report.log_pages)
            entries += p->words[FTL_LOG_COUNT] >> FTL_LOG_COUNT_SHIFT & 0xffffu;
    entries /= FTL_LOG_COPIES;
    CHECK(last >= drive.ftl.report.log_pages && drive.ftl.report.entries == entries);
}

const struct test mount_tests[] = {
    {"a blank drive is formatted", blank_drive_is_formatted},
    {"every mount starts a new generation", every_mount_starts_a_new_generation},
    {"an unchanged map is not written again", unchanged_map_is_not_written_again},
    {"a root of another geometry is refused and nothing is touched", another_geometry_is_refused},
    {"a root of another format is refused and nothing is touched", another_format_is_refused},
    {"corrupt anchors are refused and nothing is touched", corrupt_anchors_are_refused},
    {"a corrupt root on a drive with data is refused and nothing is touched",
     corrupt_root_on_a_drive_with_data_is_refused},
    {"foreign pages in an anchor are refused and nothing is touched", foreign_pages_in_an_anchor_are_refused},
    {"an unreadable map page is refused and nothing is touched", unreadable_map_page_is_refused},
    {"a drive in use that cannot be written is opened read-only", drive_that_cannot_be_written_is_opened_read_only},
    {"a drive that cannot be formatted stays closed", drive_that_cannot_be_formatted_stays_closed},
    {"entries of the report are those of its log pages", entries_of_the_report_are_those_of_its_log_pages},
    {"failing erases and programs of a mount go elsewhere", failing_erases_and_programs_of_a_mount_go_elsewhere},
    {0},
};
