/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that fail while the drive runs: the places of the log, rescued pages, pages that move out of a failing
 * block. */
#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "tests.h"

static uint32_t block_of(uint32_t i) { return FTL_WORD_VALUE(hal_map()[drive_lpn(i)]) >> sim.g.page_bits; }

/* LPNs 0 to 5 in one block of the only die, 0 and 1 in another one since; the next page of that one block fails.
 * Returns the block. */
static uint32_t half_live_block(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    for (uint32_t i = 0; i < 6; i++) write_one(i);
    uint32_t block = block_of(0);
    CHECK(block_of(5) == block);
    sim.fail_next[FTL_KIND_DATA] = 1;
    CHECK(drive_write(&(uint32_t){drive_lpn(0)}, 1, true));
    drive_supply(1);
    return block;
}

static void live_pages_move_and_only_those(void) {
    uint32_t block = half_live_block();
    drive_settle();
    write_one(1);
    CHECK(block_of(0) != block && block_of(1) != block);
    quiet();
    /* one is written over when it may have been copied */
    CHECK(ftl_blocks_is_bad(&drive.ftl, block) && drive.moved >= 4 && drive.moved <= sim.programs[FTL_KIND_DATA] &&
          sim.programs[FTL_KIND_DATA] <= 5);
    for (uint32_t i = 0; i < 6; i++) CHECK(block_of(i) != block);
    for (uint32_t round = 0; round < 3; round++) {
        remounted();
        drive_judge();
        for (uint32_t i = 0; i < 6; i++) CHECK(drive_value(drive_lpn(i)) != NOTHING && block_of(i) != block);
        CHECK(ftl_blocks_is_bad(&drive.ftl, block) && drive.ftl.report.blocks_bad == 1 &&
              drive.ftl.report.lost.dropped == 0);
    }
    drive_start();
    drive_supply(400);
    CHECK(drive.moved == 0 && sim.programs[FTL_KIND_DATA] == 0); /* nothing is left to move */
}

static void page_that_cannot_be_read_stays(void) {
    uint32_t block = half_live_block(), ppn = FTL_WORD_VALUE(hal_map()[drive_lpn(3)]);
    sim_pages[ppn].state = SIM_TORN;
    drive_settle();
    quiet();
    CHECK(drive.moved == 4 && hal_map()[drive_lpn(3)] == FTL_WORD_NAND(ppn));
    for (uint32_t i = 0; i < 6; i++) CHECK((block_of(i) == block) == (i == 3));
    sim_pages[ppn].state = SIM_WHOLE;
    remounted();
    CHECK(hal_map()[drive_lpn(3)] == FTL_WORD_NAND(ppn)); /* the next mount tries again */
    drive_start();
    drive_supply(400);
    CHECK(drive.moved == 1 && block_of(3) != block);
}

static void move_waits_until_what_was_logged_before_is_complete(void) {
    (void)half_live_block();
    CHECK(drive_write(&(uint32_t){drive_lpn(7)}, 1, true));
    uint64_t held = hal_log_head() - 1;
    drive_hold(held);
    for (uint32_t i = 0; i < 200; i++) {
        drive_supply(2);
        if (drive_can_close()) drive_close();
        (void)drive_finish_one();
    }
    CHECK(drive.moved == 0 && drive.retire.jobs == 1 && !ftl_bbt_dirty(&drive.ftl));
    drive_release(held);
    drive_settle();
    quiet();
    CHECK(drive.moved >= 5);
}

static void base_under_an_open_transaction_moves(void) {
    for (uint32_t end = 0; end < 2; end++) {
        sim_new(1, 1, 52, 8, 64);
        mounted();
        write_one(2);
        uint32_t block = block_of(2), old = hal_map()[drive_lpn(2)];
        CHECK(drive_tx_write(3, drive_lpn(2)) && drive_tx_write(3, drive_lpn(4)));
        drive_settle();
        sim.fail_next[FTL_KIND_DATA] = 1;
        write_one(5);
        quiet();
        CHECK(drive.moved == 3); /* the base and two versions */
        if (end) drive_abort(3);
        else CHECK(drive_commit(3));
        drive_settle();
        CHECK(FTL_WORD_KIND(hal_map()[drive_lpn(2)]) == FTL_WORD_KIND_NAND && block_of(2) != block &&
              hal_map()[drive_lpn(2)] != old);
        remounted();
        drive_judge();
        CHECK((drive_value(drive_lpn(4)) != NOTHING) == !end && block_of(2) != block);
    }
}

