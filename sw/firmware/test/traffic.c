/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic.h"

#include "drive_hw.h"
#include "ftl_blocks.h"
#include "tests.h"

static void command(void) {
    uint32_t lpns[4], n = sim_random(3) ? 1 : 1 + sim_random(4), first = sim_random(DRIVE_LPNS),
                      txid = sim_random(3) ? sim_random(3) : sim_random(FTL_TXIDS);
    for (uint32_t i = 0; i < n; i++) lpns[i] = drive_lpn((first + i * 3) % DRIVE_LPNS);
    switch (sim_random(18)) {
        case 0:
        case 1:
        case 2: (void)drive_write(lpns, n, sim_random(2)); break;
        case 3:
        case 4:
        case 5: (void)drive_tx_write(txid, lpns[0]); break;
        case 6: (void)(sim_random(3) ? drive_commit(txid) : drive_commit_relaxed(txid)); break;
        case 7:
            if (sim_random(3) == 0) drive_abort(txid);
            break;
        case 8: (void)(sim_random(2) ? drive_trim(lpns[0]) : drive_tx_trim(txid, lpns[0])); break;
        case 9:
            if (sim_random(6) == 0) drive_flush();
            else drive_barrier();
            break;
        case 10:
        case 11:
            if (drive_can_close()) drive_close();
            break;
        case 12:
            if (sim_random(8) == 0) drive_takes(sim_random(3) != 0);
            /* fall through */
        case 13: /* a read with many corrected bits, or the late report of one */
            if (FTL_WORD_KIND(hal_map()[lpns[0]]) == FTL_WORD_KIND_NAND && sim_random(4) != 0)
                drive_weak(FTL_WORD_VALUE(hal_map()[lpns[0]]));
            else drive_weak(sim_random(sim.g.dies * sim.g.blocks * sim.g.pages));
            break;
        case 14: (void)drive_prepare(txid); break;
        default:
            for (uint32_t k = sim_random(8); k > 0; k--) (void)drive_finish_one();
    }
}

void history(uint32_t commands) {
    for (uint32_t i = 0; i < commands; i++) command();
    drive_takes(true);
}

void end_transactions(void) {
    bool asked = false;
    for (uint32_t t = 0; t < FTL_TXIDS; t++) asked = asked || (drive.tx[t].prepared && !drive.tx[t].sure);
    if (asked) drive_settle();
    for (uint32_t t = 0; t < FTL_TXIDS; t++)
        if (sim_random(3) == 0 || !drive_commit(t)) drive_abort(t);
}

void with_faults(void) {
    sim_factory(20);
    sim.fail_programs = 30;
    sim.fail_erases = 20;
    if (sim.g.lanes > 1) sim.fail_blocks = 8; /* a lane alone has no other one */
}

bool log_names(uint32_t block_id) {
    for (uint64_t i = drive.ftl.old_root.log_first; i < hw.head; i++) {
        const struct ftl_entry *e = &hw.entry[i];
        bool moves = e->kind == FTL_RELOCATE;
        if ((moves || e->kind == FTL_MAP) && FTL_WORD_VALUE(e->location) >> sim.g.page_bits == block_id) return true;
        if (moves && FTL_WORD_VALUE(e->arg) >> sim.g.page_bits == block_id) return true;
    }
    return false;
}

void reserve_is_unnamed(void) {
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++)
            if (ftl_blocks_new_word(&drive.ftl, die, b / 32) >> b % 32 & 1u)
                CHECK(!log_names(ftl_block_id(&sim.g, die, b)));
}

void any_geometry(void) {
    static const uint32_t shapes[][5] = {
        {1, 1, 56, 8, 64}, {2, 2, 56, 8, 1100}, {4, 2, 20, 8, 64}, {3, 1, 80, 8, 1100}, {1, 4, 24, 16, 64}};
    const uint32_t *s = shapes[sim_random(5)];
    sim_new(s[0], s[1], s[2], s[3], s[4]);
    if (sim_random(2)) sim_directories(1);
    sim.g.patrol_clocks = sim_random(2);
    sim.g.cache_ops = sim_random(2); /* two programs of a die at once */
    sim.clocks_per_ask = 1;
}

void histories_with_an_error(unsigned long seed, bool (*goes_bad)(void), void (*heals)(void)) {
    uint32_t lost = 0, checkpoints = 0;
    for (unsigned long run = 0; run < test_runs / 64; run++) {
        sim_seed(test_seed * seed + run);
        any_geometry();
        if (run % 2) {
            with_faults();
            sim.fail_programs = sim.fail_erases = 4;
        }
        if (run % 4 < 2) sim.g.checkpoint_pages = 3;
        mounted();
        for (uint32_t cut = 0; cut < 4; cut++) {
            for (uint32_t part = sim_random(6); part > 0; part--) {
                history(sim_random(200));
                end_transactions();
            }
            if (!sim_random(2) || !drive_supply_cut(80, 1 + sim_random(40))) drive_cut();
            checkpoints += drive.checkpoint.done;
            lost += goes_bad();
            while (sim_random(2)) {
                sim.cut_at = 1 + sim_random(150);
                if (sim_mount(&drive.ftl) != -1) drive_cut_dropping_all();
            }
            sim.cut_at = 0;
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            if (heals != NULL) heals();
            drive_start();
        }
    }
    if (test_runs < 2000) return;
    CHECK(lost > 100 && checkpoints > 100);
}
