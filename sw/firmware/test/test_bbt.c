/* SPDX-License-Identifier: Apache-2.0 */
/* Factory marks and the bad-block table. */
#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "tests.h"

static bool nothing_written(void) { return sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0; }

static bool is_bad(uint32_t id) { return ftl_blocks_is_bad(&drive.ftl, id); }

/* A block fails, as the firmware learns it when it has nothing else in flight. */
static uint32_t grown(uint32_t die, uint32_t block) {
    for (uint32_t i = 0; i < 5000 && !ftl_io_empty(&drive.ftl.io); i++) drive_supply(1);
    uint32_t id = ftl_block_id(&sim.g, die, block);
    CHECK(ftl_bbt_mark(&drive.ftl, id));
    return id;
}

/* The page of a copy's newest version, by the firmware's own account. */
static struct sim_page *page_of_copy(uint32_t copy) {
    const struct ftl_bbt_copy *c = &drive.ftl.bbt.copy[copy];
    struct sim_page *p = &sim_pages[ftl_first_ppn(&sim.g, ftl_table_block(&sim.g, copy, c->holder))], *newest = p;
    for (uint32_t i = 0; i < sim.g.pages; i++)
        if (p[i].state == SIM_WHOLE && p[i].kind == FTL_KIND_BBT) newest = &p[i];
    CHECK(newest->kind == FTL_KIND_BBT && newest->sequence == c->version);
    return newest;
}

static void marked_blocks_are_bad_and_nothing_else(void) {
    for (uint32_t run = 0; run < 30; run++) {
        sim_seed(run);
        sim_new(1 + run % 2, 2, 40, 8, 64);
        sim_factory(100);
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        for (uint32_t die = 0; die < sim.g.dies; die++)
            for (uint32_t b = 0; b < sim.g.blocks; b++)
                CHECK(is_bad(ftl_block_id(&sim.g, die, b)) == (sim_blocks[ftl_block_id(&sim.g, die, b)].mark != 0));
        CHECK(sim.count[HAL_READ_MARK] == 3 * sim.g.dies * sim.g.blocks &&
              drive.ftl.report.blocks_bad == ftl_blocks_count_bad(&drive.ftl));
    }
}

static void table_is_found_again_and_not_written_again(void) {
    sim_new(2, 2, 40, 8, 64);
    sim_factory(50);
    mounted();
    CHECK(sim.programs[FTL_KIND_BBT] == 2);
    uint32_t bad = drive.ftl.report.blocks_bad;
    for (uint32_t i = 0; i < 4; i++) {
        remounted();
        CHECK(bad != 0 && drive.ftl.report.blocks_bad == bad && sim.count[HAL_READ_MARK] == 0 &&
              sim.programs[FTL_KIND_BBT] == 0);
    }
}

static void newer_copy_wins_and_the_older_one_follows(void) {
    for (uint32_t first = 0; first < 2; first++) {
        sim_new(2, 1, 40, 8, 64);
        mounted();
        if (first) drive.ftl.bbt.copy[1].version--; /* the older one is written first */
        uint32_t id = grown(1, 20);
        while (drive.ftl.bbt.copy[first].version != drive.ftl.bbt.version) ftl_bbt_step(&drive.ftl);
        CHECK(drive.ftl.bbt.copy[1 - first].version != drive.ftl.bbt.version);
        remounted();
        /* the newer one may fade */
        CHECK(is_bad(id) && sim.programs[FTL_KIND_BBT] == 2 && page_of_copy(0)->sequence == page_of_copy(1)->sequence);
    }
}

/* A version that was cut in its program, and reads still, is the only copy: it is written again before anything counts
 * on it. */
static void only_copy_that_fades_is_written_again(void) {
    for (uint32_t fades = 6; fades < 12; fades++) {
        sim_new(1, 1, 52, 8, 64);
        mounted();
        uint32_t id = grown(0, 20);
        while (drive.ftl.bbt.copy[0].version != drive.ftl.bbt.version) ftl_bbt_step(&drive.ftl);
        page_of_copy(0)->fades = fades;
        for (uint32_t i = 0; i < 12; i++) {
            remounted();
            CHECK(is_bad(id));
        }
    }
}

static void torn_copy_is_written_again_from_the_other(void) {
    for (uint32_t torn = 0; torn < 2; torn++) {
        sim_new(1, 1, 52, 8, 64);
        mounted();
        uint32_t id = grown(0, 20);
        ftl_bbt_write(&drive.ftl);
        page_of_copy(torn)->state = SIM_TORN;
        for (uint32_t i = 0; i < 2; i++) {
            remounted();
            CHECK(is_bad(id) && sim.programs[FTL_KIND_BBT] == 2 - 2 * i);
        }
        page_of_copy(1 - torn)->state = SIM_TORN;
        remounted();
        CHECK(is_bad(id));
    }
}

