/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection: blocks come back while the drive runs, and nothing is erased that is still needed. */
#include "drive_hw.h"
#include "ftl_blocks.h"
#include "tests.h"
#include "traffic.h"

/* Writes that find room; some are flushed. */
static uint32_t overwrite(uint32_t writes, uint32_t lpns) {
    uint32_t done = 0;
    for (uint32_t tries = 0; done < writes && tries < 20 * writes; tries++) {
        if (drive_write(&(uint32_t){drive_lpn(sim_random(lpns))}, 1, true)) done++;
        drive_supply(4);
        while (sim_random(3) != 0) (void)drive_finish_one();
        if (drive_can_close() && sim_random(16) == 0) drive_close();
        if (sim_random(40) == 0) drive_settle();
    }
    return done;
}

/* A transaction that is open, of txid 7, holds the log until it is full, and that is said. */
static void fill_log(uint32_t shape, uint32_t seed) {
    static const uint32_t shapes[][5] = {{1, 1, 64, 8, 64}, {2, 2, 40, 8, 64}, {4, 2, 24, 8, 64}};
    const uint32_t *s = shapes[shape];
    sim_seed(seed);
    sim_new(s[0], s[1], s[2], s[3], s[4]);
    mounted();
    CHECK(drive_tx_write(7, drive_lpn(9)));
    uint32_t i = 0;
    for (; sim.log_full == 0 || !log_is_short(); i++) {
        CHECK(i < 3000);
        if (i % 3 == 0 ? drive_write(&(uint32_t){drive_lpn(i % 5)}, 1, true) : drive_trim(drive_lpn(i % 5)))
            drive_settle();
        drive_supply(20);
    }
    CHECK(i > 20);
    for (uint32_t n = 0; n < 300; n++) drive_supply(1); /* nothing can free it */
    CHECK(sim.log_full != 0 && !drive_write(&(uint32_t){drive_lpn(2)}, 1, true));
}

/* The next mount may write to its reserve: no block of it has a page of this generation. */
static void reserve_is_not_of_this_session(void) {
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            const struct sim_page *page = &sim_pages[ftl_first_ppn(&sim.g, ftl_block_id(&sim.g, die, b))];
            if (ftl_blocks_new_word(&drive.ftl, die, b / 32) >> b % 32 & 1u)
                CHECK(page->state == SIM_BLANK || page->generation != sim.generation);
        }
}

/* When the transaction has ended, a checkpoint frees the log by itself, though notes and moves are kept out of what is
 * left of it. So many programs of a kind fail in that, or erases. */
static void full_log_comes_back(uint32_t kind, uint32_t programs, uint32_t erases, bool slow) {
    uint32_t waits = 0;
    for (uint32_t s = 0; s < 3; s++)
        for (uint32_t end = 0; end < 4; end++) {
            fill_log(s, 10 * s + end + 1);
            if (end == 2) { /* nothing else makes one due */
                drive.ftl.geometry.checkpoint_pages = 100000;
                drive.checkpoint.last = hw.pages - 1;
            }
            if (end == 1) { /* a page that moves waits for the log */
                uint32_t l = 0;
                while (l < 4 && FTL_WORD_KIND(hal_map()[drive_lpn(l)]) != FTL_WORD_KIND_NAND) l++;
                uint32_t word = hal_map()[drive_lpn(l)], block = FTL_WORD_VALUE(word) >> sim.g.page_bits;
                if (FTL_WORD_KIND(word) == FTL_WORD_KIND_NAND && hal_live(block) != 0)
                    CHECK(ftl_retire_collect(&drive.supply, &drive.retire, block, false, 0));
                drive_supply(100);
                waits += hw.move.waits;
            }
            if (end & 1) CHECK(drive_commit(7));
            else drive_abort(7);
            if (end != 0) drive_settle(); /* a COMMIT brings its page to NAND by itself */
            uint32_t done = drive.checkpoint.done;
            sim.fail_next[kind] = programs;
            if (erases != 0) sim.fail_erase_at = sim.count[HAL_ERASE] + erases;
            for (uint32_t n = 0; log_is_short() || sim.log_full != 0; n++) {
                CHECK(n < 8000);
                drive_supply(1);
                for (uint32_t k = slow ? sim_random(end + 2) : 1000; k > 0 && drive_finish_one(); k--) {}
            }
            CHECK(drive.checkpoint.done > done);
            drive_supply(200);
            CHECK(drive.ftl.blocks.borrowed == 0);
            reserve_is_unnamed();
            reserve_is_not_of_this_session();
            for (uint32_t n = 0; n < 40; n++) {
                while (!drive_write(&(uint32_t){drive_lpn(n % 5)}, 1, true)) drive_supply(20);
                drive_settle();
            }
            drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
        }
    CHECK(waits != 0);
}

static void full_log_comes_back_by_itself(void) {
    full_log_comes_back(FTL_KIND_MAP, 0, 0, false);
    full_log_comes_back(FTL_KIND_MAP, 0, 0, true);
}

static void full_log_comes_back_over_failing_blocks(void) {
    for (uint32_t n = 1; n <= FTL_BORROW; n++) {
        full_log_comes_back(FTL_KIND_MAP, n, 0, false);
        full_log_comes_back(FTL_KIND_DIRECTORY, n, 0, true);
        full_log_comes_back(FTL_KIND_MAP, 0, n, false);
    }
}

