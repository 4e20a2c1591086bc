/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints and mounts write the map pages that changed (docs/decisions/033-changed-map-pages.md). */
#include <string.h>

#include "drive_hw.h"
#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_erases.h"
#include "ftl_map_blocks.h"
#include "map_pages.h"
#include "tests.h"
#include "traffic.h"

#define PAGES 8u /* of the map, in which each block that histories write is in another page, but for the last two */

/* A drive whose blocks have been written, in a checkpoint's map. */
static void big_drive(uint32_t directories) {
    sim_new(2, 2, 160, 16, PAGES * FTL_PAGE_WORDS);
    if (directories != 0) sim_directories(directories);
    sim.g.checkpoint_pages = 100000;
    mounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
    checkpoint_asked();
}

static uint32_t page_of(uint32_t i) { return drive_lpn(i) / FTL_PAGE_WORDS; }

/* Pages of the map that a checkpoint writes though they have not changed. */
static bool is_its_turn(uint32_t page) { return page % (1u << FTL_MAP_TURN_BITS) == drive.checkpoint.turn; }

static void checkpoint_writes_what_changed(void) {
    for (uint32_t directories = 0; directories < 3; directories++) {
        big_drive(directories);
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) {
            write_one(i);
            uint32_t maps = sim.programs[FTL_KIND_MAP], others = sim.programs[FTL_KIND_DIRECTORY], due = 0, named = 0;
            bool whole = false;
            checkpoint_asked();
            whole = sim.programs[FTL_KIND_MAP] - maps == 2 * PAGES;
            for (uint32_t p = 0; p < PAGES; p++) due += p == page_of(i) || is_its_turn(p);
            for (uint32_t d = 0; d < sim.g.directories; d++)
                named += d == page_of(i) / FTL_DIRECTORY_PAGES ||
                         (drive.checkpoint.turn < PAGES && d == drive.checkpoint.turn / FTL_DIRECTORY_PAGES);
            CHECK(whole || sim.programs[FTL_KIND_MAP] - maps == 2 * due);
            CHECK(whole || sim.programs[FTL_KIND_DIRECTORY] - others == 2 * named);
            CHECK(!whole || i > 2);
            CHECK(map_pages_stand_twice() >= PAGES + 1);
            map_blocks_are_counted();
        }
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

static void mount_writes_what_changed(void) {
    uint32_t all = 0, mounts = 0;
    for (uint32_t directories = 0; directories < 3; directories++) {
        big_drive(directories);
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) {
            write_one(i);
            drive_cut_dropping_all();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            uint32_t maps = sim.programs[FTL_KIND_MAP];
            CHECK(maps == 2 || i > 0); /* more: blocks would become too many */
            all += maps;
            mounts++;
            CHECK(map_pages_stand_twice() >= PAGES + 1);
            drive_judge();
            drive_start();
            map_blocks_are_counted();
        }
    }
    CHECK(all < mounts * PAGES);
}

/* What a mount has filled with NONE and its log does not name is neither looked at nor counted again. */
static void mount_looks_at_pages_that_may_name_something(void) {
    sim_new(2, 2, 160, 16, PAGES * FTL_PAGE_WORDS);
    mounted();
    for (uint32_t i = 0; i < 2; i++) {
        write_one(2 * i);
        drive_cut_dropping_all();
        uint32_t stored = sim.map_stored;
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        CHECK(sim.map_stored - stored == i + 1 && page_of(2) != page_of(0));
        drive_judge();
        drive_start();
    }
}

/* The first checkpoint after a mount goes on in two blocks that the mount has opened, and the next ones there, too. */
static void checkpoints_go_on_in_open_blocks(void) {
    big_drive(0);
    write_one(3);
    remounted();
    drive_start();
    for (uint32_t n = 0; n < 3; n++) {
        struct ftl_map_blocks before = drive.ftl.map;
        write_one(3);
        checkpoint_asked();
        for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) {
            uint32_t block = (uint32_t)(map_page_named(FTL_KIND_MAP, page_of(3), c) - sim_pages) >> sim.g.page_bits,
                     i = 0;
            while (i < before.n && before.at[i].id != block) i++;
            CHECK(i < before.n);
        }
    }
}