static void lost_table_is_built_from_the_marks(void) {
    sim_new(2, 1, 40, 8, 64);
    sim_factory(80);
    mounted();
    uint32_t bad = drive.ftl.report.blocks_bad;
    uint64_t version = drive.ftl.bbt.version;
    CHECK(drive_write(&(uint32_t){drive_lpn(3)}, 1, true));
    drive_settle();
    for (uint32_t c = 0; c < 2; c++) page_of_copy(c)->state = SIM_TORN;
    remounted();
    CHECK(drive.ftl.report.blocks_bad == bad && sim.count[HAL_READ_MARK] != 0 && drive.ftl.bbt.version >= version &&
          drive_value(drive_lpn(3)) != NOTHING);
}

/* Each version with what it says, then a cut at every operation of writing the next one. */
static void table_cut_at_every_operation_is_the_old_or_the_new_one(void) {
    for (uint32_t run = 0; run < 120; run++) {
        sim_seed(run);
        sim_new(1 + run % 2, 1, 52, 8, 64);
        mounted();
        uint32_t ids[12], n = run % 12;
        for (uint32_t i = 0; i < n; i++) {
            ids[i] = grown(0, 20 + i);
            ftl_bbt_write(&drive.ftl);
        }
        sim_learn(&drive.ftl);
        if (run % 3 == 0) remounted();
        if (run % 3 == 0) drive_start();
        uint32_t last = grown(0, 19);
        sim.fail_next[FTL_KIND_BBT] = run % 5 == 0;
        bool was_cut = drive_supply_cut(40, 1 + run / 12);
        if (!was_cut) drive_cut_dropping_all();
        sim.fail_next[FTL_KIND_BBT] = 0;
        CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.count[HAL_READ_MARK] == 0);
        for (uint32_t i = 0; i < n; i++) CHECK(is_bad(ids[i]));
        CHECK(was_cut || is_bad(last));
    }
}

static void table_blocks_that_fail_are_replaced(void) {
    for (uint32_t fails = 1; fails < 8; fails++) {
        sim_new(2, 1, 40, 8, 64);
        sim.fail_next[FTL_KIND_BBT] = fails;
        mounted();
        uint32_t bad = fails < 6 ? fails : 6, id = grown(1, 20);
        CHECK(drive.ftl.report.blocks_bad == bad && is_bad(ftl_table_block(&sim.g, 0, 0)));
        sim.fail_next[FTL_KIND_BBT] = 0;
        ftl_bbt_write(&drive.ftl);
        remounted();
        if (fails < 6) CHECK(is_bad(id) && drive.ftl.report.blocks_bad == bad + 1);
    }
}

static void only_whole_copy_is_never_erased(void) {
    sim_new(2, 1, 40, 8, 64);
    mounted();
    for (uint32_t n = 0; n < 3; n++) (void)ftl_bbt_mark(&drive.ftl, ftl_table_block(&sim.g, 1, n));
    for (uint32_t n = 1; n < 3; n++) (void)ftl_bbt_mark(&drive.ftl, ftl_table_block(&sim.g, 0, n));
    ftl_bbt_write(&drive.ftl);
    remounted();
    (void)grown(0, 20);
    ftl_bbt_write(&drive.ftl); /* no block for it but the one with the only copy */
    CHECK(sim.programs[FTL_KIND_BBT] == 0);
    remounted();
    CHECK(drive.ftl.report.blocks_bad == 5);
}

static void blocks_that_fail_to_erase_are_never_tried_again(void) {
    for (uint32_t n = 1; n < 6; n++) {
        sim_new(2, 1, 40, 8, 64);
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        sim.fail_erase_at = sim.count[HAL_ERASE] + n;
        drive_start();
        drive_supply(200);
        uint32_t bad = ftl_blocks_count_bad(&drive.ftl);
        CHECK(bad == 1);
        sim.fail_erase_at = 0;
        for (uint32_t i = 0; i < 60; i++) { /* through all blocks of the drive; the simulation watches */
            remounted();
            CHECK(drive.ftl.report.blocks_bad == bad);
            drive_start();
        }
    }
}

