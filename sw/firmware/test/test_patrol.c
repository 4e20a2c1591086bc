/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that nobody reads: which are looked at, when, and what becomes of those with many corrected bits. */
#include "tests.h"

#define SEEN 256u

static uint32_t seen[SEEN], seen_n, weak;

static uint32_t ppn_of(uint32_t i) { return FTL_WORD_VALUE(hal_map()[drive_lpn(i)]); }

static void look(uint32_t ppn) {
    seen[seen_n++ % SEEN] = ppn;
    if (ppn == weak) drive_weak(ppn);
}

/* LPNs 0 to 5 on NAND, the firmware at rest; nothing is looked at yet. */
static void six_pages(void) {
    sim_new(1, 2, 100, 8, 700);
    mounted();
    for (uint32_t i = 0; i < 6; i++) write_one(i);
    for (uint32_t i = 0; i < 200; i++) drive_supply(1);
    sim.on_verify = look;
    seen_n = 0;
    weak = 0xffffffffu;
}

/* From now on, a page every so many clocks; each round of the firmware takes 10. */
static void every(uint32_t clocks) {
    drive.ftl.geometry.patrol_clocks = clocks;
    sim.clocks_per_ask = 10;
}

static void pages_of_the_map_are_looked_at_in_turn_and_no_others(void) {
    six_pages();
    CHECK(drive_trim(drive_lpn(4)));
    write_one(2);
    CHECK(drive_tx_write(3, drive_lpn(5))); /* a chain */
    drive_finish_data();
    CHECK(FTL_WORD_KIND(hal_map()[drive_lpn(5)]) == FTL_WORD_KIND_VER);
    every(1);
    uint32_t before = sim.count[HAL_VERIFY];
    drive_supply(200);
    CHECK(seen_n > 8 && sim.count[HAL_VERIFY] - before == seen_n);
    static const uint32_t live[4] = {0, 1, 2, 3};
    for (uint32_t i = 0; i < 8; i++) CHECK(seen[i] == ppn_of(live[i % 4]));
}

static void weak_page_that_nobody_reads_moves_once(void) {
    six_pages();
    uint32_t old = weak = ppn_of(3);
    every(1);
    drive_supply(400);
    quiet();
    CHECK(drive.moved == 1 && ppn_of(3) != old && sim.programs[FTL_KIND_DATA] == 1);
    remounted();
    drive_judge();
    CHECK(ppn_of(3) != old && drive_value(drive_lpn(3)) != NOTHING);
}

static void page_that_cannot_be_read_stays_and_the_next_ones_are_looked_at(void) {
    six_pages();
    uint32_t lost = ppn_of(1), next = ppn_of(2);
    sim_pages[lost].state = SIM_TORN;
    every(1);
    drive_supply(200);
    bool found = false;
    for (uint32_t i = 0; i < seen_n && i < SEEN; i++) {
        CHECK(seen[i] != lost);
        found = found || seen[i] == next;
    }
    CHECK(found && ppn_of(1) == lost && drive.moved == 0);
}

static void pages_are_looked_at_as_often_as_the_setting_says(void) {
    for (uint32_t clocks = 50; clocks < 2000; clocks += 650) {
        six_pages();
        every(clocks);
        uint32_t begin = sim.clocks;
        drive_supply(3000);
        uint32_t passed = sim.clocks - begin, most = passed / clocks + 1;
        CHECK(seen_n > 3 && seen_n <= most);
    }
    six_pages();
    every(0);
    drive_supply(500);
    CHECK(seen_n == 0 && sim.count[HAL_VERIFY] == 0);
}

static void nothing_is_looked_at_while_anything_else_is_to_be_done(void) {
    six_pages();
    every(1);
    sim.busy = true;
    drive_supply(300);
    CHECK(seen_n == 0);
    sim.busy = false;
    drive.retire.refresh.pages = 1; /* a page that waits for the log */
    drive.retire.refresh.page[0].ppn = ppn_of(0);
    drive.retire.refresh.page[0].head = hal_log_head() + 1;
    drive_supply(300);
    CHECK(seen_n == 0);
    drive.retire.refresh.pages = 0;
    drive_supply(300);
    CHECK(seen_n > 5);
}

static void empty_map_is_walked_through_slowly(void) {
    sim_new(1, 2, 100, 8, 700);
    mounted();
    sim.on_verify = look;
    seen_n = 0;
    for (uint32_t i = 0; i < 200; i++) drive_supply(1);
    every(1000);
    uint32_t begin = sim.clocks;
    drive.patrol.last = begin;
    drive_supply(250); /* 2,500 clocks: two looks at no more than so many LPNs each */
    CHECK(seen_n == 0 && drive.patrol.lpn == 2 * FTL_PATROL_LPNS);
}

const struct test patrol_tests[] = {
    {"the pages that the map names are looked at in turn, and no others",
     pages_of_the_map_are_looked_at_in_turn_and_no_others},
    {"a weak page that nobody reads moves, once", weak_page_that_nobody_reads_moves_once},
    {"a page that cannot be read stays, and the next ones are looked at",
     page_that_cannot_be_read_stays_and_the_next_ones_are_looked_at},
    {"pages are looked at as often as the setting says, or never", pages_are_looked_at_as_often_as_the_setting_says},
    {"nothing is looked at while anything else is to be done", nothing_is_looked_at_while_anything_else_is_to_be_done},
    {"an empty map is walked through slowly", empty_map_is_walked_through_slowly},
    {0},
};
