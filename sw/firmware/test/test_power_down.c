/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints by command, orderly power-downs, and how many power cuts there were. */
#include "boot_report.h"
#include "drive_hw.h"
#include "ftl_blocks.h"
#include "tests.h"
#include "traffic.h"

enum ask { CHECKPOINT = 0, POWER_OFF = 0x100 };

static void ask(enum ask what) { sim.asked = ((sim.asked + 1u) & 0xffu) | (uint32_t)what; }

/* Rounds until it has ended; whether it is done. */
static bool answered(void) {
    const struct ftl_checkpoint *c = &drive.checkpoint;
    for (uint32_t n = 0; c->asked || c->ask != sim.asked; n++) {
        CHECK(n < 4 * FTL_ASK_ROUNDS);
        drive_supply(1);
        (void)drive_finish_one();
    }
    drive_supply(32);
    CHECK(sim.health[FTL_HEALTH_ASKED_CHECKPOINT] == c->answer && (c->answer & 0xffu) == (sim.asked & 0xffu));
    return (c->answer & FTL_ASK_FAILED) == 0;
}

bool power_down(void) {
    drive_settle();
    ask(POWER_OFF);
    return answered();
}

void checkpoint_asked(void) {
    uint32_t done = drive.checkpoint.done;
    drive_settle();
    ask(CHECKPOINT);
    CHECK(answered() && drive.checkpoint.done > done);
}

/* Power is off with nothing under way, and comes back. */
static void up_again(void) {
    CHECK(hw.datas == 0 && hw.flights == 0);
    sim_power_on();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

static bool nothing_replayed(void) {
    const struct ftl_report *r = &drive.ftl.report;
    return r->orderly && r->log_pages == 0 && r->entries == 0;
}

static void nothing_is_replayed_after_it(void) {
    uint32_t full = 0;
    for (uint32_t seed = 1; seed <= 60; seed++) {
        sim_seed(test_seed * 1000 + seed);
        any_geometry();
        if (seed % 3 == 0) with_faults(), sim.fail_programs = sim.fail_erases = 4;
        if (sim_mount(&drive.ftl) != FTL_OK) continue; /* too many bad blocks from the factory */
        drive_start();
        for (uint32_t round = 0; round < 4; round++) {
            history(round == 2 ? 0 : sim_random(300));
            end_transactions();
            bool done = power_down();
            if (!done) full++;
            if (done && round == 1) CHECK(power_down()); /* once more */
            up_again();
            if (done) CHECK(nothing_replayed());
            CHECK(drive.ftl.health.cuts == 0 || full != 0);
            drive_start();
        }
    }
    CHECK(full < 8);
}

/* Prepared and open ones keep the log; that is no power cut. */
static void transactions_that_stay_open_are_replayed_after_it(void) {
    for (uint32_t prepared = 0; prepared < 2; prepared++) {
        sim_new(2, 1, 64, 8, 64);
        mounted();
        write_one(1);
        CHECK(drive_tx_write(3, drive_lpn(2)));
        if (prepared) CHECK(drive_prepare(3));
        for (uint32_t i = 0; i < 40; i++) write_one(3 + i % 3);
        CHECK(power_down());
        up_again();
        CHECK(drive.ftl.report.orderly && drive.ftl.report.log_pages > 0 && drive.ftl.health.cuts == 0);
        CHECK(drive.kept == prepared);
        drive_start();
        if (prepared) CHECK(drive_commit(3));
        CHECK(power_down());
        up_again();
        CHECK(nothing_replayed());
    }
}

/* Pages of a victim are on their way when power is to go off. */
static void nothing_moves_after_it(void) {
    for (uint32_t seed = 1; seed < 12; seed++) {
        sim_seed(test_seed * 1000 + seed);
        sim_new(1, 2, 64, 8, 64);
        mounted();
        for (uint32_t i = 0; i < 60; i++) write_one(i % DRIVE_LPNS);
        sim.no_collect = true; /* the block stays a victim of ours */
        uint32_t block = FTL_WORD_VALUE(hal_map()[drive_lpn(0)]) >> sim.g.page_bits;
        ftl_blocks_close(&drive.ftl, block);
        CHECK(ftl_retire_collect(&drive.supply, &drive.retire, block, false, 0));
        drive_supply(seed * 3);
        sim.no_collect = false;
        CHECK(power_down());
        uint64_t head = hw.head;
        uint32_t programs = sim.count[HAL_PROGRAM], erases = sim.count[HAL_ERASE], verified = sim.count[HAL_VERIFY];
        sim.clocks_per_ask = 1;
        sim.g.patrol_clocks = drive.ftl.geometry.patrol_clocks = 1;
        drive_supply(300);
        CHECK(hw.head == head && sim.count[HAL_PROGRAM] == programs && sim.count[HAL_ERASE] == erases &&
              sim.count[HAL_VERIFY] == verified);
        up_again();
        CHECK(nothing_replayed());
    }
}

static void a_host_that_goes_on_finds_a_drive_that_does(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < 20; i++) write_one(i % 3);
        CHECK(power_down());
        uint32_t released = drive.collect.released;
        for (uint32_t i = 0; i < (round == 0 ? 3 : 900); i++) write_one(i % 3);
        CHECK(round == 0 || drive.collect.released > released);
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
        CHECK(!drive.ftl.report.orderly && drive.ftl.report.log_pages > 0 && drive.ftl.health.cuts == round + 1);
        drive_start();
    }
    CHECK(power_down()); /* and what is written while it goes down stays */
    ask(POWER_OFF);
    for (uint32_t n = 0; drive.checkpoint.state != FTL_CHECKPOINT_MAP; n++) {
        CHECK(n < 100);
        drive_supply(1);
    }
    write_one(5);
    CHECK(answered());
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
    CHECK(!drive.ftl.report.orderly && drive.ftl.report.log_pages > 0);
}

