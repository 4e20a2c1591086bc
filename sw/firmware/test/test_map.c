/* SPDX-License-Identifier: Apache-2.0 */
/* Map pages and directories stand twice (rule two-maps). */
#include "ftl_blocks.h"
#include "map_pages.h"
#include "tests.h"
#include "traffic.h"

static void each_page_stands_twice_in_different_blocks(void) {
    static const uint32_t shapes[][5] = {
        {1, 1, 60, 8, 64}, {2, 2, 84, 8, 2100}, {3, 1, 90, 8, 1100}, {1, 2, 60, 8, 64}};
    uint32_t checkpoints = 0, failed = 0;
    for (uint32_t run = 0; run < 48; run++) {
        const uint32_t *s = shapes[run % 4];
        sim_seed(run);
        sim_new(s[0], s[1], s[2], s[3], s[4]);
        if (run % 4 != 0) sim_directories(1 + run % 2); /* two of shapes 1 and 2 */
        sim.g.checkpoint_pages = 3;
        mounted();
        for (uint32_t n = 0; n < 6; n++) {
            if (run >= 16) sim.fail_next[n % 2 ? FTL_KIND_MAP : FTL_KIND_DIRECTORY] = n % 3;
            uint32_t done = drive.checkpoint.done;
            for (uint32_t i = 0; i < 12; i++) write_one(i % DRIVE_LPNS);
            drive_supply(200);
            checkpoints += drive.checkpoint.done - done;
            if (drive.checkpoint.done != done) CHECK(map_pages_stand_twice() >= 2);
            for (uint32_t k = 0; k < SIM_KINDS; k++) failed += sim.failed[k];
            if (n % 2) continue;
            if (run >= 16) sim.fail_next[n % 4 ? FTL_KIND_MAP : FTL_KIND_DIRECTORY] = 1 + n % 3;
            remounted();
            CHECK(map_pages_stand_twice() >= 2);
            drive_judge();
            drive_start();
        }
    }
    CHECK(checkpoints > 100 && failed > 20);
}

/* A drive whose log changes nothing, so that the next mount would keep the map. The root is `age` generations younger
 * than the map that it names. */
static void unchanged_drive(uint32_t shape, uint32_t age) {
    static const uint32_t shapes[][5] = {{1, 1, 56, 8, 64}, {2, 2, 84, 8, 2100}, {4, 2, 28, 8, 64}};
    const uint32_t *s = shapes[shape];
    sim_new(s[0], s[1], s[2], s[3], s[4]);
    mounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
    for (uint32_t n = 0; n <= age; n++) remounted();
    drive_start();
    drive_cut_dropping_all();
}

/* A mount that keeps the map keeps the blocks of all its pages, also where one holds nothing but a directory's copy. */
static void blocks_of_all_copies_are_kept(void) {
    sim_new(2, 2, 56, 8, 1100);
    sim_directories(1);
    mounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
    remounted();
    for (uint32_t n = 0; n < 2; n++) {
        drive_start();
        remounted();
        CHECK(drive.ftl.report.entries == 0 && sim.programs[FTL_KIND_MAP] == 0);
        for (uint32_t kind = FTL_KIND_MAP; kind <= FTL_KIND_DIRECTORY; kind += FTL_KIND_DIRECTORY - FTL_KIND_MAP)
            for (uint32_t i = 0; i < 4; i++) {
                const struct sim_page *page = map_page_named(kind, i / 2, i % 2);
                CHECK(page != NULL);
                CHECK(ftl_blocks_is_taken(&drive.ftl, (uint32_t)(page - sim_pages) >> sim.g.page_bits));
            }
    }
}

/* The wear pages say that the block of this page has no erases and all others have: who takes a block takes that one.
 */
static void least_worn(const struct sim_page *page) {
    uint32_t id = (uint32_t)(page - sim_pages) >> sim.g.page_bits,
             at = ftl_die_of(&sim.g, id) * sim.g.blocks + ftl_block_of(&sim.g, id);
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_WEAR)) != NULL;)
        for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) p->words[i] = i == at ? 0 : 50;
}

