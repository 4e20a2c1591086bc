/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"
#include "ftl_dies.h"
#include "tests.h"

static uint32_t fill(uint32_t limit) {
    uint32_t writes = 0;
    while (writes < limit && drive_write(&(uint32_t){drive_lpn(writes % DRIVE_LPNS)}, 1, true)) {
        writes++;
        drive_supply(10);
        if (writes % 16 == 0) drive_settle();
    }
    drive_supply(100);
    return writes;
}

static void log_is_served_before_data(void) {
    sim_new(1, 1, 52, 8, 64);
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive.supply = (struct ftl_supply){0};
    while (sim.data[0].n == 0) drive_supply(1);
    CHECK(sim.lane[0].n >= 3); /* two of the mount, and the first one erased since */
    drive_supply(100);
    CHECK(sim.data[0].n == SIM_FIFO && !sim.full);
}

static void a_full_drive_says_so_keeps_a_log_and_mounts(void) {
    static const uint32_t shapes[][5] = {{1, 1, 60, 8, 64}, {2, 2, 24, 8, 64}, {4, 1, 32, 8, 64}};
    for (uint32_t s = 0; s < 3; s++) {
        sim_new(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], shapes[s][4]);
        mounted();
        sim.no_collect = true;
        uint32_t writes = fill(100000);
        CHECK(writes > shapes[s][0] * shapes[s][1] * shapes[s][2] * shapes[s][3] / 4 && sim.full);
        CHECK(sim.lane[0].n >= 2);
        uint32_t last = drive.ftl.blocks.total;
        CHECK(last >= ftl_supply_kept(&drive.ftl));
        CHECK(last == ftl_supply_kept(&drive.ftl) || sim.log_full == 0);
        drive_append((struct ftl_entry){.kind = FTL_TRIM, .n = 1, .lpn = drive_lpn(9), .arg = 1});
        /* the log goes on, down to the last block it may have */
        for (uint32_t i = 0; i < 600 && (i == 0 || drive_can_close()); i++) {
            if (drive_can_close()) drive_close();
            drive_finish_log();
            drive_supply(20);
            drive_append((struct ftl_entry){.kind = FTL_TRIM, .n = 1, .lpn = drive_lpn(9), .arg = 1});
            /* who is told that no block comes gets none, and the others do */
            for (uint32_t l = 0; l < sim.g.lanes; l++)
                CHECK(!(sim.log_full >> l & 1u) == (drive.supply.lane[l].waiting + drive.supply.lane[l].coming != 0 ||
                                                    drive.ftl.blocks.total > ftl_supply_kept(&drive.ftl)));
        }
        CHECK(sim.log_full != 0);
        for (uint32_t i = 0; i < 3; i++) remounted();
        CHECK(drive_value(drive_lpn(9)) == NOTHING && !sim.full && sim.log_full == 0);
        drive_start();
        CHECK(fill(20) == 20);
    }
}

static void a_mount_frees_what_is_not_used_any_more(void) {
    sim_new(2, 2, 24, 8, 64);
    mounted();
    for (uint32_t i = 0; i < 12; i++) {
        CHECK(fill(150) == 150);
        drive_settle();
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
        CHECK(drive.ftl.report.blocks_free + ftl_blocks_mount_reserve(&sim.g) > 24 * 4 - 30);
        drive_start();
    }
}

static void a_block_that_fails_to_erase_is_not_handed_over(void) {
    sim_new(1, 1, 52, 8, 64);
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    sim.fail_erase_at = sim.count[HAL_ERASE] + 3;
    drive_start(); /* the simulation refuses a block that is not erased */
    drive_supply(200);
    CHECK(sim.data[0].n == SIM_FIFO && sim.lane[0].n == SIM_FIFO);
}