/* Power is to go off while the drive has no pages for another write, and stays on: the write gets its pages. */
static void a_write_that_finds_no_pages_after_it_gets_them(void) {
    uint32_t without = 0, lpns[DRIVE_LPNS];
    for (uint32_t seed = 1; seed < 12; seed++) {
        sim_seed(test_seed * 1000 + seed);
        sim_new(1, 1, 64, 8, 64);
        mounted();
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) lpns[i] = drive_lpn(i);
        CHECK(drive_write(lpns, DRIVE_LPNS, true));
        drive_settle();
        CHECK(drive_read_begins(0, lpns[0])); /* so no block comes back */
        for (uint32_t n = DRIVE_LPNS; drive_write(lpns, n, true) || n == DRIVE_LPNS;) {
            if (drive_pages_left() < DRIVE_LPNS) n = 1;
            drive_finish_data();
            if (drive_can_close()) drive_close();
            drive_finish_log();
        }
        drive_read_ends(0);
        ask(POWER_OFF);
        if (!answered() || drive_pages_left() >= DRIVE_LPNS) continue;
        uint64_t head = hw.head;
        drive_supply(2 * FTL_WAIT_ROUNDS);
        CHECK(hw.head == head && drive_pages_left() < DRIVE_LPNS); /* nobody waits yet */
        sim.busy = true;
        for (uint32_t n = 0; !drive_write(lpns, DRIVE_LPNS, true); n++) {
            CHECK(n < 3000);
            (void)drive_finish_one();
        }
        sim.busy = false;
        without++;
    }
    CHECK(without != 0);
}

/* A write is under way when the root that says so is written. */
static void a_write_beside_it_is_a_cut(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    CHECK(drive_write(&(uint32_t){drive_lpn(5)}, 1, true));
    drive_finish_data();
    drive_close();
    drive_finish_log();
    CHECK(!hal_log_dirty()); /* no note is needed */
    ask(POWER_OFF);
    for (uint32_t n = 0; drive.checkpoint.state != FTL_CHECKPOINT_SETTLE; n++) {
        CHECK(n < 200);
        drive_supply(1);
    }
    drive_append((struct ftl_entry){.kind = FTL_NOTE, .n = 1}); /* drive_write() would let firmware run */
    for (uint32_t n = 0; drive.checkpoint.asked; n++) {
        CHECK(n < 200);
        drive_supply(1);
    }
    CHECK(drive.ftl.old_root.sequence == 2);
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
    CHECK(!drive.ftl.report.orderly && drive.ftl.report.log_pages <= 2); /* firmware may have wanted a note */
}

/* One log page that was begun and cannot be read is a cut. */
static void a_page_that_was_begun_after_it_is_a_cut(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    write_one(0);
    CHECK(power_down());
    sim_tear(drive_next_log_ppn(), FTL_KIND_LOG, hw.pages, 0);
    sim_pages[drive_next_log_ppn()].state = SIM_TORN;
    sim_power_on();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    CHECK(!drive.ftl.report.orderly && drive.ftl.health.cuts == 1);
}

/* It is whole, or it was a cut. */
static void a_power_down_that_is_cut_loses_nothing(void) {
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++)
        for (uint32_t luck = 0; luck < 3; luck++) {
            sim_seed(test_seed * 1000 + luck);
            any_geometry();
            mounted();
            history(150);
            end_transactions();
            drive_settle();
            ask(POWER_OFF);
            ended = !drive_supply_cut(600, cut);
            if (ended) drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            CHECK(drive.ftl.health.cuts == !drive.ftl.report.orderly);
            if (ended) CHECK(nothing_replayed());
        }
}

