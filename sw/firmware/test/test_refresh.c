/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that the host has read with many corrected bits: which move, when, and which stay. */
#include "ftl_blocks.h"
#include "tests.h"

static uint32_t ppn_of(uint32_t i) { return FTL_WORD_VALUE(hal_map()[drive_lpn(i)]); }

/* LPNs 0 to 5 on NAND, the firmware at rest. */
static void six_pages(void) {
    sim_new(1, 1, 84, 8, 64);
    mounted();
    for (uint32_t i = 0; i < 6; i++) write_one(i);
    for (uint32_t i = 0; i < 200; i++) drive_supply(1);
    CHECK(ftl_supply_plenty(&drive.ftl) && ftl_io_empty(&drive.ftl.io) && sim.programs[FTL_KIND_DATA] == 0);
}

static void weak_page_moves_and_only_that(void) {
    uint32_t old[6];
    six_pages();
    for (uint32_t i = 0; i < 6; i++) old[i] = ppn_of(i);
    drive_weak(old[2]);
    drive_weak(old[4]);
    quiet();
    CHECK(drive.moved == 2 && sim.programs[FTL_KIND_DATA] == 2);
    uint32_t new[2] = {ppn_of(2), ppn_of(4)};
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 6; i++) CHECK((ppn_of(i) == old[i]) == (i != 2 && i != 4));
        CHECK(ppn_of(2) == new[0] && ppn_of(4) == new[1]);
        remounted();
        drive_judge();
        for (uint32_t i = 0; i < 6; i++) CHECK(drive_value(drive_lpn(i)) != NOTHING);
        CHECK(drive.ftl.report.lost.dropped == 0 && drive.ftl.report.blocks_bad == 0);
    }
}

static void page_of_another_generation_moves(void) {
    six_pages();
    remounted();
    drive_start();
    uint32_t old = ppn_of(3);
    drive_weak(old);
    quiet();
    CHECK(drive.moved == 1 && ppn_of(3) != old);
    remounted();
    drive_judge();
    CHECK(ppn_of(3) != old && drive_value(drive_lpn(3)) != NOTHING);
}

static void page_that_was_overwritten_stays(void) {
    six_pages();
    uint32_t old[2] = {ppn_of(2), ppn_of(5)};
    write_one(2);
    CHECK(drive_trim(drive_lpn(5)));
    drive_settle();
    drive_weak(old[0]);
    drive_weak(old[1]);
    quiet();
    CHECK(drive.moved == 0 && sim.programs[FTL_KIND_DATA] == 0);
}

static void page_reported_often_moves_once_and_again_only_from_its_new_place(void) {
    six_pages();
    sim.no_collect = true;
    uint32_t old = ppn_of(2);
    for (uint32_t i = 0; i < 200; i++) {
        drive_weak(old);
        drive_supply(1);
    }
    quiet();
    CHECK(drive.moved == 1 && sim.programs[FTL_KIND_DATA] == 1 && ppn_of(2) != old);
    for (uint32_t n = 0; n < 20; n++) { /* also over the end of the block */
        drive_weak(ppn_of(2));
        quiet();
        CHECK(drive.moved == 2 + n && sim.programs[FTL_KIND_DATA] == 2 + n);
    }
    remounted();
    drive_judge();
}

static void more_reports_than_fit_are_forgotten(void) {
    six_pages();
    struct ftl_refresh list = {0};
    for (uint32_t i = 0; i < 3 * FTL_REFRESH_PAGES; i++) {
        drive_weak(100 + i / 2);
        ftl_refresh_take(&drive.ftl, &list);
    }
    CHECK(list.pages == FTL_REFRESH_PAGES && list.page[FTL_REFRESH_PAGES - 1].ppn == 100 + FTL_REFRESH_PAGES - 1);
    drive_weak(sim.g.dies * sim.g.blocks * sim.g.pages);
    list.pages = 0;
    ftl_refresh_take(&drive.ftl, &list);
    CHECK(list.pages == 0); /* no such page */
}

static void page_under_a_chain_stays_until_it_is_reported_again(void) {
    six_pages();
    uint32_t old = ppn_of(2);
    CHECK(drive_tx_write(3, drive_lpn(2)));
    drive_weak(old);
    drive_settle();
    quiet();
    CHECK(drive.moved == 0 && sim.programs[FTL_KIND_DATA] == 0);
    drive_abort(3);
    drive_settle();
    drive_weak(old);
    quiet();
    CHECK(drive.moved == 1 && ppn_of(2) != old);
}

static void drive_near_full_keeps_its_blocks(void) {
    six_pages();
    sim.no_collect = true;
    for (uint32_t n = 0; n < 2000 && ftl_supply_plenty(&drive.ftl); n++) {
        (void)drive_write(&(uint32_t){drive_lpn(n % DRIVE_LPNS)}, 1, true);
        drive_supply(20);
        if (n % 8 == 7) drive_settle();
    }
    drive_settle();
    drive_supply(200);
    uint32_t total = drive.ftl.blocks.total, reads = sim.count[HAL_READ_OOB];
    CHECK(!sim.full && total > ftl_supply_kept(&drive.ftl));
    for (uint32_t n = 0; n < 50; n++) {
        drive_weak(ppn_of(n % 6));
        drive_supply(10);
    }
    quiet();
    CHECK(drive.moved == 0 && drive.ftl.blocks.total == total && sim.count[HAL_READ_OOB] == reads);
}

