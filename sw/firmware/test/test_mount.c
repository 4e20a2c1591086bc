/* SPDX-License-Identifier: Apache-2.0 */
#include "tests.h"

static bool nothing_written(void) { return sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0; }

static void blank_drive_is_formatted(void) {
    sim_new(2, 2, 80, 8, 2100);
    mounted();
    CHECK(drive.ftl.report.formatted && sim.generation == 1 && sim.drive_id == 77);
    for (uint32_t l = 0; l < sim.g.lbas; l++) CHECK(hal_map()[l] == FTL_WORD_NONE);
}

static void every_mount_starts_a_new_generation(void) {
    sim_new(1, 1, 40, 8, 64);
    mounted();
    for (uint32_t g = 2; g < 40; g++) {
        remounted();
        CHECK(sim.generation == g && !drive.ftl.report.formatted && drive.ftl.report.dropped == 0);
        drive_start();
    }
}

static void unchanged_map_is_not_written_again(void) {
    sim_new(2, 2, 80, 8, 2100);
    mounted();
    CHECK(drive_write(&(uint32_t){drive_lpn(3)}, 1, true));
    drive_flush();
    remounted();
    CHECK(sim.programs[FTL_KIND_MAP] == 1 && sim.programs[FTL_KIND_DIRECTORY] == 1);
    drive_start();
    uint32_t v = drive_value(drive_lpn(3));
    for (int i = 0; i < 5; i++) {
        remounted();
        CHECK(sim.programs[FTL_KIND_MAP] == 0 && sim.programs[FTL_KIND_ROOT] == 1);
        drive_start();
        CHECK(v != NOTHING && drive_value(drive_lpn(3)) == v);
    }
}

static void another_geometry_is_refused(void) {
    sim_new(2, 2, 80, 8, 2100);
    mounted();
    drive_cut_dropping_all();
    sim.g.lbas = 2000;
    ftl_geometry_init(&sim.g);
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_GEOMETRY && nothing_written() && !sim.enabled);
}

static void another_format_is_refused(void) {
    for (uint32_t older = 0; older < 2; older++) {
        sim_new(1, 1, 40, 8, 64);
        mounted();
        drive_cut_dropping_all();
        sim_pages[0].words[FTL_ROOT_VERSION_WORD] = older ? FTL_ROOT_VERSION - 1 : 99;
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_VERSION && nothing_written() && !sim.enabled);
    }
}

static void corrupt_anchors_are_refused(void) {
    sim_new(2, 2, 80, 8, 2100);
    mounted();
    remounted();
    drive_cut_dropping_all();
    for (uint32_t a = 0; a < 2; a++) sim_pages[ftl_first_ppn(&sim.g, ftl_anchor(&sim.g, a))].state = SIM_TORN;
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && nothing_written() && !sim.enabled);
}

static void one_corrupt_root_on_a_drive_with_data_is_refused(void) {
    sim_new(1, 1, 40, 8, 64);
    mounted();
    CHECK(drive_write(&(uint32_t){5}, 1, true));
    drive_flush();
    drive_cut_dropping_all();
    sim_pages[0].state = SIM_TORN;
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && nothing_written() && !sim.enabled);
}

static void foreign_pages_in_an_anchor_are_refused(void) {
    for (uint32_t page = 0; page < 4; page++) {
        sim_new(1, 1, 40, 8, 64);
        sim_program(page, page < 2 ? FTL_KIND_ROOT : FTL_KIND_DATA, 0, 5); /* whole, but without the magic */
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && nothing_written());
    }
}

static void unreadable_map_page_is_refused(void) {
    sim_new(1, 1, 40, 8, 64);
    mounted();
    CHECK(drive_write(&(uint32_t){6}, 1, true));
    drive_flush();
    remounted();
    drive_cut_dropping_all();
    for (uint32_t p = 0; p < 40 * 8; p++)
        if (sim_pages[p].state == SIM_WHOLE && sim_pages[p].kind == FTL_KIND_MAP) sim_pages[p].state = SIM_TORN;
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_MAP && nothing_written() && !sim.enabled);
}

static void failing_erases_and_programs_of_a_mount_go_elsewhere(void) {
    for (uint32_t n = 1; n < 8; n++)
        for (uint32_t erase = 0; erase < 2; erase++) {
            sim_new(2, 2, 80, 8, 2100);
            mounted();
            for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
            drive_flush();
            drive_cut_dropping_all();
            *(erase ? &sim.fail_erase_at : &sim.fail_program_at) = n;
            int error = sim_mount(&drive.ftl);
            sim.fail_erase_at = sim.fail_program_at = 0;
            CHECK(error == FTL_OK && (!erase || drive.ftl.report.blocks_bad == sim.failed_erases));
            drive_judge();
        }
}

const struct test mount_tests[] = {
    {"a blank drive is formatted", blank_drive_is_formatted},
    {"every mount starts a new generation", every_mount_starts_a_new_generation},
    {"an unchanged map is not written again", unchanged_map_is_not_written_again},
    {"a root of another geometry is refused and nothing is touched", another_geometry_is_refused},
    {"a root of another format is refused and nothing is touched", another_format_is_refused},
    {"corrupt anchors are refused and nothing is touched", corrupt_anchors_are_refused},
    {"one corrupt root on a drive with data is refused and nothing is touched", one_corrupt_root_on_a_drive_with_data_is_refused},
    {"foreign pages in an anchor are refused and nothing is touched", foreign_pages_in_an_anchor_are_refused},
    {"an unreadable map page is refused and nothing is touched", unreadable_map_page_is_refused},
    {"failing erases and programs of a mount go elsewhere", failing_erases_and_programs_of_a_mount_go_elsewhere},
    {0},
};