/* The host's CHECKPOINT asks for notes, too. */
static void notes_in_a_full_log_are_few(void) {
    fill_log(0, 1);
    drive_abort(7);
    sim.asked = 1;
    sim.log_rests = true;
    drive.supply.urgent_notes = FTL_URGENT_NOTES;
    drive_supply(100); /* hal_log_note() counts them */
    sim.log_rests = false;
    drive_settle();
    for (uint32_t n = 0; log_is_short() || sim.log_full != 0; n++) {
        CHECK(n < 4000);
        drive_supply(1);
        (void)drive_finish_one();
    }
}

/* Blocks of the mount reserve are in it then: the next mount has enough. */
static void full_log_with_failing_blocks_cut_at_every_operation(void) {
    for (uint32_t s = 0; s < 3; s++) {
        bool ended = false;
        for (uint32_t cut = 1; !ended; cut++) {
            fill_log(s, 100 + cut);
            CHECK(drive_commit(7));
            drive_settle();
            sim.fail_next[FTL_KIND_MAP] = cut % (FTL_BORROW + 1);
            ended = !drive_supply_cut(600, cut);
            if (ended) drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            drive_start();
            for (uint32_t n = 0; n < 12; n++) write_one(n % 5);
        }
    }
}

/* Without checkpoints the log would take the drive before that. */
static void drive_takes_many_times_what_it_holds(void) {
    static const uint32_t shapes[][5] = {{1, 1, 64, 8, 64}, {2, 2, 40, 8, 64}, {4, 2, 24, 8, 64}, {1, 1, 64, 32, 64}};
    for (uint32_t s = 0; s < 4; s++) {
        uint32_t released = 0, checkpoints = 0, longest = 0, total = 0;
        sim_new(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], shapes[s][4]);
        mounted();
        uint32_t pages = sim.g.dies * sim.g.blocks * sim.g.pages;
        for (uint32_t n = 0; n < 3; n++) {
            uint32_t writes = 2 * pages < 3000 ? 2 * pages : 3000; /* the model's log ends */
            CHECK(overwrite(writes, DRIVE_LPNS) == writes && !sim.full);
            total += writes;
            released += drive.collect.released;
            checkpoints += drive.checkpoint.done;
            drive_settle();
            drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            if (drive.ftl.report.log_pages > longest) longest = drive.ftl.report.log_pages;
            drive_start();
        }
        CHECK(released * sim.g.pages > total / 2 && checkpoints > 3 && longest < 3 * sim.g.checkpoint_pages);
    }
}

/* Long enough that blocks come back; cuts at any instant, also in what the firmware does. */
static void random_histories_collect_and_keep_the_contract(void) {
    uint32_t released = 0, moved = 0, cuts = 0, checkpoints = 0, downs = 0;
    for (unsigned long run = 0; run < test_runs / 32; run++) {
        sim_seed(test_seed * 7000003 + run);
        any_geometry();
        if (run % 2) {
            with_faults();
            sim.fail_programs = sim.fail_erases = 4; /* long histories: else they end for want of blocks */
        }
        if (run % 4 < 2) sim.g.checkpoint_pages = 3;
        mounted();
        for (uint32_t cut = 0; cut < 3; cut++) {
            for (uint32_t part = sim_random(12); part > 0; part--) {
                history(sim_random(200));
                end_transactions();
            }
            history(sim_random(400));
            reserve_is_unnamed();
            if (sim_random(2) && drive_supply_cut(80, 1 + sim_random(40))) cuts++;
            else if (sim_random(5) == 0 && power_down()) drive_cut_dropping_all(), downs++;
            else drive_cut();
            released += drive.collect.released;
            moved += drive.collect.moved_blocks;
            checkpoints += drive.checkpoint.done;
            while (sim_random(2)) { /* recovery is cut, too */
                sim.cut_at = 1 + sim_random(150);
                if (sim_mount(&drive.ftl) != -1) drive_cut_dropping_all();
            }
            sim.cut_at = 0;
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            drive_start();
        }
    }
    if (test_runs < 2000) return;
    CHECK(released > 1500 && moved > 450 && cuts > 20 && checkpoints > 450 && downs > 10);
}

/* Cut before each operation of a checkpoint, with transactions open, and with what is under way kept, torn or dropped.
 */
static void checkpoints_cut_at_every_operation_lose_nothing(void) {
    uint32_t checkpoints = 0, cuts = 0;
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++) {
        ended = true;
        for (uint32_t luck = 0; luck < 4; luck++) {
            sim_seed(luck + 1);
            sim_new(1 + luck % 2, 2, 120, 8, 1100);
            sim.g.checkpoint_pages = 4;
            mounted();
            history(120);
            /* those that stay open from here on begin late */
            end_transactions();
            drive.ftl.geometry.checkpoint_pages = 100000;
            drive_settle();
            for (uint32_t n = 0; n < 12; n++) write_one(n % DRIVE_LPNS);
            for (uint32_t t = 0; t < 3; t++) (void)drive_tx_write(t, drive_lpn(t));
            drive_finish_data();
            drive.ftl.geometry.checkpoint_pages = 1;
            uint32_t before = drive.checkpoint.done;
            sim_seed(cut * 8 + luck);
            bool over = !drive_supply_cut(400, cut);
            ended = ended && over;
            checkpoints += drive.checkpoint.done - before;
            cuts++;
            if (over) drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
        }
    }
    CHECK(cuts >= 32 && checkpoints >= 4);
}

