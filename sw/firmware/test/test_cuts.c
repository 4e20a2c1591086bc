/* SPDX-License-Identifier: Apache-2.0 */
/* Power cuts: of the first format, of a recovery at every NAND operation, of random histories. */
#include "drive_hw.h"
#include "ftl_root.h"
#include "tests.h"
#include "traffic.h"

/* A drive of several dies that is made without one of them, which may answer later. Without its first or last die it
 * has three anchors, of which one may fail: that is too few for the faults of many mounts. */
static void without_a_die(bool faults) {
    static const uint32_t shapes[][5] = {
        {2, 2, 76, 8, 1100}, {4, 2, 24, 8, 64}, {3, 1, 120, 8, 1100}, {1, 4, 32, 16, 64}, {1, 2, 80, 8, 64}};
    const uint32_t *s = shapes[sim_random(faults ? 4 : 5)];
    sim_new(s[0], s[1], s[2], s[3], s[4]);
    sim.g.missing_dies = 1;
    sim.closed = sim.dead = 1ull << (faults ? 1 + sim_random(sim.g.dies - 2) : sim_random(sim.g.dies));
    sim.dead_floats = sim_random(2);
}

/* One page that was complete cannot be read any more: a copy of a root, or a seal. Not if the root stands once. */
static uint32_t media_error(void) {
    struct sim_page *pages[64], *p = NULL;
    uint32_t n = 0;
    while ((p = sim_next(p, FTL_KIND_ROOT)) != NULL) {
        uint32_t copies = 0;
        for (struct sim_page *o = NULL; (o = sim_next(o, FTL_KIND_ROOT)) != NULL;)
            copies +=
                o->fades == 0 && o->sequence == p->sequence && !sim_blocks[(o - sim_pages) >> sim.g.page_bits].never;
        if (copies == 2) pages[n++] = p;
    }
    while ((p = sim_next(p, FTL_KIND_SEAL)) != NULL) pages[n++] = p;
    if (n != 0) pages[sim_random(n)]->state = SIM_TORN;
    return n != 0;
}

static void random_histories(unsigned long runs, bool whole, bool faults, bool errors) {
    int status;
    uint32_t closed = 0, unread = 0, dropped = 0, cuts = 0, replayed = 0, failed[SIM_KINDS] = {0}, erases = 0,
             moved = 0, moves_cut = 0, left = 0, kept = 0, committed = 0;
    for (unsigned long run = 0; run < runs; run++) {
        sim_seed(test_seed * 1000003 + run);
        do { /* the factory may have left too few blocks */
            if (whole) any_geometry();
            else without_a_die(faults);
            if (faults) with_faults();
            status = sim_mount(&drive.ftl);
        } while (faults && status == FTL_ERR_BLOCKS);
        CHECK(status == FTL_OK);
        sim.split = !faults && run % 2 != 0;
        drive_start();
        for (uint32_t cut = 0; cut < 3; cut++) {
            history(5 + sim_random(90));
            if (sim_random(3) == 0 && drive_supply_cut(60, 1 + sim_random(30))) moves_cut++;
            else drive_cut();
            moved += drive.moved;
            left += hw.left;
            if (sim.closed != 0 && sim_random(4) == 0) sim.dead ^= sim.closed;
            uint32_t error = errors && sim_random(2) ? 1 + sim_random(4) : 0; /* in which of the mounts that are cut */
            if (error == 1) unread += media_error();
            while (sim_random(2)) { /* recovery is cut, too */
                sim.cut_at = 1 + sim_random(sim_random(2) ? 40 : 150);
                if (sim_mount(&drive.ftl) == -1) cuts++;
                else drive_cut_dropping_all(), error = 0;
                if (error > 1 && --error == 1) unread += media_error();
            }
            sim.cut_at = 0;
            status = sim_mount(&drive.ftl);
            if (faults && status == FTL_ERR_ANCHOR) { /* it can be read, and has no place for a root */
                CHECK(ftl_root_anchors(&drive.ftl) < 2 && drive.ftl.report.readable && sim.read_only);
                drive_judge();
                closed++;
                break;
            }
            CHECK(status == FTL_OK);
            dropped += sim.dropped;
            replayed += drive.ftl.report.entries;
            drive_judge();
            kept += drive.kept;
            for (uint32_t i = 0; i < drive.items; i++) committed += drive.item[i].prepared;
            drive_start();
        }
        for (uint32_t k = 0; k < SIM_KINDS; k++) failed[k] += sim.failed[k];
        erases += sim.failed_erases;
    }
    CHECK(closed <= runs / 200);
    if (runs < 100) return;
    CHECK(!errors || unread > runs / 4);
    CHECK(dropped > 100 && cuts > 100 && replayed > 1000);
    CHECK(kept > runs / 8 && committed > runs / 8);
    if (!faults || runs < 2000) return;
    CHECK(failed[FTL_KIND_DATA] > 100 && failed[FTL_KIND_LOG] > 100 && failed[FTL_KIND_MAP] > 5 &&
          failed[FTL_KIND_ROOT] > 5 && failed[FTL_KIND_BBT] > 20);
    CHECK(left > runs / 500 && erases > 50 && moved > 100 && moves_cut > 20);
}

