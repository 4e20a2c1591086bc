/* SPDX-License-Identifier: Apache-2.0 */
#include "tests.h"

static uint32_t fill(uint32_t limit) {
    uint32_t writes = 0;
    while (writes < limit && drive_write(&(uint32_t){drive_lpn(writes % DRIVE_LPNS)}, 1, true)) {
        writes++;
        drive_supply(10);
        if (writes % 16 == 0) drive_flush();
    }
    drive_supply(100);
    return writes;
}

static void log_is_served_before_data(void) {
    sim_new(1, 1, 40, 8, 64);
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive.supply = (struct ftl_supply){0};
    while (sim.data[0].n == 0) drive_supply(1);
    CHECK(sim.lane[0].n >= 3); /* two of the mount, and the first one erased since */
    drive_supply(100);
    CHECK(sim.data[0].n == SIM_FIFO && !sim.full);
}

static void a_full_drive_says_so_keeps_a_log_and_mounts(void) {
    static const uint32_t shapes[][5] = {{1, 1, 48, 8, 64}, {2, 2, 24, 8, 64}, {4, 1, 32, 8, 64}};
    for (uint32_t s = 0; s < 3; s++) {
        sim_new(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], shapes[s][4]);
        mounted();
        uint32_t writes = fill(100000);
        CHECK(writes > shapes[s][0] * shapes[s][1] * shapes[s][2] * shapes[s][3] / 4 && sim.full);
        CHECK(sim.lane[0].n >= 2);
        uint32_t last = drive.ftl.blocks.total;
        CHECK(last >= ftl_blocks_mount_reserve(&sim.g));
        CHECK(last == ftl_blocks_mount_reserve(&sim.g) || sim.log_full == 0);
        drive_append((struct ftl_entry){.kind = FTL_TRIM, .n = 1, .lpn = drive_lpn(9), .arg = 1});
        for (uint32_t i = 0; i < 600 && (i == 0 || drive_can_close()); i++) { /* the log goes on, down to the last block it may have */
            if (drive_can_close()) drive_close();
            drive_finish_log();
            drive_supply(20);
            drive_append((struct ftl_entry){.kind = FTL_TRIM, .n = 1, .lpn = drive_lpn(9), .arg = 1});
            for (uint32_t l = 0; l < sim.g.lanes; l++) /* who is told that no block comes gets none, and the others do */
                CHECK(!(sim.log_full >> l & 1u) == (drive.supply.lane[l].waiting + drive.supply.lane[l].coming != 0 || drive.ftl.blocks.total > ftl_blocks_mount_reserve(&sim.g)));
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
        drive_flush();
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
        CHECK(drive.ftl.report.blocks_free > 24 * 4 - 30);
        drive_start();
    }
}

static void a_block_that_fails_to_erase_is_not_handed_over(void) {
    sim_new(1, 1, 40, 8, 64);
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    sim.fail_erase_at = sim.count[HAL_ERASE] + 3;
    drive_start(); /* the simulation refuses a block that is not erased */
    drive_supply(200);
    CHECK(sim.data[0].n == SIM_FIFO && sim.lane[0].n == SIM_FIFO);
}

const struct test supply_tests[] = {
    {"the log is served before data", log_is_served_before_data},
    {"a full drive says so, keeps a log and mounts", a_full_drive_says_so_keeps_a_log_and_mounts},
    {"a mount frees what is not used any more", a_mount_frees_what_is_not_used_any_more},
    {"a block that fails to erase is not handed over", a_block_that_fails_to_erase_is_not_handed_over},
    {0},
};