/* Pages that become NONE are named no more, nor is a directory without a page. */
static void empty_pages_are_named_by_nobody(void) {
    for (uint32_t mount = 0; mount < 2; mount++) {
        big_drive(1);
        CHECK(map_page_named(FTL_KIND_DIRECTORY, PAGES - 1, 0) != NULL);
        CHECK(drive_trim(drive_lpn(2)));
        drive_settle();
        if (mount) remounted();
        else checkpoint_asked();
        CHECK(map_page_named(FTL_KIND_DIRECTORY, PAGES - 1, 0) == NULL);
        CHECK(map_page_named(FTL_KIND_DIRECTORY, PAGES - 2, 0) != NULL);
        map_blocks_are_counted();
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* However many checkpoints and mounts: the map has no more blocks than it may, and gives back all others. */
static void blocks_of_the_map_are_bounded(void) {
    uint32_t partly = 0, whole = 0, all = 0;
    for (uint32_t run = 0; run < 6; run++) {
        big_drive(run % 3);
        uint32_t free = 0;
        for (uint32_t n = 0; n < 120; n++) {
            uint32_t maps = sim.programs[FTL_KIND_MAP];
            if (run > 2 && n % 5 == 4) {
                drive_cut_dropping_all();
                CHECK(sim_mount(&drive.ftl) == FTL_OK);
                maps = 0;
                drive_judge();
                drive_start();
            } else {
                write_one(n % 3 == 0 ? 1 : n % DRIVE_LPNS);
                checkpoint_asked();
            }
            maps = sim.programs[FTL_KIND_MAP] - maps;
            whole += maps == 2 * PAGES;
            partly += maps > 4 && maps < 2 * PAGES;
            all += maps;
            CHECK(drive.ftl.map.n <= ftl_map_blocks_most(&drive.ftl));
            map_blocks_are_counted();
            if (n == 20) free = drive.ftl.blocks.total;
        }
        CHECK(drive.ftl.blocks.total + 8 >= free);
    }
    CHECK(partly > 20 && whole < 20 && all < 2200); /* two for each page that changed are 1,300 */
}

/* What a checkpoint that ended in vain has taken is written by the next one. */
static void checkpoint_that_is_given_up_loses_nothing(void) {
    for (uint32_t run = 0; run < 3; run++) {
        big_drive(run);
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
        sim.asked = (sim.asked + 1u) & 0xffu;
        for (uint32_t n = 0; drive.checkpoint.state != FTL_CHECKPOINT_MAP; n++) {
            CHECK(n < 4000);
            drive_supply(1);
            (void)drive_finish_one();
        }
        for (uint32_t n = 0; n < 10 + 4 * run; n++) drive_supply(1);
        CHECK(drive.checkpoint.state == FTL_CHECKPOINT_MAP);
        uint32_t total = drive.ftl.blocks.total;
        drive.ftl.blocks.total = FTL_RESCUE_BLOCKS;
        for (uint32_t c = 0; c < FTL_MAP_COPIES; c++) drive.ftl.map.left[c] = 0;
        for (uint32_t n = 0; drive.checkpoint.state != FTL_CHECKPOINT_NONE; n++) {
            CHECK(n < 100);
            ftl_checkpoint_step(&drive.ftl, &drive.supply, &drive.checkpoint);
        }
        drive.ftl.blocks.total += total - FTL_RESCUE_BLOCKS;
        drive.supply.hold = false;
        if (run == 1) checkpoint_asked();
        map_blocks_are_counted();
        write_one(0);
        checkpoint_asked();
        map_blocks_are_counted();
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* A directory that a checkpoint cannot read: from its second copy, or all of the map is written. */
static void directory_that_a_checkpoint_cannot_read(void) {
    for (uint32_t run = 0; run < 6; run++) {
        big_drive(run / 2);
        write_one(3);
        map_page_named(FTL_KIND_DIRECTORY, 0, 0)->state = SIM_TORN;
        if (run % 2) map_page_named(FTL_KIND_DIRECTORY, 0, 1)->state = SIM_TORN;
        checkpoint_asked();
        if (run % 2) CHECK(map_pages_stand_twice() >= PAGES + 1);
        map_blocks_are_counted();
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        CHECK(map_pages_stand_twice() >= PAGES + 1);
        drive_judge();
        drive_start();
        map_blocks_are_counted();
    }
}

/* A page of the map whose block is bad leaves it with the next checkpoint, changed or not. */
static void pages_leave_bad_blocks(void) {
    for (uint32_t kind = FTL_KIND_MAP; kind <= FTL_KIND_DIRECTORY; kind += FTL_KIND_DIRECTORY - FTL_KIND_MAP) {
        big_drive(1);
        for (uint32_t n = 0; n < 2; n++) {
            for (uint32_t i = 0; i < 4; i++) write_one(i + 4 * n), checkpoint_asked();
            struct sim_page *page = map_page_named(kind, PAGES - 1, n);
            (void)ftl_bbt_mark(&drive.ftl, (uint32_t)(page - sim_pages) >> sim.g.page_bits);
            drive_supply(40);
            write_one(0);
            checkpoint_asked();
            for (uint32_t p = 0; p < PAGES; p++)
                for (uint32_t c = 0; c < 2; c++) {
                    page = map_page_named(kind, p, c);
                    CHECK(!ftl_blocks_is_bad(&drive.ftl, (uint32_t)(page - sim_pages) >> sim.g.page_bits));
                }
            map_blocks_are_counted();
        }
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* So it does a block that is worn less than the others: what stays in it for long would keep it behind. */
static void pages_leave_blocks_that_wear_less(void) {
    big_drive(0);
    const struct sim_page *page = map_page_named(FTL_KIND_MAP, PAGES - 1, 0);
    uint32_t id = (uint32_t)(page - sim_pages) >> sim.g.page_bits;
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++)
            *ftl_erases(&drive.ftl, die, b) = ftl_block_id(&sim.g, die, b) == id ? 1 : 50;
    for (uint32_t walks = drive.ftl.wear.walks; drive.ftl.wear.walks < walks + 2;) drive_supply(8);
    write_one(0);
    checkpoint_asked();
    CHECK(named_pages(id) == 0);
    map_blocks_are_counted();
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* Blocks with prepared transactions stay whatever is written. So beside them the map has no more than a checkpoint
 * takes, and for these there is room. */
static void blocks_of_prepared_transactions_come_beside_those_of_the_map(void) {
    big_drive(0);
    CHECK(drive_tx_write(3, drive_lpn(4)) && drive_prepare(3));
    drive_settle();
    remounted();
    drive_start();
    CHECK(drive.ftl.map.pinned != 0 && ftl_map_blocks_most(&drive.ftl) == ftl_checkpoint_blocks(&sim.g));
}

/* A map page that a checkpoint wrote and later mounts have kept: its position was in another log. So moves of the new
 * log change it, at whatever index. */
static void position_is_that_of_its_own_log(void) {
    for (uint32_t run = 0; run < 4; run++) {
        big_drive(0);
        for (uint32_t n = 0; n < 40; n++) write_one(0);
        write_one(5);
        checkpoint_asked(); /* at a position beyond many entries */
        for (uint32_t m = 0; m <= run % 2; m++) {
            write_one(1);
            remounted();
            drive_judge();
            drive_start();
        }
        uint32_t word = hal_map()[drive_lpn(5)];
        drive_weak(FTL_WORD_VALUE(word)); /* it moves */
        for (uint32_t n = 0; hal_map()[drive_lpn(5)] == word; n++) {
            CHECK(n < 1000);
            drive_supply(1);
            (void)drive_finish_one();
        }
        drive_settle();
        word = hal_map()[drive_lpn(5)];
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK && drive_base(drive_lpn(5)) == word);
        drive_judge();
    }
}

/* A map of format 10 is taken and kept; pages of it may be older than the root from then on. */
static void format_10_is_taken(void) {
    big_drive(1);
    remounted();
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;) p->words[FTL_ROOT_VERSION_WORD] = 10;
    for (uint32_t n = 0; n < 3; n++) {
        remounted();
        CHECK(sim.programs[FTL_KIND_MAP] <= 2);
        drive_judge();
        drive_start();
        write_one(n);
    }
}

/* A map whose blocks, with those of the next checkpoint, are more than there are places for: no checkpoint could end.
 */
static void map_of_too_many_blocks_is_refused(void) {
    for (uint32_t run = 0; run < 2; run++) {
        sim_new(1, 1, 64, 64, 64);
        sim.g.tx_slots = 1u << 16;
        sim.g.lbas = (run ? 18000 : 8192) * FTL_PAGE_WORDS;
        ftl_geometry_init(&sim.g);
        CHECK(sim_mount(&drive.ftl) == (run ? FTL_ERR_CONFIG : FTL_ERR_BLOCKS));
    }
}

/* A root of a first format names no directory, and the first checkpoint looks for none. */
static void first_checkpoint_is_not_given_up(void) {
    sim_new(2, 2, 160, 16, PAGES * FTL_PAGE_WORDS);
    mounted();
    write_one(0);
    sim.asked = 1;
    for (uint32_t n = 0; drive.checkpoint.done == 0; n++) {
        CHECK(n < 4000 && !drive.checkpoint.whole);
        drive_supply(1);
        (void)drive_finish_one();
    }
}

/* While a checkpoint is written more pages change than had changed when it began. The map has no more blocks than it
 * may have all the same: what is kept free stays enough for the next checkpoint. */
static void pages_that_change_meanwhile(void) {
    uint32_t partly = 0, given_up = 0;
    for (uint32_t run = 0; run < 20; run++) {
        sim_seed(run);
        sim_new(2, 2, 280, 8, PAGES * FTL_PAGE_WORDS);
        sim.g.firmware_frames = 20; /* erase counts of so many blocks */
        if (run % 2) sim_directories(1);
        sim.g.checkpoint_pages = 100000;
        mounted();
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
        for (uint32_t n = 0; n < 120; n++) {
            uint32_t done = drive.checkpoint.done, maps = sim.programs[FTL_KIND_MAP];
            bool whole = false;
            write_one(sim_random(DRIVE_LPNS));
            sim.asked = (sim.asked + 1u) & 0xffu;
            for (uint32_t k = 0; drive.checkpoint.state != FTL_CHECKPOINT_MAP; k++) {
                CHECK(k < 4000);
                drive_supply(1);
                (void)drive_finish_one();
            }
            whole = drive.checkpoint.whole;
            for (uint32_t i = 0; i < DRIVE_LPNS; i++)
                if (sim_random(20) > n % 20) sim_map_written(drive_lpn(i));
            for (uint32_t k = 0; drive.checkpoint.done == done; k++) {
                CHECK(k < 4000);
                given_up += !whole && drive.checkpoint.whole;
                whole = drive.checkpoint.whole;
                drive_supply(1);
                (void)drive_finish_one();
            }
            partly += sim.programs[FTL_KIND_MAP] - maps < 2 * PAGES;
            CHECK(drive.ftl.map.n <= ftl_map_blocks_most(&drive.ftl));
            map_blocks_are_counted();
        }
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
    CHECK(partly > 1000 && given_up > 5);
}

/* Many map pages, few of them changed at a time, cut at random. */
static void random_histories_of_a_larger_map(void) {
    uint32_t cuts = 0, checkpoints = 0;
    for (unsigned long run = 0; run < test_runs / 16; run++) {
        sim_seed(test_seed * 7000003 + run);
        sim_new(2, 2, 160, 16, PAGES * FTL_PAGE_WORDS);
        if (run % 3 != 0) sim_directories((uint32_t)run % 3);
        if (run % 4 == 0) with_faults(), sim.fail_programs = sim.fail_erases = 4;
        if (run % 2) sim.g.checkpoint_pages = 3;
        sim.g.patrol_clocks = 1, sim.clocks_per_ask = 1;
        mounted();
        for (uint32_t cut = 0; cut < 5; cut++) {
            for (uint32_t part = sim_random(5); part > 0; part--) {
                history(sim_random(60));
                if (sim_random(2)) end_transactions();
                drive_supply(sim_random(60));
            }
            checkpoints += drive.checkpoint.done;
            if (drive.checkpoint.state == FTL_CHECKPOINT_NONE) map_blocks_are_counted();
            if (!sim_random(2) || !drive_supply_cut(80, 1 + sim_random(40))) drive_cut();
            while (sim_random(2)) {
                sim.cut_at = 1 + sim_random(200);
                if (sim_mount(&drive.ftl) != -1) drive_cut_dropping_all();
                cuts++;
            }
            sim.cut_at = 0;
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            drive_start();
            map_blocks_are_counted();
        }
    }
    if (test_runs < 1000) return;
    CHECK(cuts > 100 && checkpoints > 100);
}

const struct test changed_map_tests[] = {
    {"changed-map: a checkpoint writes what changed", checkpoint_writes_what_changed},
    {"changed-map: a mount writes what changed", mount_writes_what_changed},
    {"changed-map: a mount looks at pages that may name something", mount_looks_at_pages_that_may_name_something},
    {"changed-map: checkpoints go on in open blocks", checkpoints_go_on_in_open_blocks},
    {"changed-map: empty pages are named by nobody", empty_pages_are_named_by_nobody},
    {"changed-map: blocks of the map are bounded", blocks_of_the_map_are_bounded},
    {"changed-map: a checkpoint that is given up loses nothing", checkpoint_that_is_given_up_loses_nothing},
    {"changed-map: a directory that a checkpoint cannot read", directory_that_a_checkpoint_cannot_read},
    {"changed-map: pages leave bad blocks", pages_leave_bad_blocks},
    {"changed-map: pages leave blocks that wear less", pages_leave_blocks_that_wear_less},
    {"changed-map: prepared transactions come beside the map's blocks",
     blocks_of_prepared_transactions_come_beside_those_of_the_map},
    {"changed-map: a position is that of its own log", position_is_that_of_its_own_log},
    {"changed-map: a drive of format 10 is taken", format_10_is_taken},
    {"changed-map: a map of too many blocks is refused", map_of_too_many_blocks_is_refused},
    {"changed-map: a first checkpoint is not given up", first_checkpoint_is_not_given_up},
    {"changed-map: pages that change meanwhile", pages_that_change_meanwhile},
    {"changed-map: random histories of a larger map", random_histories_of_a_larger_map},
    {0},
};