static void table_of_several_pages_is_written_and_found(void) {
    sim_new(8, 8, 520, 8, 64);
    sim.g.firmware_frames = 19 + 33;
    mounted();
    CHECK(drive.ftl.blocks.frames == 2 && sim.programs[FTL_KIND_BBT] == 4);
    uint32_t low = grown(0, 300), high = grown(63, 519);
    ftl_bbt_step(&drive.ftl); /* one page of two */
    uint32_t later = grown(62, 1);
    ftl_bbt_write(&drive.ftl);
    for (uint32_t i = 0; i < 2; i++) {
        remounted();
        CHECK(is_bad(low) && is_bad(high) && is_bad(later) && sim.programs[FTL_KIND_BBT] == 0 &&
              drive.ftl.report.blocks_bad == 3);
    }
    uint64_t version = page_of_copy(0)->sequence;
    CHECK(version == page_of_copy(1)->sequence);
    /* the second page of the newest version is lost in both copies: the version before does not exist as a whole */
    for (uint32_t p = 0; p < sim.g.pages; p++) {
        struct sim_page *a =
            &sim_pages[ftl_first_ppn(&sim.g, ftl_table_block(&sim.g, 0, drive.ftl.bbt.copy[0].holder)) + p];
        if (a->state == SIM_WHOLE && a->lpn == 1) a->state = SIM_TORN;
    }
    remounted();
    CHECK(is_bad(low) && is_bad(high) && is_bad(later));
}

static void too_few_good_blocks_are_refused(void) {
    sim_new(2, 2, 40, 8, 64);
    sim_factory(900);
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_BLOCKS && nothing_written() && !sim.enabled);
    CHECK(drive.ftl.report.good_blocks < drive.ftl.report.needed && drive.ftl.report.needed < 64);
}

/* No version of the format that is mounted puts data there, but the firmware would not lose it. */
static void data_in_the_blocks_of_the_table_moves_out(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
    drive_settle();
    remounted();
    uint32_t from = FTL_WORD_VALUE(hal_map()[drive_lpn(0)]) / 8, moved = 0;
    for (uint32_t p = 0; p < 52 * 8; p++) /* both copies of the map name block 2 in place of that block */
        for (uint32_t i = 0; i < DRIVE_LPNS && sim_pages[p].state == SIM_WHOLE && sim_pages[p].kind == FTL_KIND_MAP;
             i++) {
            uint32_t *word = &sim_pages[p].words[drive_lpn(i)];
            if (FTL_WORD_VALUE(*word) / 8 == from) *word = FTL_WORD_NAND(2 * 8 + FTL_WORD_VALUE(*word) % 8), moved++;
        }
    for (uint32_t b = 2; b < 8; b++) {
        sim_last[b] = b == 2 ? 7 : -1;
        for (uint32_t p = 0; p < 8; p++) {
            if (b == 2) sim_pages[b * 8 + p] = sim_pages[from * 8 + p];
            else sim_pages[b * 8 + p].state = SIM_BLANK;
        }
    }
    remounted();
    CHECK(moved != 0 && drive.ftl.bbt.copy[0].holder == 1 && drive.ftl.bbt.copy[1].holder == 0);
    drive_start();
    drive_supply(400);
    CHECK(ftl_retire_idle(&drive.ftl, &drive.retire) && drive.moved == moved / 2 && drive.ftl.report.blocks_bad == 0);
    drive_settle();
    remounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++)
        CHECK(drive_value(drive_lpn(i)) != NOTHING && FTL_WORD_VALUE(hal_map()[drive_lpn(i)]) / 8 >= 8);
}

const struct test bbt_tests[] = {
    {"blocks with a factory mark are bad, and no others", marked_blocks_are_bad_and_nothing_else},
    {"the bad-block table is found again and not written again", table_is_found_again_and_not_written_again},
    {"the newer copy of the table wins and the older one follows", newer_copy_wins_and_the_older_one_follows},
    {"an only copy of the table that fades is written again", only_copy_that_fades_is_written_again},
    {"a torn copy of the table is written again", torn_copy_is_written_again_from_the_other},
    {"a lost table is built from the factory marks", lost_table_is_built_from_the_marks},
    {"a table cut at every operation is the old or the new one",
     table_cut_at_every_operation_is_the_old_or_the_new_one},
    {"blocks of the table that fail are replaced", table_blocks_that_fail_are_replaced},
    {"the only whole copy of the table is never erased", only_whole_copy_is_never_erased},
    {"blocks that fail to erase are never tried again", blocks_that_fail_to_erase_are_never_tried_again},
    {"a table of several pages is written and found", table_of_several_pages_is_written_and_found},
    {"too few good blocks are refused and nothing is touched", too_few_good_blocks_are_refused},
    {"data in the blocks of the table moves out", data_in_the_blocks_of_the_table_moves_out},
    {0},
};