static bool released(uint32_t block) { return !ftl_blocks_is_taken(&drive.ftl, block); }

static void everything(uint32_t rounds) {
    while (rounds-- > 0) {
        drive_supply(1);
        while (drive_finish_one()) {}
    }
}

/* A drive whose free blocks are few; the number of a closed block that holds LPN 0 and garbage. */
static uint32_t worn_block(void) {
    sim_new(1, 1, 64, 8, 64);
    sim.g.checkpoint_pages = 100000;
    mounted();
    sim.no_collect = true;
    write_one(0);
    uint32_t block = FTL_WORD_VALUE(hal_map()[drive_lpn(0)]) >> sim.g.page_bits;
    for (uint32_t n = 0; n < 2000 && !ftl_supply_low(&drive.ftl); n++) write_one(1 + n % 5);
    CHECK(ftl_blocks_is_data(&drive.ftl, block) && ftl_supply_low(&drive.ftl));
    sim.no_collect = false;
    return block;
}

/* Rule erase: what was logged before the ticket must be behind a durable watermark. */
static void ticket_waits_for_a_durable_watermark(void) {
    uint32_t block = worn_block();
    sim.no_collect = true;
    CHECK(drive_write(&(uint32_t){drive_lpn(0)}, 1, true));
    sim.no_collect = false;
    uint64_t held = hal_log_head() - 1;
    drive_hold(held); /* not complete: block 0 may be needed */
    everything(300);
    CHECK(!released(block) && drive.collect.released == 0);
    drive_release(held);
    everything(300);
    CHECK(drive.collect.released != 0);
}

static void set_all_aside(void) {
    for (uint32_t b = 0; b < sim.g.blocks; b++) ftl_blocks_set_aside(&drive.ftl, b);
}

/* Blocks of data give nothing, the log has some: a checkpoint is made before `full` is said. Its start is not old
 * enough for one by itself. */
static void checkpoint_comes_before_full(void) {
    (void)worn_block();
    for (uint32_t n = 0; drive.checkpoint.done == 0 || drive.checkpoint.state != FTL_CHECKPOINT_NONE; n++) {
        CHECK(n < 4000);
        everything(1);
    }
    set_all_aside();
    uint32_t done = drive.checkpoint.done, from = drive.checkpoint.last;
    struct hal_log_place now = {.page = from};
    for (uint32_t n = 0; now.page < from + sim.g.pages + 2; n++) {
        CHECK(n < 100 && drive_trim(drive_lpn(7)));
        drive_settle();
        hal_log_place(&now);
    }
    CHECK(drive.checkpoint.done == done && !sim.full);
    for (uint32_t n = 0; !sim.full && drive.checkpoint.done == done; n++) {
        CHECK(n < 2000);
        (void)drive_write(&(uint32_t){drive_lpn(1 + n % 5)}, 1, true);
        drive_finish_data();
        set_all_aside();
        drive_supply(4);
    }
    CHECK(drive.checkpoint.done == done + 1 && !sim.full);
    for (uint32_t none = 0; none < 2; none++) { /* one is possible, or under way; none is */
        drive.supply.starving = true;
        drive.supply.no_checkpoint = none;
        ftl_collect_step(&drive.ftl, &drive.supply, &drive.retire, &drive.collect);
        CHECK(drive.supply.hopeless == none);
    }
}

/* Nor a block whose ticket waits for a read only: another page of it may have gone out of use for a version that has no
 * place in the log. */
static void no_block_comes_back_when_the_log_has_stopped(void) {
    uint32_t block = worn_block();
    CHECK(drive_read_begins(0, drive_lpn(0)));
    write_one(0);
    everything(300);
    hw.stopped = true;
    drive_read_ends(0);
    everything(300);
    CHECK(!released(block));
}

/* A read that has found its page holds the block. */
static void ticket_waits_for_reads(void) {
    uint32_t block = worn_block();
    CHECK(drive_read_begins(0, drive_lpn(0)));
    write_one(0);
    everything(300);
    CHECK(!released(block));
    drive_read_ends(0);
    everything(300);
    CHECK(drive.collect.released > 1);
}