/* Each page of the map in each mount, the mount cut at every operation. If it was a first copy, the map is written
 * anew. */
static void one_unreadable_page_harms_nobody(void) {
    for (uint32_t run = 0; run < 2 * 2 * 3 * 2; run++) {
        uint32_t copy = run % 2, kind = run / 2 % 2 ? FTL_KIND_MAP : FTL_KIND_DIRECTORY;
        unchanged_drive(run / 4 % 3, run / 12);
        map_page_named(kind, 0, copy)->state = SIM_TORN;
        least_worn(map_page_named(kind, 0, 1 - copy));
        struct sim_copy at_cut = sim_save();
        struct drive history = drive;
        bool ended = false;
        for (uint32_t cut = 1; !ended; cut++) {
            ended = mount_cut_at(&at_cut, &history, cut);
            if (ended) CHECK((sim.programs[kind] != 0) == (copy == 0));
            if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            CHECK(sim.lost_log_pages == 0 && sim.dropped == 0 && drive.ftl.report.blocks_bad == 0);
            if (copy == 0) CHECK(map_pages_stand_twice() >= 2);
            drive_cut_dropping_all();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
        }
        sim_forget(&at_cut);
    }
}

/* One error each: a first directory and second copies of map pages, or the other way round. What is not read is not
 * written anew by a mount, but by one of the next checkpoints. */
static void errors_in_different_pages_harm_nobody(void) {
    for (uint32_t copy = 0; copy < 2; copy++) {
        unchanged_drive(1, 0);
        map_page_named(FTL_KIND_DIRECTORY, 0, copy)->state = SIM_TORN;
        uint32_t pages = 0;
        for (struct sim_page *p; pages < 3 && (p = map_page_named(FTL_KIND_MAP, pages, 1 - copy)) != NULL; pages++)
            p->state = SIM_TORN;
        CHECK(pages != 0 && sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
        drive_start();
        for (uint32_t turn = 0, left = copy == 0 ? pages : 0; left != 0; turn++) {
            CHECK(turn < 4u << FTL_MAP_TURN_BITS);
            write_one(0);
            checkpoint_asked();
            left = 0;
            for (uint32_t p = 0; p < pages; p++) left += map_page_named(FTL_KIND_MAP, p, 1)->state != SIM_WHOLE;
        }
        CHECK(map_pages_stand_twice() >= 2);
    }
}

static void both_copies_unreadable_are_refused_and_nothing_is_touched(void) {
    for (uint32_t kind = FTL_KIND_MAP; kind <= FTL_KIND_DIRECTORY; kind += FTL_KIND_DIRECTORY - FTL_KIND_MAP) {
        unchanged_drive(1, 0);
        struct sim_page *pages[2] = {map_page_named(kind, 0, 0), map_page_named(kind, 0, 1)};
        pages[0]->state = pages[1]->state = SIM_TORN;
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_MAP);
        CHECK(sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0 && !sim.enabled);
        pages[0]->state = SIM_WHOLE;
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* A page that can be read, with a word that no map has: as if it could not be read. */
static void page_with_a_word_that_cannot_be_is_taken_from_its_copy(void) {
    uint32_t none = FTL_WORD_NAND(ftl_first_ppn(&sim.g, 0)) | 1u << 28, words[] = {none, 5, FTL_WORD(2u, 3), ~0u};
    for (uint32_t run = 0; run < 8; run++) {
        unchanged_drive(1, 0);
        struct sim_page *page = map_page_named(FTL_KIND_MAP, 0, 0);
        page->words[run % 2 ? 0 : FTL_PAGE_WORDS - 1] = words[run / 2];
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
        CHECK(map_pages_stand_twice() >= 2);
        for (uint32_t c = 0; c < 2; c++) map_page_named(FTL_KIND_MAP, 0, c)->words[3] = words[run / 2];
        sim_power_on();
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_MAP && sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0);
    }
}

static void error_while_the_map_becomes_none_is_not_overlooked(void) {
    sim_seed(1);
    sim_new(1, 1, 64, 8, 64);
    sim.memory_bad = 1;
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_MEMORY && sim.memory_hit == HAL_MAP_FILL && sim.count[HAL_PROGRAM] == 0);
    sim_power_on();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
}