static void random_histories_keep_the_contract(void) { random_histories(test_runs, true, false, false); }

static void random_histories_with_faults_keep_the_contract(void) { random_histories(test_runs, true, true, false); }

static void random_histories_without_a_die_keep_the_contract(void) {
    random_histories(test_runs / 4, false, false, false);
    random_histories(test_runs / 4, false, true, false);
}

static void random_histories_with_unreadable_pages_keep_the_contract(void) {
    random_histories(test_runs / 2, true, false, true);
    random_histories(test_runs / 2, true, true, true);
}

static void recovery_cut_at_every_operation_comes_to_the_same_values(void) {
    uint32_t wanted[DRIVE_LPNS];
    for (uint32_t seed = 1; seed <= 6; seed++) {
        sim_seed(seed);
        any_geometry();
        sim.stays = seed > 3; /* then all cuts come to the same values */
        if (seed % 2 == 0) with_faults();
        mounted();
        history(400); /* the log is over several blocks */
        drive_cut();
        struct sim_copy at_cut = sim_save();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) wanted[i] = drive_value(drive_lpn(i));
        bool ended = false;
        for (uint32_t cut = 1; !ended; cut++)
            for (uint32_t luck = 0; luck < 3; luck++) {
                sim_restore(&at_cut);
                sim_seed(cut * 10 + luck);
                sim.cut_at = cut;
                ended = sim_mount(&drive.ftl) != -1;
                if (!ended && luck == 2) { /* and once more, later or earlier */
                    sim.cut_at = 1 + sim_random(cut + 10);
                    if (sim_mount(&drive.ftl) != -1) drive_cut_dropping_all();
                }
                sim.cut_at = 0;
                if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
                for (uint32_t i = 0; i < DRIVE_LPNS && sim.stays; i++) CHECK(drive_value(drive_lpn(i)) == wanted[i]);
                drive_judge();
            }
        sim_forget(&at_cut);
    }
}

static void first_format_cut_at_every_operation_is_done_again(void) {
    for (uint32_t luck = 0; luck < 10; luck++) /* first the marks are read */
        for (uint32_t cut = 1, dies = (1 + luck % 2) * (1 + luck / 5);; cut += cut + 13 < 3 * dies * 48 ? 13 : 1) {
            sim_seed(luck);
            sim_new(1 + luck % 2, 1 + luck / 5, 54, 8, 64);
            if (luck % 3 == 0) with_faults();
            sim.cut_at = cut;
            bool ended = sim_mount(&drive.ftl) != -1;
            sim.cut_at = 0;
            if (ended) break;
            CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.generation <= 2);
            drive_start();
        }
}

const struct test cut_tests[] = {
    {"the first format cut at every operation is done again", first_format_cut_at_every_operation_is_done_again},
    {"a recovery cut at every operation comes to the same values",
     recovery_cut_at_every_operation_comes_to_the_same_values},
    {"random histories with random cuts keep the contract", random_histories_keep_the_contract},
    {"random histories of drives made without a die keep the contract",
     random_histories_without_a_die_keep_the_contract},
    {"random histories with failing programs and erases, and blocks bad from the factory, keep the contract",
     random_histories_with_faults_keep_the_contract},
    {"random histories with one unreadable page of a root at a time keep the contract",
     random_histories_with_unreadable_pages_keep_the_contract},
    {0},
};