/* Cuts are counted from the format on, and mounts that are cut themselves are not counted twice. */
static void power_cuts_are_counted(void) {
    sim_new(1, 2, 64, 8, 64);
    mounted();
    CHECK(drive.ftl.health.cuts == 0);
    uint32_t cuts = 0;
    for (uint32_t n = 0; n < 8; n++) {
        for (uint32_t i = 0; i < n; i++) write_one(i);
        if (n % 3 == 2) {
            CHECK(power_down());
            up_again();
        } else {
            drive_cut();
            cuts++;
            for (sim.cut_at = 5; n == 3 && sim.cut_at < 40; sim.cut_at += 7)
                if (sim_mount(&drive.ftl) != -1) drive_cut_dropping_all(), cuts++;
            sim.cut_at = 0;
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
        }
        CHECK(drive.ftl.health.cuts == cuts && drive.ftl.report.orderly == (n % 3 == 2));
        drive_start();
        ftl_health_begin(&drive.ftl);
        CHECK(sim.health[FTL_HEALTH_POWER_CUTS] == cuts);
        boot_report_health(&drive.ftl.health, drive.ftl.report.orderly);
        CHECK(says(n % 3 == 2 ? " power cuts\n"
                   : n == 0   ? "otx: 1 power cut, the last one before this start\n"
                              : " power cuts, the last one before this start\n"));
    }
    CHECK(cuts >= 5);
    CHECK(power_down()); /* nothing was logged since the mount; */
    up_again();
    CHECK(nothing_replayed());
    drive_start();
    drive_cut(); /* nor now */
    CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.health.cuts == cuts + 1);
}

static void a_checkpoint_comes_when_it_is_asked_for(void) {
    for (uint32_t seed = 1; seed < 20; seed++) {
        sim_seed(test_seed * 1000 + seed);
        any_geometry();
        mounted();
        history(200);
        end_transactions();
        if (seed % 2) drive_settle();
        uint32_t done = drive.checkpoint.done, page = drive.checkpoint.last;
        uint64_t head = hal_log_head();
        ask(CHECKPOINT);
        CHECK(answered() && drive.checkpoint.done >= done + (head != 0));
        CHECK(drive.ftl.old_root.map_first >= head && (head == 0 || drive.checkpoint.last > page));
        ask(CHECKPOINT); /* nothing was logged since but notes */
        CHECK(answered());
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
        CHECK(!drive.ftl.report.orderly && drive.ftl.report.log_pages <= 4);
    }
}

/* Of a transaction that stays open the log is kept. */
static void a_checkpoint_beside_an_open_transaction_is_the_best_there_is(void) {
    sim_new(1, 1, 72, 8, 64);
    sim.g.checkpoint_pages = 1000; /* none comes by itself */
    mounted();
    CHECK(drive_tx_write(3, drive_lpn(2)));
    write_one(1);
    ask(CHECKPOINT);
    CHECK(!answered()); /* no start is later */
    CHECK(drive_commit(3));
    drive_settle();
    for (uint32_t i = 0; i < 20; i++) write_one(1);
    CHECK(drive_tx_write(3, drive_lpn(2)));
    uint64_t first = hw.head;
    for (uint32_t i = 0; i < 20; i++) write_one(1);
    ask(CHECKPOINT);
    CHECK(answered() && drive.ftl.old_root.map_first > 0 && drive.ftl.old_root.map_first <= first);
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* A host that writes on does not keep it for ever. */
static void one_whose_start_does_not_come_begins_without_it(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    write_one(1);
    CHECK(drive_write(&(uint32_t){drive_lpn(5)}, 1, true));
    drive_hold(hw.head - 1);
    ask(POWER_OFF);
    for (uint32_t n = 0; n < FTL_ASK_ROUNDS + 10; n++) {
        drive_supply(1);
        (void)drive_finish_one();
    }
    CHECK(drive.checkpoint.state != FTL_CHECKPOINT_NONE && drive.checkpoint.asked);
    drive_release(hw.head - 1);
    CHECK(answered());
}

static void it_is_said_when_it_cannot_be_done(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    write_one(1);
    sim.memory_errors = 1;
    CHECK(!power_down());
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK && !drive.ftl.report.orderly);
    drive_judge();
}

const struct test power_down_tests[] = {
    {"power-down: nothing is replayed after it", nothing_is_replayed_after_it},
    {"power-down: transactions that stay open are replayed after it",
     transactions_that_stay_open_are_replayed_after_it},
    {"power-down: nothing moves after it", nothing_moves_after_it},
    {"power-down: a host that goes on finds a drive that does", a_host_that_goes_on_finds_a_drive_that_does},
    {"power-down: a write that finds no pages after it gets them", a_write_that_finds_no_pages_after_it_gets_them},
    {"power-down: a write beside it is a cut", a_write_beside_it_is_a_cut},
    {"power-down: a page that was begun after it is a cut", a_page_that_was_begun_after_it_is_a_cut},
    {"power-down: one that is cut loses nothing", a_power_down_that_is_cut_loses_nothing},
    {"power-down: power cuts are counted", power_cuts_are_counted},
    {"power-down: a checkpoint comes when it is asked for", a_checkpoint_comes_when_it_is_asked_for},
    {"power-down: a checkpoint beside an open transaction is the best there is",
     a_checkpoint_beside_an_open_transaction_is_the_best_there_is},
    {"power-down: one whose start does not come begins without it", one_whose_start_does_not_come_begins_without_it},
    {"power-down: it is said when it cannot be done", it_is_said_when_it_cannot_be_done},
    {0},
};
