/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that move several at a time (ftl_moves.h). */
#include "drive_hw.h"
#include "ftl_blocks.h"
#include "tests.h"

static uint32_t block_of(uint32_t i) { return FTL_WORD_VALUE(hal_map()[drive_lpn(i)]) >> sim.g.page_bits; }

static const struct ftl_moves *moves(void) { return &drive.retire.moves; }

/* How many moves are in a state. */
static uint32_t in(enum ftl_move_state state) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < FTL_MOVES; i++) n += moves()->move[i].state == state;
    return n;
}

/* All LPNs are on NAND, over so many dies; nothing is collected but what the test says. */
static void filled(uint32_t dies) {
    sim_new(dies, 1, 48, 16, 64);
    mounted();
    sim.no_collect = true;
    for (uint32_t i = 0; i < 16; i++) write_one(i < 6 ? i : i - 6); /* one block is full, if there is one die */
}

/* The blocks that hold them are to be gone through. */
static void collect_all(void) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++)
        if (!ftl_retire_has(&drive.ftl, &drive.retire, block_of(i)))
            CHECK(ftl_retire_collect(&drive.supply, &drive.retire, block_of(i), false, 0));
}

/* All LPNs have left the blocks of `before`, and are there after a mount. */
static void moved_from(const uint32_t *before) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(block_of(i) != before[i]);
    remounted();
    drive_judge();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_value(drive_lpn(i)) != NOTHING && block_of(i) != before[i]);
}

static void note_blocks(uint32_t *block) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) block[i] = block_of(i);
}

static void several_pages_move_at_once_to_several_dies(void) {
    uint32_t before[DRIVE_LPNS], reads = 0, programs = 0, dies = 0;
    filled(4);
    uint32_t before_reads = sim.count[HAL_READ], oobs = sim.count[HAL_READ_OOB];
    note_blocks(before);
    collect_all();
    for (uint32_t n = 0; !ftl_retire_idle(&drive.ftl, &drive.retire); n++) {
        CHECK(n < 2000);
        drive_supply(1);
        uint32_t p = in(FTL_MOVE_PROGRAM), d = 0, blocks = 0;
        for (uint32_t die = 0; die < 4; die++) {
            uint32_t open = 0, r = ftl_moves_reads(&drive.ftl, moves(), die);
            for (uint32_t b = 0; b < FTL_MOVE_BLOCKS; b++)
                open += moves()->open[b].left != 0 && ftl_die_of(&sim.g, moves()->open[b].block - 1) == die;
            CHECK(open <= 2 && r <= 1 + drive.ftl.moves / 4);
            reads = r > reads ? r : reads;
            blocks += open;
            d += open != 0;
        }
        CHECK(blocks <= 4 || d == 4); /* of two dies, one without; closed ones are not counted */
        programs = p > programs ? p : programs;
        dies = d > dies ? d : dies;
    }
    CHECK(reads > 1 && programs > 1 && dies > 1 && drive.moved == DRIVE_LPNS);
    CHECK(sim.count[HAL_READ] - before_reads == DRIVE_LPNS && sim.count[HAL_READ_OOB] == oobs); /* no dead page */
    quiet();
    moved_from(before);
}

/* A block is a job twice: a victim that fails. Its pages move once. */
static void no_page_has_two_moves_at_once(void) {
    for (uint32_t seed = 1; seed < 40; seed++) {
        uint32_t before[DRIVE_LPNS];
        sim_seed(seed);
        filled(1);
        note_blocks(before);
        for (uint32_t n = 0; n < 3; n++) CHECK(ftl_retire_collect(&drive.supply, &drive.retire, block_of(0), false, 0));
        if (seed % 2) drive_weak(FTL_WORD_VALUE(hal_map()[drive_lpn(2)]));
        for (uint32_t n = 0; !ftl_retire_idle(&drive.ftl, &drive.retire); n++) {
            CHECK(n < 2000);
            drive_supply(1);
            for (uint32_t i = 0; i < FTL_MOVES; i++)
                for (uint32_t k = 0; k < i; k++)
                    CHECK(moves()->move[i].state == FTL_MOVE_NONE || moves()->move[k].state == FTL_MOVE_NONE ||
                          moves()->move[i].from != moves()->move[k].from);
        }
        CHECK(moves()->moved == DRIVE_LPNS);
        quiet();
        moved_from(before);
    }
}

/* One page is with the hardware, which is not done with it, others are copied and wait: nothing of their block is
 * settled, and none of theirs is closed. */