static void bad_blocks_go_first(void) {
    six_pages();
    for (uint32_t i = 6; i < DRIVE_LPNS; i++) write_one(i); /* in another block */
    uint32_t weak = ppn_of(0), block = ppn_of(9) >> sim.g.page_bits;
    CHECK(weak >> sim.g.page_bits != block);
    sim.fail_next[FTL_KIND_DATA] = 1;
    CHECK(drive_write(&(uint32_t){drive_lpn(1)}, 1, true));
    uint64_t held = hal_log_head() - 1;
    drive_weak(weak);
    drive_hold(held);
    drive_supply(100);
    CHECK(drive.moved == 0);
    drive_release(held);
    while (ppn_of(0) == weak) {
        drive_supply(1);
        if (drive_can_close()) drive_close();
        (void)drive_finish_one();
        if (ppn_of(0) == weak) continue;
        for (uint32_t i = 1; i < DRIVE_LPNS; i++) CHECK(ppn_of(i) >> sim.g.page_bits != block);
    }
    quiet();
    remounted();
    drive_judge();
}

static void page_waits_until_what_was_logged_before_is_complete(void) {
    six_pages();
    CHECK(drive_write(&(uint32_t){drive_lpn(7)}, 1, true));
    uint64_t held = hal_log_head() - 1;
    drive_hold(held);
    drive_weak(ppn_of(2));
    drive_supply(200);
    CHECK(drive.moved == 0 && sim.programs[FTL_KIND_DATA] == 0 && drive.retire.refresh.pages == 1);
    drive_release(held);
    drive_settle();
    quiet();
    CHECK(drive.moved == 1);
}

static void page_that_cannot_be_read_is_tried_once(void) {
    for (uint32_t seed = 1; seed <= 20; seed++) {
        sim_seed(seed);
        six_pages();
        drive_weak(ppn_of(3));
        quiet();
        uint32_t old = ppn_of(2), reads = sim.count[HAL_READ];
        sim_pages[old].state = SIM_TORN;
        drive_weak(old);
        drive_supply(300);
        CHECK(drive.moved == 1 && ppn_of(2) == old && sim.programs[FTL_KIND_DATA] == 1 &&
              ftl_retire_idle(&drive.ftl, &drive.retire));
        CHECK(sim.count[HAL_READ] == reads + 1);
        sim_pages[old].state = SIM_WHOLE;
    }
}

static void page_whose_copy_fails_goes_to_another_block(void) {
    six_pages();
    drive_weak(ppn_of(1));
    quiet();
    CHECK(drive.moved == 1);
    uint32_t block = ppn_of(1) >> sim.g.page_bits;
    drive_weak(ppn_of(2));
    sim.fail_next[FTL_KIND_DATA] = 1;
    quiet();
    CHECK(drive.moved == 3 && ftl_blocks_is_bad(&drive.ftl, block) && ftl_blocks_count_bad(&drive.ftl) == 1);
    CHECK(ppn_of(1) >> sim.g.page_bits != block && ppn_of(2) >> sim.g.page_bits != block);
    remounted();
    drive_judge();
}

static void refresh_cut_at_every_operation_loses_nothing(void) {
    bool ended = false;
    uint32_t moved = 0;
    for (uint32_t cut = 1; !ended; cut++)
        for (uint32_t luck = 0; luck < 4; luck++) {
            sim_seed(luck);
            six_pages();
            for (uint32_t i = 0; i < 6; i++) drive_weak(ppn_of(i));
            sim_seed(cut * 8 + luck);
            ended = !drive_supply_cut(300, cut);
            moved += drive.moved;
            if (ended) drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            for (uint32_t i = 0; i < 6; i++) CHECK(drive_value(drive_lpn(i)) != NOTHING);
            CHECK(drive.ftl.report.lost.dropped == 0);
        }
    CHECK(moved > 20);
}

const struct test refresh_tests[] = {
    {"a page with many corrected bits moves, and only that", weak_page_moves_and_only_that},
    {"a page of another generation with many corrected bits moves", page_of_another_generation_moves},
    {"a page with many corrected bits that was overwritten stays", page_that_was_overwritten_stays},
    {"a page that is reported often moves once, and again only from its new place",
     page_reported_often_moves_once_and_again_only_from_its_new_place},
    {"more reports than fit are forgotten", more_reports_than_fit_are_forgotten},
    {"a page with many corrected bits under a chain stays until it is reported again",
     page_under_a_chain_stays_until_it_is_reported_again},
    {"a drive near full keeps its blocks for other things than many corrected bits", drive_near_full_keeps_its_blocks},
    {"bad blocks go before pages with many corrected bits", bad_blocks_go_first},
    {"a page with many corrected bits waits until what was logged before is complete",
     page_waits_until_what_was_logged_before_is_complete},
    {"a page with many corrected bits that cannot be read is tried once", page_that_cannot_be_read_is_tried_once},
    {"a page whose copy fails goes to another block", page_whose_copy_fails_goes_to_another_block},
    {"moves of pages with many corrected bits cut at every operation lose nothing",
     refresh_cut_at_every_operation_loses_nothing},
    {0},
};