/* An idle drive gets its blocks back: notes bring the watermark up. */
static void an_idle_drive_collects(void) {
    (void)worn_block();
    uint64_t head = hal_log_head() + 1;
    write_one(0);
    everything(600);
    CHECK(!ftl_supply_low(&drive.ftl) && hal_log_head() > head && drive.collect.tickets == 0);
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* A page that cannot be read stays, and its block with it; the others go on. */
static void block_with_an_unreadable_page_is_set_aside(void) {
    uint32_t block = worn_block(), ppn = FTL_WORD_VALUE(hal_map()[drive_lpn(0)]);
    sim_pages[ppn].state = SIM_TORN;
    everything(600);
    CHECK(!released(block) && hal_map()[drive_lpn(0)] == FTL_WORD_NAND(ppn) && !ftl_supply_low(&drive.ftl));
}

/* A transaction that stays open keeps the log, and so the map's start, from its first entry on: it commits after a
 * checkpoint that began while it was open, and after a cut. */
static void an_open_transaction_survives_checkpoints(void) {
    for (uint32_t end = 0; end < 3; end++) {
        sim_new(2, 2, 64, 8, 64);
        sim.g.checkpoint_pages = 6;
        mounted();
        CHECK(overwrite(100, DRIVE_LPNS) == 100);
        uint64_t first;
        uint32_t before = drive.checkpoint.done;
        CHECK(drive_tx_write(3, drive_lpn(0)) && drive_tx_write(3, drive_lpn(1)) && hal_tx_first(3, &first));
        CHECK(overwrite(200, DRIVE_LPNS) == 200);
        CHECK(drive.checkpoint.done > before && drive.ftl.old_root.map_first > 50);
        CHECK(drive.ftl.old_root.log_first <= first && drive.ftl.old_root.map_first <= first);
        if (end == 1) CHECK(drive_tx_write(3, drive_lpn(2)) && drive_commit(3));
        if (end == 2) drive_abort(3);
        drive_settle();
        if (end != 0) CHECK(overwrite(100, 1) == 100);
        if (end != 0) CHECK(drive.ftl.old_root.log_first > first);
        drive_settle();
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* Two pages of one block fail when no block is left for data. */
static void two_pages_fail(uint32_t seed) {
    sim_seed(seed);
    sim_new(1, 1, 64, 8, 64);
    sim.g.checkpoint_pages = 100000;
    mounted();
    sim.no_collect = true;
    for (uint32_t n = 0; drive_write(&(uint32_t){drive_lpn(n % DRIVE_LPNS)}, 1, true); n++) {
        while (hw.datas > 2) CHECK(drive_finish_one());
        if (n % 4 == 0 && drive_can_close()) drive_close();
        drive_finish_log();
    }
    CHECK(hw.datas == 2 && drive_pages_left() == 0);
    sim.fail_programs = 1000;
    drive_finish_data();
    sim.fail_programs = 0;
    CHECK(hw.fails == 2);
}

/* The block that comes for it is full of the host's pages before the second one has its turn: without a place for it
 * the watermark stands, and no block comes back. */
static void page_that_failed_gets_a_block_of_the_reserve(uint32_t seed) {
    uint32_t n = 0;
    two_pages_fail(seed);
    for (uint32_t k = 0; k < 50 && hw.rescue_ppn == NO_PAGE; k++) drive_supply(1);
    CHECK(hw.rescue_ppn != NO_PAGE); /* the first one has its page */
    while (drive_write(&(uint32_t){drive_lpn(n++ % DRIVE_LPNS)}, 1, true)) {}
    CHECK(drive_pages_left() == 0 && hw.fails == 2);
    sim.no_collect = false;
    for (uint32_t k = 0; k < 3000; k++) {
        drive_supply(1);
        if (drive_can_close()) drive_close();
        (void)drive_finish_one();
    }
    CHECK(hw.fails == 0 && !hw.stopped && drive.collect.released != 0);
    CHECK(drive_write(&(uint32_t){drive_lpn(0)}, 1, true));
    drive_settle();
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* Blocks that are free fail, all but so many. */
static void leave_free(uint32_t blocks) {
    while (drive.ftl.blocks.total > blocks) {
        uint32_t die = 0;
        while (drive.ftl.blocks.free[die] == 0) die++;
        CHECK(ftl_blocks_bad(&drive.ftl, ftl_blocks_take(&drive.ftl, die)));
    }
}

/* Only when its blocks are free, and the last free one is left for a page that fails. */
static void checkpoint_leaves_the_last_free_block(void) {
    for (uint32_t lack = 0; lack < 2; lack++)
        for (uint32_t failing = 0; failing < 4; failing++) {
            sim_new(2, 1, 64, 8, 64);
            mounted();
            for (uint32_t i = 0; i < 12; i++) write_one(i % DRIVE_LPNS);
            uint32_t done = drive.checkpoint.done, need = FTL_RESCUE_BLOCKS + ftl_checkpoint_blocks(&sim.g);
            leave_free(need - lack);
            sim.no_collect = true; /* only checkpoints */
            sim.asked = 1;
            sim.fail_next[FTL_KIND_MAP] = failing;
            for (uint32_t n = 0; n < 400; n++) {
                ftl_retire_step(&drive.ftl, &drive.supply, &drive.retire);
                ftl_checkpoint_step(&drive.ftl, &drive.supply, &drive.checkpoint);
                CHECK(drive.ftl.blocks.total >= FTL_RESCUE_BLOCKS);
                CHECK(lack == 0 || drive.checkpoint.state == FTL_CHECKPOINT_NONE);
                note_step();
                (void)drive_finish_one();
            }
            CHECK(drive.checkpoint.done == done + (lack == 0 && failing == 0));
        }
}

static void pages_that_failed_get_blocks_of_the_reserve(void) {
    for (uint32_t seed = 1; seed <= 60; seed++) page_that_failed_gets_a_block_of_the_reserve(seed);
}

/* The place of the first one does not come to its end: the second one's turn does not come. */
static void full_is_said_though_a_page_waits_for_its_turn(void) {
    two_pages_fail(1);
    for (uint32_t k = 0; k < 50 && hw.rescue_ppn == NO_PAGE; k++) drive_supply(1);
    uint32_t ppn;
    while (drive_page(&ppn)) {}
    leave_free(0);
    drive_supply(20);
    CHECK(!hal_page_wanted() && hw.fails == 2 && !sim.full);
    drive_supply(FTL_TURN_ROUNDS);
    CHECK(sim.full);
}

/* No block at all: the drive is told, and its log stops. */
static void pages_that_failed_without_any_block_stop_the_log(void) {
    two_pages_fail(1);
    leave_free(0);
    drive_supply(400);
    CHECK(hw.stopped);
}

/* One round of the firmware, with nothing of the host. */
static void finish_all(void) {
    while (drive_can_close()) drive_close();
    while (drive_finish_one()) {}
}

/* A COMMIT is durable and complete and cannot be seen, because the host has not taken the completion of the one before
 * it. The log goes on, checkpoints are due; then the host takes both completions. */
static void commit_behind_an_untaken_completion_survives_checkpoints(void) {
    for (uint32_t relaxed = 0; relaxed < 2; relaxed++) {
        sim_new(2, 2, 64, 8, 64);
        sim.g.checkpoint_pages = 6;
        mounted();
        for (uint32_t t = 3; t < 5; t++) CHECK(drive_tx_write(t, drive_lpn(t)));
        drive_takes(false);
        CHECK(drive_commit(3) && (relaxed ? drive_commit_relaxed(4) : drive_commit(4)));
        uint64_t records = hal_log_head();
        for (uint32_t n = 0; n < 100; n++) {
            CHECK(drive_write(&(uint32_t){drive_lpn(n % 3)}, 1, true));
            finish_all();
            drive_supply(20);
        }
        CHECK(hal_log_durable_mark() > records + 50);
        CHECK(hal_lookup(drive_lpn(3)) != FTL_WORD_NONE && hal_lookup(drive_lpn(4)) == FTL_WORD_NONE);
        drive_takes(true);
        CHECK(hal_lookup(drive_lpn(4)) != FTL_WORD_NONE && drive.item[0].must);
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* Blocks without live pages come back while writes wait for pages and nothing else is logged: a note that was asked for
 * when pages were still under way brings a watermark below the later tickets, so these get a note of their own. */
static void nothing_logged_while_writes_wait(void) {
    uint32_t lpns[8], waited = 0;
    for (uint32_t i = 0; i < 8; i++) lpns[i] = drive_lpn(i);
    for (uint32_t seed = 1; seed < 20; seed++) {
        sim_seed(test_seed * 1000 + seed);
        sim_new(1, 1 + seed % 2, 64, 8, 64);
        mounted();
        for (uint32_t i = 0; i < 120; i++) {
            for (uint32_t n = 0; !drive_write(lpns, 8, true); n++, waited++) {
                CHECK(n < 1000);
                if (drive_can_close()) drive_close();
                (void)drive_finish_one();
            }
            while (sim_random(3) != 0) (void)drive_finish_one();
        }
        CHECK(drive.collect.tickets == 0 || drive.collect.noted <= hw.watermark);
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
    CHECK(waited != 0);
}

/* A RELAXED COMMIT is visible, merged and FREE while its record is in the open page. A place noted then has its record
 * behind it and its entries before it. */
static void relaxed_commit_in_the_open_page_survives_a_checkpoint(void) {
    sim_new(1, 2, 64, 8, 64);
    sim.g.checkpoint_pages = 100000;
    mounted();
    for (uint32_t i = 0; i < 5; i++) write_one(1);
    CHECK(drive_tx_write(3, drive_lpn(0)));
    drive.checkpoint.places = FTL_PLACES - 1; /* places are noted only where this test wants it */
    for (uint32_t i = 0; i < FTL_PLACES; i++)
        drive.checkpoint.place[i] = (struct ftl_place){.at.page = 0xffffff00u, .at.first = ~0ull};
    finish_all();
    uint32_t loser = drive_lpn(0);
    CHECK(drive_write(&loser, 1, false)); /* the transaction wins over it */
    CHECK(drive_commit_relaxed(3));
    drive.checkpoint.places = 0; /* the firmware comes round now */
    drive.checkpoint.every = 0;
    drive.checkpoint.ends = 0;
    drive_supply(2);
    drive_settle();
    sim.g.checkpoint_pages = 1;
    drive.ftl.geometry.checkpoint_pages = 1;
    for (uint32_t n = 0; n < 40 && drive.checkpoint.done == 0; n++) {
        write_one(1);
        finish_all();
        drive_supply(20);
    }
    CHECK(drive.checkpoint.done != 0);
    drive_settle();
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* The log begins before the start, for a transaction that was open there. A COMMIT between the two is in the map, and
 * what was written after it, too. */
static void commit_between_the_beginning_and_the_start_changes_nothing(void) {
    sim_new(1, 2, 64, 8, 64);
    sim.g.checkpoint_pages = 100000;
    mounted();
    CHECK(drive_tx_write(3, drive_lpn(0)) && drive_tx_write(4, drive_lpn(5)) && drive_commit(4));
    drive_settle();
    write_one(5);
    uint64_t end = hal_log_head();
    for (uint32_t n = 0; n < 8; n++) write_one(1);
    CHECK(drive_commit(3));
    drive_settle();
    drive.ftl.geometry.checkpoint_pages = 1;
    for (uint32_t n = 0; n < 800 && drive.checkpoint.done == 0; n++) {
        drive_supply(1);
        finish_all();
    }
    CHECK(drive.checkpoint.done == 1 && drive.ftl.old_root.log_first == 0 && drive.ftl.old_root.map_first >= end);
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* A copy of what `page` has, at a new place or at `to`, takes its place if somebody holds it. */
static uint32_t moved_by_hand(uint32_t lpn, uint32_t from, uint32_t to) {
    const struct sim_page old = sim_pages[from];
    if (to == 0) {
        CHECK(drive_page(&to));
        sim_program(to, FTL_KIND_DATA, lpn, old.sequence);
    }
    sim_pages[to] = old;
    hal_relocate(lpn, from, to, old.sequence);
    while (hal_moving()) (void)drive_finish_one();
    return to;
}

/* A dead version is moved, and misses. Then its page is used again, for a copy of the block's present version. The map
 * of a checkpoint names that page, and recovery meets the first move again: it is none of that page. */
static void move_of_an_earlier_use_of_a_page_changes_nothing(void) {
    sim_new(1, 2, 64, 8, 64);
    sim.g.checkpoint_pages = 100000;
    mounted();
    write_one(0);
    uint32_t lpn = drive_lpn(0), first = FTL_WORD_VALUE(hal_map()[lpn]);
    write_one(0);
    uint32_t second = FTL_WORD_VALUE(hal_map()[lpn]);
    for (uint32_t n = 0; n < 4; n++) write_one(1);
    drive.checkpoint.every = 1000; /* no further place */
    CHECK(drive.checkpoint.places != 0);
    uint64_t start = hal_log_head();
    (void)moved_by_hand(lpn, first, 0);
    CHECK(hal_map()[lpn] == FTL_WORD_NAND(second));
    (void)moved_by_hand(lpn, second, first);
    CHECK(hal_map()[lpn] == FTL_WORD_NAND(first));
    write_one(2);
    drive.ftl.geometry.checkpoint_pages = 1;
    for (uint32_t n = 0; n < 800 && drive.checkpoint.done == 0; n++) {
        drive_supply(1);
        finish_all();
    }
    CHECK(drive.checkpoint.done == 1 && drive.ftl.old_root.map_first <= start);
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    CHECK(hal_map()[lpn] == FTL_WORD_NAND(first));
    drive_judge();
}

/* A block's SWAP met an error of table memory before or during a checkpoint: its word is that of a frame for good, and
 * NONE to a checkpoint. */
static void no_checkpoint_after_an_error_of_table_memory(void) {
    for (uint32_t during = 0; during < 2; during++) {
        sim_new(2, 2, 64, 8, 1100);
        sim.g.checkpoint_pages = 100000;
        mounted();
        for (uint32_t n = 0; n < 9; n++) write_one(n);
        drive.ftl.geometry.checkpoint_pages = 1;
        for (uint32_t n = 0; during && drive.checkpoint.state == FTL_CHECKPOINT_NONE; n++) drive_supply(1);
        sim.memory_errors = 1;
        hal_map()[drive_lpn(0)] = FTL_WORD(FTL_WORD_KIND_BUF, 0);
        for (uint32_t n = 0; n < 200; n++) {
            drive_supply(1);
            finish_all();
        }
        CHECK(drive.checkpoint.done == 0 && drive.checkpoint.over && drive.checkpoint.state == FTL_CHECKPOINT_NONE);
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* A page of the log fails after a place was noted, from page 3 of its block on: it goes to the lane's next block, and
 * nothing stands where the place says that the lane goes on. */
static void place_noted_before_a_log_page_fails(void) {
    uint32_t bad = 0, tried = 0;
    for (uint32_t at = 1; at < 12; at++) {
        sim_new(1, 2, 64, 8, 64);
        sim.g.checkpoint_pages = 100000;
        mounted();
        for (uint32_t i = 0; i < at; i++) write_one(1);
        drive.checkpoint.ends = 0;
        drive.checkpoint.places = 0;
        drive.checkpoint.every = 0;
        drive_supply(1); /* who is open */
        CHECK(drive.checkpoint.ends != 0);
        drive.checkpoint.every = 1000;
        CHECK(drive_write(&(uint32_t){drive_lpn(0)}, 1, false));
        while (!drive_can_close()) (void)drive_finish_one();
        drive_close(); /* under way */
        drive.checkpoint.every = 0;
        drive_supply(1); /* noted */
        CHECK(drive.checkpoint.places == 1);
        sim.fail_next[FTL_KIND_LOG] = 1;
        drive_finish_log();
        sim.fail_next[FTL_KIND_LOG] = 0;
        finish_all();
        drive.checkpoint.every = 1000; /* no other place */
        for (uint32_t n = 0; n < 3; n++) write_one(2);
        sim.g.checkpoint_pages = drive.ftl.geometry.checkpoint_pages = 1;
        for (uint32_t n = 0; n < 40 && drive.checkpoint.done == 0; n++) {
            write_one(1);
            drive_supply(20);
        }
        CHECK(drive.checkpoint.done != 0);
        sim.g.checkpoint_pages = drive.ftl.geometry.checkpoint_pages = 100000;
        write_one(0);
        uint32_t want = drive.item[drive.items - 1].value[0];
        drive_cut_dropping_all();
        tried++;
        int e = sim_mount(&drive.ftl);
        uint32_t have = e == FTL_OK ? drive_value(drive_lpn(0)) : 0;
        bad += e != FTL_OK || have != want;
    }
    CHECK(tried == 11 && bad == 0);
}

static uint32_t block_of(uint32_t lpn) { return FTL_WORD_VALUE(hal_map()[drive_lpn(lpn)]) >> sim.g.page_bits; }

/* The last page of a block of copies is programmed, and so the block is closed; its move waits (LogReserve:
 * rescue.move.haltWhen(logShort); or a failed page is with the rescue). The other copies are dead, so the count is 0:
 * the block takes a ticket, which ripens. */
static void block_of_copies_waits_for_its_last_move(void) {
    (void)worn_block();
    sim.no_collect = true;
    uint32_t copies = 0;
    for (uint32_t i = 0; !sim.no_moves; i++) {
        if (i != 0) write_one(0);
        CHECK(ftl_retire_collect(&drive.supply, &drive.retire, block_of(0), false, 0));
        sim.no_moves = drive.retire.moves.open[0].left == 1;
        for (uint32_t n = 0; n < 200 && (sim.no_moves ? !hw.move.waits : !ftl_retire_idle(&drive.ftl, &drive.retire));
             n++)
            drive_supply(1);
        if (i == 0) copies = block_of(0);
    }
    CHECK(!ftl_blocks_is_data(&drive.ftl, copies) && drive.retire.moves.open[0].block == copies + 1 &&
          drive.retire.moves.open[0].left == 0 && hw.move.waits);
    for (uint32_t i = 1; i < 6; i++) write_one(i); /* the other copies are dead */
    sim.no_collect = false;
    uint32_t has = 0;
    for (uint32_t n = 0; n < 600; n++) { /* others write and flush */
        if (n % 5 == 0) has += drive_write(&(uint32_t){drive_lpn(1 + n / 5 % 5)}, 1, true);
        if (n % 30 == 0) drive_settle();
        everything(1);
        if (released(copies)) break;
    }
    /* until it is erased for its next use */
    for (uint32_t n = 0; n < 3000 && sim_pages[(copies + 1) * sim.g.pages - 1].state == SIM_WHOLE; n++) {
        has += drive_write(&(uint32_t){drive_lpn(1 + n % 5)}, 1, true);
        if (n % 10 == 0) drive_settle();
        everything(1);
    }
    sim.no_moves = false;
    everything(2);
    drive_settle();
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* A page is copied, and its move waits in the hardware. Its block is written over meanwhile: it must not come back
 * before the move has found out, for the page could hold the same block of the host again then. */
static void block_that_a_waiting_move_names_does_not_come_back(void) {
    uint32_t block = worn_block();
    sim.no_moves = sim.no_collect = true;
    CHECK(ftl_retire_collect(&drive.supply, &drive.retire, block, false, 0));
    everything(20);
    CHECK(hw.move.waits && hw.move.from >> sim.g.page_bits == block);
    write_one(0);
    sim.no_collect = false;
    for (uint32_t n = 0; n < 60; n++) { /* others write and flush */
        (void)drive_write(&(uint32_t){drive_lpn(1 + n % 5)}, 1, true);
        drive_settle();
        everything(10);
    }
    CHECK(hal_live(block) == 0 && !released(block) && drive.collect.released != 0);
    sim.no_moves = false;
    for (uint32_t n = 0; n < 2000 && !released(block); n++) {
        (void)drive_write(&(uint32_t){drive_lpn(1 + n % 5)}, 1, true);
        if (n % 8 == 0) drive_settle();
        everything(2);
    }
    CHECK(released(block));
}

/* No block is left to move pages to, and each block holds a page that is in use (versions of open transactions):
 * nothing comes back, and writers are not told. */
static void no_block_to_move_to_is_capacity(void) {
    sim_new(1, 1, 64, 8, 64);
    sim.g.checkpoint_pages = 100000;
    mounted();
    sim.no_collect = true;
    uint32_t versions = 0;
    for (uint32_t n = 0; n < 3000 && !ftl_supply_low(&drive.ftl); n++) {
        uint32_t lpn = drive_lpn(9);
        if (n % 4 == 0 && versions < 300) CHECK(drive_tx_write(1 + versions / 9, drive_lpn(versions % 9))), versions++;
        else if (!drive_write(&lpn, 1, true)) break;
        while (drive_finish_one()) {}
        if (n % 8 == 0) drive_settle();
    }
    drive_settle();
    sim.no_collect = false;
    everything(300);
    drive_settle();
    CHECK(ftl_moves_none(&drive.retire.moves));
    for (uint32_t b = 0; b < FTL_MOVE_BLOCKS; b++) drive.retire.moves.open[b].left = 0; /* these are full, ... */
    /* and the free ones have failed */
    while (drive.ftl.blocks.total > ftl_supply_kept_from_moves(&drive.ftl))
        CHECK(ftl_blocks_bad(&drive.ftl, ftl_blocks_take_near(&drive.ftl, 0)));
    sim.fail_next[FTL_KIND_DATA] = 0;
    bool data[64];
    for (uint32_t b = 0; b < 64; b++) data[b] = ftl_blocks_is_data(&drive.ftl, b);
    bool starved = false; /* a victim, whose pages find no block, is one again later */
    for (uint32_t n = 0; n < 300; n++) {
        everything(1);
        starved = starved || drive.collect.starved;
    }
    CHECK(starved);
    for (uint32_t b = 0; b < 64; b++) CHECK(!data[b] || ftl_blocks_is_data(&drive.ftl, b) || released(b));
    uint32_t wrote = 0, full = 0, rounds = 0;
    for (; rounds < 3000 && !full; rounds++) {
        if (rounds % 2 && versions < 275) {
            if (drive_tx_write(1 + versions / 9, drive_lpn(versions % 9))) versions++, wrote++;
        } else wrote += drive_write(&(uint32_t){drive_lpn(9)}, 1, true);
        everything(1);
        if (rounds % 50 == 0) drive_settle();
        full = sim.full;
    }
    uint32_t before = wrote;
    for (rounds = 0; rounds < 4000 && !full; rounds++) {
        wrote += drive_write(&(uint32_t){drive_lpn(9)}, 1, true);
        everything(1);
        if (rounds % 50 == 0) drive_settle();
        full = sim.full;
    }
    CHECK(full || wrote > before);
}

/* A transaction that stayed open while the log took more than FTL_HOLDERS blocks of a lane has ended. */
static void log_longer_than_the_list_of_its_blocks_comes_back(void) {
    sim_new(1, 1, 1000, 8, 64);
    sim.g.checkpoint_pages = 32;
    mounted();
    CHECK(drive_tx_write(3, drive_lpn(0)));
    for (uint32_t n = 0; n < 3000; n++) write_one(1 + n % 5);
    CHECK(drive.ftl.log[0].n == FTL_HOLDERS);
    drive_abort(3);
    for (uint32_t n = 0; n < 200; n++) write_one(1 + n % 5);
    CHECK(drive.ftl.old_root.log_page > 1000 && drive.ftl.log[0].n < 40);
}

/* The moves of a victim's last pages are in the queue of two when the victim has been gone through. */
static void victim_whose_moves_are_queued_comes_back(void) {
    uint32_t block = worn_block();
    sim.no_collect = true;
    for (uint32_t i = 1; i < 10; i++) write_one(i);
    everything(50);
    sim.no_collect = false;
    sim.no_moves = true; /* the log has no frame, or a failed page is with the rescue */
    everything(300);
    sim.no_moves = false;
    everything(300);
    CHECK(block_of(0) == block || released(block) || ftl_blocks_is_data(&drive.ftl, block));
}

const struct test collect_tests[] = {
    {"a victim whose moves are queued comes back", victim_whose_moves_are_queued_comes_back},
    {"a log longer than the list of its blocks comes back", log_longer_than_the_list_of_its_blocks_comes_back},
    {"a block that a waiting move names does not come back", block_that_a_waiting_move_names_does_not_come_back},
    {"no block to move to is CAPACITY", no_block_to_move_to_is_capacity},
    {"a block of copies waits for its last move", block_of_copies_waits_for_its_last_move},
    {"a COMMIT between the log's beginning and the map's start changes nothing",
     commit_between_the_beginning_and_the_start_changes_nothing},
    {"a move of an earlier use of a page changes nothing", move_of_an_earlier_use_of_a_page_changes_nothing},
    {"no checkpoint after an error of table memory", no_checkpoint_after_an_error_of_table_memory},
    {"a RELAXED COMMIT in the open page survives a checkpoint", relaxed_commit_in_the_open_page_survives_a_checkpoint},
    {"collection: nothing is logged while writes wait", nothing_logged_while_writes_wait},
    {"a place noted before a log page fails leads to the page", place_noted_before_a_log_page_fails},
    {"a drive takes many times what it holds", drive_takes_many_times_what_it_holds},
    {"a ticket waits for a durable watermark", ticket_waits_for_a_durable_watermark},
    {"a checkpoint is tried before a drive is full", checkpoint_comes_before_full},
    {"no block comes back when the log has stopped", no_block_comes_back_when_the_log_has_stopped},
    {"a ticket waits for reads", ticket_waits_for_reads},
    {"an idle drive collects", an_idle_drive_collects},
    {"a block with an unreadable page is set aside", block_with_an_unreadable_page_is_set_aside},
    {"a COMMIT behind a completion that is not taken survives checkpoints",
     commit_behind_an_untaken_completion_survives_checkpoints},
    {"a checkpoint leaves the last free block", checkpoint_leaves_the_last_free_block},
    {"full is said though a page waits for its turn", full_is_said_though_a_page_waits_for_its_turn},
    {"pages that failed without any block stop the log", pages_that_failed_without_any_block_stop_the_log},
    {"pages that failed get blocks of the reserve", pages_that_failed_get_blocks_of_the_reserve},
    {"an open transaction survives checkpoints", an_open_transaction_survives_checkpoints},
    {"checkpoints cut at every operation lose nothing", checkpoints_cut_at_every_operation_lose_nothing},
    {"a full log comes back when no transaction holds it", full_log_comes_back_by_itself},
    {"a full log comes back over failing blocks", full_log_comes_back_over_failing_blocks},
    {"notes in a full log are few", notes_in_a_full_log_are_few},
    {"a full log with failing blocks, cut at every operation", full_log_with_failing_blocks_cut_at_every_operation},
    {"random histories collect and keep the contract", random_histories_collect_and_keep_the_contract},
    {0},
};