static void block_that_fails_under_a_move_is_replaced(void) {
    uint32_t block = half_live_block();
    drive_settle();
    while (drive.moved < 2) drive_supply(1);
    sim.fail_next[FTL_KIND_DATA] = 1;
    quiet();
    CHECK(drive.moved >= 6 && ftl_blocks_count_bad(&drive.ftl) == 2); /* the two went on from there */
    for (uint32_t i = 0; i < 6; i++) CHECK(block_of(i) != block && !ftl_blocks_is_bad(&drive.ftl, block_of(i)));
    remounted();
    drive_judge();
    CHECK(drive.ftl.report.blocks_bad == 2);
}

static void moves_cut_at_every_operation_lose_nothing(void) {
    bool ended = false;
    uint32_t moved = 0;
    for (uint32_t cut = 1; !ended; cut++)
        for (uint32_t luck = 0; luck < 4; luck++) {
            sim_seed(luck);
            (void)half_live_block();
            drive_settle();
            sim_seed(cut * 8 + luck);
            ended = !drive_supply_cut(300, cut);
            moved += drive.moved;
            if (ended) drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            for (uint32_t i = 0; i < 6; i++) CHECK(drive_value(drive_lpn(i)) != NOTHING);
            CHECK(drive.ftl.report.lost.dropped == 0);
            drive_start();
            quiet();
            for (uint32_t i = 0; i < 6; i++) CHECK(!ftl_blocks_is_bad(&drive.ftl, block_of(i)));
        }
    CHECK(moved > 20);
}

static void live_pages_in_bad_blocks_move_after_a_mount(void) {
    sim_new(2, 1, 48, 8, 64);
    mounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
    for (uint32_t i = 0; i < 200 && !ftl_io_empty(&drive.ftl.io); i++) drive_supply(1);
    uint32_t block = block_of(3);
    CHECK(ftl_bbt_mark(&drive.ftl, block));
    ftl_bbt_write(&drive.ftl);
    remounted();
    CHECK(block_of(3) == block);
    drive_start();
    quiet();
    CHECK(drive.moved != 0);
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(block_of(i) != block);
}

static void map_in_a_bad_block_is_written_anew(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    write_one(3);
    sim.fail_next[FTL_KIND_DIRECTORY] = 1; /* behind the map page, in its block */
    remounted();
    CHECK(drive.ftl.report.blocks_bad == 1 && sim.programs[FTL_KIND_MAP] == 2);
    remounted();
    CHECK(sim.programs[FTL_KIND_MAP] == 2 && sim.programs[FTL_KIND_DIRECTORY] == 2 &&
          drive_value(drive_lpn(3)) != NOTHING);
    remounted();
    CHECK(sim.programs[FTL_KIND_MAP] == 0 && drive_value(drive_lpn(3)) != NOTHING);
}

/* MAP in a transaction, RELOCATE by the rescue, RELOCATE by a move: all below the watermark, so that no page is read
 * back. */
static void failed_page_of_a_transaction_is_found_through_its_moves(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    sim.fail_next[FTL_KIND_DATA] = 1;
    CHECK(drive_tx_write(3, drive_lpn(2)));
    drive_settle();
    CHECK(drive_commit(3));
    drive_settle();
    uint32_t rescued = block_of(2);
    sim.fail_next[FTL_KIND_DATA] = 1;
    write_one(5);
    quiet();
    write_one(6);
    CHECK(drive_trim(drive_lpn(7)));
    drive_settle();
    CHECK(block_of(2) != rescued && drive.moved != 0);
    remounted();
    drive_judge();
    CHECK(sim.count[HAL_VERIFY] == 2 && drive_value(drive_lpn(2)) != NOTHING && block_of(2) != rescued);
}

static void full_drive_gets_a_block_for_one_that_fails(void) {
    sim_new(1, 1, 52, 8, 64);
    sim.no_collect = true;
    mounted();
    for (uint32_t n = 0; n < 2000 && !sim.full; n++) {
        (void)drive_write(&(uint32_t){drive_lpn(n % DRIVE_LPNS)}, 1, true);
        drive_supply(20);
        if (n % 8 == 7) drive_settle();
    }
    drive_settle();
    uint32_t ppn = 0, total = drive.ftl.blocks.total;
    while (drive_write(&(uint32_t){drive_lpn(1)}, 1, true)) ppn++;
    drive_supply(50);
    CHECK(sim.full && ppn != 0 && drive.ftl.blocks.total == total && !drive_page(&ppn));
    sim.fail_next[FTL_KIND_DATA] = 1; /* and no page for it */
    drive_settle();
    CHECK(drive.full_taken_back == 1 && drive.ftl.blocks.total < total &&
          drive.ftl.blocks.total >= ftl_supply_kept(&drive.ftl));
    remounted();
    drive_judge();
}