/* In each of the hardware's tasks of a mount in turn: refused, read-only, or a second copy; the next mount has all. */
static void error_of_table_memory_is_not_overlooked(void) {
    uint32_t refused = 0, readable = 0, taken = 0, applied = 0;
    for (uint32_t run = 0; run < 2; run++) {
        for (uint32_t n = 1;; n++) {
            unchanged_drive(1, 0);
            if (run) {
                CHECK(sim_mount(&drive.ftl) == FTL_OK);
                drive_start();
                for (uint32_t k = 0; k < 4; k++)
                    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
                drive_cut_dropping_all();
            }
            sim.memory_bad = n;
            int error = sim_mount(&drive.ftl);
            if (sim.memory_bad != 0) break;
            if (sim.memory_hit == HAL_MAP_LOAD) taken++;
            else if (sim.memory_hit == HAL_MAP_STORE) readable++;
            else refused++;
            if (sim.memory_hit == HAL_MAP_LOAD) {
                CHECK(error == FTL_OK);
                continue;
            }
            CHECK(error == FTL_ERR_MEMORY && drive.ftl.report.readable == (sim.memory_hit == HAL_MAP_STORE));
            if (sim.memory_hit != HAL_MAP_STORE) CHECK(sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0);
            if (sim.memory_hit == HAL_MAP_APPLY) applied++;
            sim_power_on();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
        }
        sim.memory_bad = 0;
    }
    CHECK(refused >= 2 && readable >= 2 && taken >= 2 && applied >= 2);
}

/* The hardware says of 32 blocks at a time which have live pages: of two dies, when they are small. */
static void dies_of_sixteen_blocks(void) {
    sim_new(8, 8, 16, 8, 2048);
    mounted();
    for (uint32_t n = 0; n < 3; n++) {
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
        remounted();
        for (uint32_t die = 0; die < sim.g.dies; die++)
            CHECK((ftl_blocks_data_word(&drive.ftl, die, 0) & 0xffff0000u) == 0);
        drive_judge();
        drive_start();
    }
}

/* Pages stand once there, and directories have a PPN for each. The first mount writes them twice. */
static void format_8_is_taken_cut_at_every_operation(void) {
    unchanged_drive(1, 0);
    map_becomes_format_8();
    struct sim_copy at_cut = sim_save();
    struct drive history = drive;
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++) {
        ended = mount_cut_at(&at_cut, &history, cut);
        if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
        CHECK(map_pages_stand_twice() >= 2 && drive.ftl.old_root.sequence > 2);
        drive_judge();
    }
    sim_forget(&at_cut);
}

/* One page of the map goes bad before each mount. */
static void random_histories_with_an_error_in_the_map(void) {
    histories_with_an_error(9000011, map_page_goes_bad, map_page_heals);
}

const struct test map_tests[] = {
    {"two-maps: the blocks of all copies are kept", blocks_of_all_copies_are_kept},
    {"map pages and directories stand twice in different blocks", each_page_stands_twice_in_different_blocks},
    {"one unreadable page of the map harms nobody", one_unreadable_page_harms_nobody},
    {"unreadable copies of different pages of the map harm nobody", errors_in_different_pages_harm_nobody},
    {"a map page without a readable copy is refused, and nothing is touched",
     both_copies_unreadable_are_refused_and_nothing_is_touched},
    {"a map page with a word that cannot be is taken from its copy",
     page_with_a_word_that_cannot_be_is_taken_from_its_copy},
    {"a map of dies with sixteen blocks each", dies_of_sixteen_blocks},
    {"an error while the map becomes NONE is not overlooked", error_while_the_map_becomes_none_is_not_overlooked},
    {"an error of table memory is not overlooked", error_of_table_memory_is_not_overlooked},
    {"a drive of format 8 is taken, cut at every operation", format_8_is_taken_cut_at_every_operation},
    {"random histories with an error in the map", random_histories_with_an_error_in_the_map},
    {0},
};