/* Dies that use up what they get as it comes get the same: at most half of them may have an erase. */
static void dies_get_blocks_in_turn(void) {
    uint32_t given[4] = {0}, most = 0, least = ~0u;
    sim_new(4, 1, 96, 8, 64);
    mounted();
    sim.no_collect = true;
    drive_supply(100);
    for (uint32_t i = 0; i < 100; i++) {
        for (uint32_t die = 0; die < 4; die++) {
            given[die] += sim.data[die].n;
            sim.data[die].n = 0;
        }
        drive_supply(1);
        if (given[0] + given[1] + given[2] + given[3] >= 100) break;
    }
    for (uint32_t die = 0; die < 4; die++) {
        if (given[die] > most) most = given[die];
        if (given[die] < least) least = given[die];
    }
    CHECK(most >= 24 && most - least <= 2);
}

/* `bad` blocks of the dies that are there are bad from the factory, none that a drive keeps for itself. */
static int mount_with_bad_blocks(const uint32_t *shape, uint32_t lbas, uint32_t bad) {
    sim_new(shape[0], shape[1], 96, 8, lbas);
    sim.g.missing_dies = ftl_dies_count(shape[2]);
    sim.dead = sim.closed = shape[2];
    for (uint32_t b = sim.g.blocks; b-- > FTL_KEPT_BLOCKS / (sim.g.dies == 1 ? 1 : 2) && bad != 0;)
        for (uint32_t die = 0; die < sim.g.dies && bad != 0; die++)
            if (!ftl_dies_has(sim.dead, die)) sim_mark_bad(ftl_block_id(&sim.g, die, b)), bad--;
    CHECK(bad == 0);
    return sim_mount(&drive.ftl);
}

/* With as few good blocks as a format accepts there is room for a page of each LPN, and for more when all of them have
 * data. */
static void drive_of_few_blocks_takes_what_it_promises(void) {
    /* channels, ways, dies that are missing */
    static const uint32_t shapes[][3] = {{1, 1, 0}, {2, 1, 0}, {2, 2, 0}, {4, 1, 0}, {4, 1, 2 | 4}, {4, 2, 4 | 8 | 16}};
    for (uint32_t run = 0; run < 2 * sizeof shapes / sizeof shapes[0]; run++) {
        const uint32_t *shape = shapes[run / 2], lbas = run % 2 ? 20 * DRIVE_LPNS : DRIVE_LPNS;
        uint32_t bad = 84 * (shape[0] * shape[1] - ftl_dies_count(shape[2]));
        CHECK(mount_with_bad_blocks(shape, lbas, bad) == FTL_ERR_BLOCKS);
        bad -= drive.ftl.report.needed - drive.ftl.report.good_blocks;
        CHECK(mount_with_bad_blocks(shape, lbas, bad + 1) == FTL_ERR_BLOCKS && !sim.enabled);
        CHECK(mount_with_bad_blocks(shape, lbas, bad) == FTL_OK);
        drive_start();
        CHECK(fill(lbas) == lbas);
        for (uint32_t session = 0; session < 2; session++) {
            drive_settle();
            remounted();
            drive_judge();
            /* all have data, and no block has others: data gets some, also when the log takes its own first */
            if (session == 0 && lbas == DRIVE_LPNS)
                CHECK(drive.ftl.report.blocks_free >
                      ftl_supply_kept(&drive.ftl) +
                          (FTL_LOG_RESERVE + sim.g.lane_blocks - FTL_LANE_FIRST + FTL_AHEAD) * sim.g.lanes);
            drive_start();
            CHECK(fill(DRIVE_LPNS) == DRIVE_LPNS);
        }
    }
}

const struct test supply_tests[] = {
    {"a drive of few blocks takes what it promises", drive_of_few_blocks_takes_what_it_promises},
    {"the log is served before data", log_is_served_before_data},
    {"a full drive says so, keeps a log and mounts", a_full_drive_says_so_keeps_a_log_and_mounts},
    {"a mount frees what is not used any more", a_mount_frees_what_is_not_used_any_more},
    {"dies get erased blocks in turn", dies_get_blocks_in_turn},
    {"a block that fails to erase is not handed over", a_block_that_fails_to_erase_is_not_handed_over},
    {0},
};