static void moves_that_wait_hold_both_blocks(void) {
    filled(1);
    uint32_t block = block_of(0);
    collect_all();
    sim.no_moves = true;
    uint32_t all = drive.ftl.moves < DRIVE_LPNS ? drive.ftl.moves : DRIVE_LPNS;
    for (uint32_t n = 0; in(FTL_MOVE_COPIED) + in(FTL_MOVE_HANDED) != all; n++) {
        CHECK(n < 2000);
        drive_supply(1);
    }
    CHECK(in(FTL_MOVE_HANDED) == 1 && hw.laters == 0);
    uint32_t to = moves()->open[0].block - 1;
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
    drive_supply(200);
    CHECK(hal_live(block) == 0 && hal_live(to) == 0 && ftl_retire_has(&drive.ftl, &drive.retire, block) &&
          !ftl_retire_waits(&drive.retire, block) == (drive.retire.jobs == 0) &&
          ftl_moves_to(&drive.ftl, moves(), to) && !ftl_blocks_is_data(&drive.ftl, to));
    sim.no_moves = false;
    quiet();
    CHECK(!ftl_retire_has(&drive.ftl, &drive.retire, block) && !ftl_moves_to(&drive.ftl, moves(), to));
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* A round that hands pages over is followed by one that does not: a checkpoint finds a moment without. */
static void checkpoint_finds_a_moment_without_moves(void) {
    uint32_t handed = 0;
    filled(4);
    for (uint32_t round = 0; round < 20; round++) {
        bool last = false;
        collect_all();
        for (uint32_t n = 0; !ftl_retire_idle(&drive.ftl, &drive.retire); n++) {
            CHECK(n < 2000);
            drive_supply(1);
            CHECK(!(last && moves()->handed));
            last = moves()->handed;
            handed += last;
        }
    }
    CHECK(handed > 50);
}

/* The n-th program of a pipeline that is full fails: no program is begun behind it in its block, and all pages that
 * were moved there, handed over or not, move again. */
static void program_that_fails_among_others_takes_its_block_only(void) {
    uint32_t again = 0;
    for (uint32_t seed = 1; seed < 120; seed++) {
        uint32_t before[DRIVE_LPNS], at = seed % 6, bad = FTL_NO_BLOCK;
        sim_seed(seed);
        filled(1 + seed % 4);
        note_blocks(before);
        collect_all();
        sim.no_moves = seed % 3 != 0;
        for (uint32_t n = 0; moves()->moved < at && n < 400; n++) drive_supply(1);
        sim.fail_next[FTL_KIND_DATA] = 1;
        for (uint32_t n = 0; sim.fail_next[FTL_KIND_DATA] != 0 && n < 400; n++) drive_supply(1);
        if (sim.fail_next[FTL_KIND_DATA] != 0) sim.no_moves = false; /* all wait to be handed over */
        for (uint32_t n = 0; sim.fail_next[FTL_KIND_DATA] != 0; n++) {
            CHECK(n < 2000);
            drive_supply(1);
        }
        uint32_t steps = sim_random(40), last = 0;
        for (uint32_t n = 0; ftl_blocks_count_bad(&drive.ftl) == 0 && n < 400; n++) drive_supply(1);
        drive_supply(steps);
        for (uint32_t b = 0; b < sim.g.dies * 64; b++)
            if (ftl_block_exists(&sim.g, b) && ftl_blocks_is_bad(&drive.ftl, b)) bad = b;
        CHECK(bad != FTL_NO_BLOCK && ftl_blocks_count_bad(&drive.ftl) == 1);
        last = (uint32_t)sim_last[bad];
        again += last != 0;
        sim.no_moves = false;
        quiet();
        CHECK((uint32_t)sim_last[bad] == last);
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(block_of(i) != bad);
        moved_from(before);
    }
    CHECK(again > 20);
}

/* Cut while every stage has a page, with what is under way kept, torn or dropped. */
static void cut_with_all_stages_occupied_loses_nothing(void) {
    uint32_t cuts = 0;
    for (uint32_t seed = 1; seed < 400; seed++) {
        sim_seed(seed);
        filled(2 + seed % 3);
        collect_all();
        bool all = false;
        for (uint32_t n = 0; !all && n < 300; n++) {
            sim.no_moves = sim_random(3) != 0;
            drive_supply(1);
            all = in(FTL_MOVE_READ) != 0 && in(FTL_MOVE_PROGRAM) != 0 && in(FTL_MOVE_COPIED) != 0 &&
                  in(FTL_MOVE_HANDED) != 0;
        }
        if (seed % 4 == 0) (void)drive_write(&(uint32_t){drive_lpn(sim_random(DRIVE_LPNS))}, 1, true);
        sim.no_moves = false;
        cuts += all;
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_value(drive_lpn(i)) != NOTHING);
        CHECK(drive.ftl.report.lost.dropped == 0 || seed % 4 == 0);
    }
    CHECK(cuts > 100);
}

/* The first block to move to is one of those kept for that; the next ones leave the log half of its reserve. */
static void only_the_first_block_is_of_the_reserve(void) {
    filled(2);
    struct ftl *f = &drive.ftl;
    f->health.spare = 1; /* the map may not have more for it */
    uint32_t total = f->blocks.total, kept = ftl_supply_kept_from_moves(f), log = FTL_LOG_LAST * sim.g.lanes;
    for (uint32_t n = 0; n < kept + log + 4; n++) {
        f->blocks.total = n;
        drive.supply.moves_open = 0;
        CHECK(ftl_supply_moves_may(f, &drive.supply) == (n > kept));
        drive.supply.moves_open = 2;
        f->health.spare = 1;
        CHECK(!ftl_supply_moves_may(f, &drive.supply));
        f->health.spare = 2;
        CHECK(ftl_supply_moves_may(f, &drive.supply) == (n > kept + FTL_COLLECT_BLOCKS + log));
    }
    f->blocks.total = total;
}

const struct test moves_tests[] = {
    {"several pages move at once, to several dies", several_pages_move_at_once_to_several_dies},
    {"no page has two moves at once", no_page_has_two_moves_at_once},
    {"moves that wait hold the blocks they are from and to", moves_that_wait_hold_both_blocks},
    {"a checkpoint finds a moment without moves", checkpoint_finds_a_moment_without_moves},
    {"a program that fails among others takes its block only", program_that_fails_among_others_takes_its_block_only},
    {"a cut with all stages of moves occupied loses nothing", cut_with_all_stages_occupied_loses_nothing},
    {"only the first block to move to is of the reserve", only_the_first_block_is_of_the_reserve},
    {0},
};
