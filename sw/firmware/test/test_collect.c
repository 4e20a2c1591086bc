/* SPDX-License-Identifier: Apache-2.0 */
/* Garbage collection: blocks come back while the drive runs, and nothing is erased that is still needed. */
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
        if (sim_random(40) == 0) drive_flush();
    }
    return done;
}

static void drive_takes_more_than_it_holds(void) {
    static const uint32_t shapes[][5] = {{1, 1, 64, 8, 64}, {2, 2, 40, 8, 64}, {4, 2, 24, 8, 64}};
    for (uint32_t s = 0; s < 3; s++) {
        sim_new(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], shapes[s][4]);
        mounted();
        uint32_t pages = sim.g.dies * sim.g.blocks * sim.g.pages, writes = overwrite(pages * 2, DRIVE_LPNS);
        printf("%u pages, %u writes, %u released, %u moved, %u free, head %lu\n", pages, writes, drive.collect.released, drive.collect.moved_blocks, drive.ftl.blocks.total, hal_log_head());
        drive_flush();
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

/* Long enough that blocks come back; cuts at any instant, also in what the firmware does. */
static void random_histories_collect_and_keep_the_contract(void) {
    uint32_t released = 0, moved = 0, cuts = 0;
    for (unsigned long run = 0; run < test_runs / 16; run++) {
        sim_seed(test_seed * 7000003 + run);
        any_geometry();
        if (run % 2) with_faults();
        mounted();
        for (uint32_t cut = 0; cut < 3; cut++) {
            history(300 + sim_random(1200));
            released += drive.collect.released;
            moved += drive.collect.moved_blocks;
            if (sim_random(2) && drive_supply_cut(80, 1 + sim_random(40))) cuts++;
            else drive_cut();
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
    printf("released %u moved %u cuts %u\n", released, moved, cuts);
}

const struct test collect_tests[] = {
    {"random histories collect and keep the contract", random_histories_collect_and_keep_the_contract},
    {"a drive takes more than it holds", drive_takes_more_than_it_holds},
    {0},
};