/* Fails of the page at each place of its block and of the page behind it; copies that failed may read well. */
static void log_pages_are_found_at_their_places(void) {
    uint32_t further = 0;
    for (uint32_t at = 0; at < 9; at++)
        for (uint32_t n = 0; n < 32; n++) {
            uint32_t first = n % 4, second = n / 4 % 4;
            sim_seed(at * 100 + n);
            sim_new(1 + at % 2, 1, 60, 8, 64);
            mounted();
            for (uint32_t i = 0; i < at; i++) write_one(i);
            sim.fail_reads_well = n / 16 != 0;
            uint32_t ppn = drive_next_log_ppn();
            sim.fail_next[FTL_KIND_LOG] = first;
            write_one(0);
            for (uint32_t l = 1; l < sim.g.lanes; l++) write_one(6);
            sim.fail_next[FTL_KIND_LOG] = second;
            write_one(1);
            CHECK(sim.failed[FTL_KIND_LOG] == first + second);
            for (uint32_t i = 0; i < 9; i++) write_one(i);
            if (first != 0 && sim_pages[ppn].state != SIM_WHOLE) further++;
            remounted();
            drive_judge();
            CHECK(drive.ftl.report.lost.dropped == 0 && drive.ftl.report.entries >= at + 11);
        }
    CHECK(further > 50);
}

/* Of a page the first copy, which failed, reads well, and of the next one only the last, whose others look blank: as
 * far away as can be. */
static void log_page_at_the_last_of_its_places_is_found(void) {
    for (uint32_t at = 0; at < 9; at++) {
        sim_new(1, 1, 60, 8, 64);
        mounted();
        for (uint32_t i = 0; i < at; i++) write_one(i);
        sim.fail_reads_well = true;
        for (uint32_t i = 0; i < 2; i++) {
            sim.fail_next[FTL_KIND_LOG] = 3;
            write_one(i);
        }
        uint32_t good = drive_next_log_ppn() - 1, copies = 0;
        for (uint32_t ppn = 0; ppn < 60 * 8; ppn++) {
            struct sim_page *p = &sim_pages[ppn];
            if (p->state != SIM_WHOLE || p->kind != FTL_KIND_LOG || p->lpn != at + 1) continue;
            copies++;
            if (ppn != good) p->state = SIM_TORN_BLANK;
        }
        CHECK(copies == 5 && sim_pages[good].kind == FTL_KIND_LOG && sim_pages[good].lpn == at + 1);
        remounted();
        drive_judge();
        CHECK(drive.ftl.report.log_pages == at + 2 && drive.ftl.report.lost.log_pages == 0);
    }
}

static void log_that_fails_at_four_places_stops_and_loses_nothing(void) {
    for (uint32_t at = 0; at < 9; at++) {
        sim_new(1, 1, 60, 8, 64);
        mounted();
        for (uint32_t i = 0; i < at; i++) write_one(i);
        sim.fail_next[FTL_KIND_LOG] = 4;
        write_one(9);
        CHECK(sim.failed[FTL_KIND_LOG] == 4 && !drive_write(&(uint32_t){drive_lpn(1)}, 1, true));
        remounted();
        drive_judge();
        CHECK(drive.ftl.report.entries >= at);
    }
}

static void end_of_a_log_costs_eight_reads_at_most(void) {
    sim_new(1, 1, 60, 8, 64);
    mounted();
    for (uint32_t i = 0; i < 5; i++) write_one(i);
    remounted();
    CHECK(drive.ftl.report.log_pages == 5 && sim.count[HAL_READ] <= 5 + 2 + 8 + 2); /* ahead; and root, table */
}

const struct test retire_tests[] = {
    {"live pages of a failing block move, and only those", live_pages_move_and_only_those},
    {"a page that cannot be read stays where it is", page_that_cannot_be_read_stays},
    {"a move waits until what was logged before is complete", move_waits_until_what_was_logged_before_is_complete},
    {"the base under an open transaction moves", base_under_an_open_transaction_moves},
    {"a block that fails under a move is replaced", block_that_fails_under_a_move_is_replaced},
    {"moves cut at every operation lose nothing", moves_cut_at_every_operation_lose_nothing},
    {"live pages in bad blocks move after a mount", live_pages_in_bad_blocks_move_after_a_mount},
    {"a failed page of a transaction is found through its moves",
     failed_page_of_a_transaction_is_found_through_its_moves},
    {"a map in a bad block is written anew", map_in_a_bad_block_is_written_anew},
    {"a full drive gets a block for one that fails", full_drive_gets_a_block_for_one_that_fails},
    {"log pages are found at their places after failures", log_pages_are_found_at_their_places},
    {"a log page at the last of its places is found", log_page_at_the_last_of_its_places_is_found},
    {"a log that fails at four places stops and loses nothing", log_that_fails_at_four_places_stops_and_loses_nothing},
    {"the end of a log costs eight reads at most", end_of_a_log_costs_eight_reads_at_most},
    {0},
};
