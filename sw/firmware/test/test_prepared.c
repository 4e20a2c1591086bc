/* SPDX-License-Identifier: Apache-2.0 */
/* Prepared transactions over mounts (ftl_prepared.h): directed. Random histories with PREPARE are in test_cuts.c and
 * test_collect.c. */
#include <string.h>

#include "drive_hw.h"
#include "ftl_blocks.h"
#include "ftl_prepared.h"
#include "tests.h"

static void begin(void) {
    sim_new(2, 2, 64, 8, 1100);
    mounted();
}

/* Number i of the blocks of a prepared transaction that a mount has brought back; NOTHING + 1: it has not written it.
 */
static uint32_t own(uint32_t txid, uint32_t i) {
    struct drive_tx t;
    CHECK(drive_restored(txid, &t));
    for (uint32_t k = 0; k < t.n; k++)
        if (t.lpn[k] == drive_lpn(i)) return t.value[k];
    return NOTHING + 1;
}

static bool is_prepared(uint32_t txid) { return (sim.prepared >> txid & 1u) != 0; }

static uint32_t value(uint32_t i) { return drive_value(drive_lpn(i)); }

static void cut_and_mount(void) {
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* The next mounts begin with what this one has brought back. */
static void go_on(void) {
    drive_judge();
    drive_start();
}

static void it_is_prepared_until_its_commit_or_abort(void) {
    for (uint32_t end = 0; end < 2; end++) {
        begin();
        write_one(0);
        CHECK(drive_tx_write(3, drive_lpn(0)) && drive_tx_write(3, drive_lpn(1)) && drive_tx_write(3, drive_lpn(0)) &&
              drive_tx_trim(3, drive_lpn(2)) && drive_prepare(3));
        uint32_t old = drive.item[0].value[0], new = drive.tx[3].value[0];
        drive_settle();
        CHECK(!drive_tx_write(3, drive_lpn(4)));
        for (uint32_t mounts = 0; mounts < 4; mounts++) {
            cut_and_mount();
            CHECK(sim.prepared == 8 && drive.ftl.report.prepared == 8 && sim.entries[3] == 3 && sim.dropped == 0);
            CHECK(value(0) == old && value(1) == NOTHING && own(3, 0) == new && own(3, 2) == NOTHING);
            drive_start();
            if (mounts % 2) write_one(5);
        }
        if (end == 0) CHECK(drive_commit(3));
        else drive_abort(3);
        drive_settle();
        CHECK(drive_tx_write(3, drive_lpn(7))); /* the txid is free */
        drive_settle();
        cut_and_mount();
        CHECK(sim.prepared == 0 && (value(0) == new) == (end == 0) && (value(1) != NOTHING) == (end == 0));
    }
}

static void an_end_that_is_not_durable_leaves_it_prepared(void) {
    for (uint32_t end = 0; end < 2; end++) {
        begin();
        CHECK(drive_tx_write(3, drive_lpn(0)) && drive_prepare(3));
        drive_settle();
        remounted();
        go_on();
        if (end == 0) CHECK(drive_commit(3));
        else drive_abort(3);
        remounted();
        drive_judge();
        CHECK(is_prepared(3));
    }
}

/* Records as no history has them. */
static uint64_t entry(uint32_t kind, uint32_t serial, uint32_t i, uint32_t arg, bool complete) {
    struct ftl_entry e = {.kind = kind, .flags = FTL_ENTRY_IN_TX, .n = 1, .serial = serial, .arg = arg};
    uint32_t ppn = 0;
    if (kind != FTL_MAP) return drive_append(e);
    CHECK(drive_page(&ppn));
    e.lpn = drive_lpn(i);
    e.location = FTL_WORD_NAND(ppn);
    e.sequence = drive_sequence();
    uint64_t index = drive_append(e);
    drive_data_under_way(ppn, e.lpn, e.sequence, index, 1000 + i);
    if (!complete) drive_hold(index);
    return index;
}

static void log_ends(void) {
    drive_supply(20);
    if (drive_can_close()) drive_close();
    drive_finish_data();
    drive_finish_log();
    remounted();
}

static void prepare_counts_when_its_entries_do(void) {
    for (uint32_t what = 0; what < 4; what++) {
        begin();
        entry(FTL_MAP, 32, 0, 0, what != 1);
        entry(FTL_PREPARE, 32, 0, what >= 2 ? 2 : 1, true);
        if (what == 3) entry(FTL_COMMIT, 32, 0, 0, true);
        log_ends();
        CHECK(is_prepared(0) == (what == 0) && sim.dropped >= (what != 0) && value(0) == NOTHING);
    }
}

static void prepare_below_the_watermark_counts_its_entries(void) {
    for (uint32_t missing = 0; missing < 2; missing++) {
        begin();
        entry(FTL_MAP, 32, 0, 0, true);
        entry(FTL_PREPARE, 32, 0, 1 + missing, true);
        drive_settle();
        write_one(1);
        write_one(2);
        log_ends();
        CHECK(is_prepared(0) == (missing == 0) && sim.dropped == missing);
    }
}

static void prepare_needs_no_other_transaction(void) {
    begin();
    entry(FTL_MAP, 32, 0, 0, false);
    entry(FTL_COMMIT, 32, 0, 1, true); /* does not count, and so none behind it does */
    entry(FTL_MAP, 33, 1, 0, true);
    entry(FTL_PREPARE, 33, 0, 1, true);
    log_ends();
    CHECK(sim.prepared == 2 && own(1, 1) == 1001 && sim.dropped == 1);
}

/* The COMMIT of a prepared one stands behind one that does not count: it is still prepared, and what hardware, which
 * had seen that COMMIT, let into its txid afterwards is not there. */
static void commit_that_does_not_count_leaves_it_prepared(void) {
    for (uint32_t later = 0; later < 4; later++) {
        begin();
        entry(FTL_MAP, 32, 0, 0, false);
        entry(FTL_COMMIT, 32, 0, 1, true);
        entry(FTL_MAP, 33, 1, 0, true);
        entry(FTL_PREPARE, 33, 0, 1, true);
        entry(FTL_COMMIT, 33, 0, 0, true);
        entry(FTL_MAP, 65, 2, 0, true);
        if (later == 1) entry(FTL_PREPARE, 65, 0, 1, true);
        if (later == 2) entry(FTL_COMMIT, 65, 0, 1, true);
        if (later == 3) entry(FTL_ABORT, 65, 0, 0, true);
        log_ends();
        CHECK(sim.prepared == 2 && sim.entries[1] == 1 && own(1, 1) == 1001 && value(2) == NOTHING);
    }
}

static void versions_of_one_block_are_a_chain(void) {
    begin();
    write_one(0);
    for (uint32_t t = 0; t < 3; t++) CHECK(drive_tx_write(t, drive_lpn(0)) && drive_prepare(t));
    uint32_t last = drive.tx[1].value[0];
    drive_settle();
    cut_and_mount();
    CHECK(sim.prepared == 7);
    drive_start();
    CHECK(drive_commit(2) && drive_commit(1));
    drive_settle();
    cut_and_mount();
    CHECK(sim.prepared == 1 && value(0) == last);
}

/* Pages of a prepared transaction move as others do, before and after a mount. */
static void its_pages_move(void) {
    for (uint32_t when = 0; when < 2; when++) {
        begin();
        CHECK(drive_tx_write(3, drive_lpn(0)) && drive_prepare(3));
        drive_settle();
        uint32_t stamp = drive.tx[3].value[0];
        if (when == 1) {
            remounted();
            go_on();
        }
        uint32_t from = 0;
        for (uint32_t ppn = 0; ppn < 1u << 16 && from == 0; ppn++)
            if (ftl_block_exists(&sim.g, ppn >> sim.g.page_bits) && map_names(ppn) && sim_pages[ppn].stamp == stamp)
                from = ppn;
        CHECK(from != 0);
        ftl_blocks_close(&drive.ftl, from >> sim.g.page_bits);
        CHECK(ftl_retire_collect(&drive.supply, &drive.retire, from >> sim.g.page_bits, false, 0));
        quiet();
        CHECK(!map_names(from));
        write_one(5);
        for (uint32_t mounts = 0; mounts < 2; mounts++) {
            cut_and_mount();
            CHECK(own(3, 0) == stamp);
            uint32_t word = hal_tx_area(3)[1];
            CHECK(FTL_WORD_VALUE(word) != from);
            drive_start();
        }
    }
}

/* More entries than a page has. All are TRIMs: they need no pages. */
static void entries_of_many_pages_come_back(void) {
    begin();
    for (uint32_t t = 0; t < 12; t++) {
        for (uint32_t i = 0; i < 50; i++)
            drive_append((struct ftl_entry){.kind = FTL_TRIM,
                                            .flags = FTL_ENTRY_IN_TX,
                                            .n = 1,
                                            .lpn = (i * 7 + t) % 1100,
                                            .arg = 1,
                                            .serial = 32 + t});
        entry(FTL_PREPARE, 32 + t, 0, 50, true);
        drive_settle();
    }
    for (uint32_t mounts = 0; mounts < 3; mounts++) {
        remounted();
        CHECK(sim.prepared == 0xfff && sim.programs[FTL_KIND_PREPARED] == 2 * 2);
        for (uint32_t t = 0; t < 12; t++) {
            bool seen[1100] = {false};
            CHECK(sim.entries[t] == 50);
            for (uint32_t i = 0; i < 50; i++) {
                const uint32_t *e = hal_tx_area(t) + 4 * i;
                CHECK(e[0] < 1100 && !seen[e[0]] && e[1] == FTL_WORD_NONE);
                seen[e[0]] = true;
            }
            for (uint32_t i = 0; i < 50; i++) CHECK(seen[(i * 7 + t) % 1100]);
        }
    }
}

static void empty_transaction_is_prepared(void) {
    begin();
    entry(FTL_PREPARE, 32 + 9, 0, 0, true);
    log_ends();
    remounted();
    CHECK(sim.prepared == 1u << 9 && sim.entries[9] == 0);
}

static void prepared_one(void) {
    begin();
    CHECK(drive_tx_write(3, drive_lpn(0)) && drive_prepare(3));
    drive_settle();
    remounted();
    go_on();
}

static void one_copy_is_enough(void) {
    for (uint32_t lost = 1; lost < 4; lost++) {
        prepared_one();
        uint32_t value = drive.tx[3].value[0];
        for (uint32_t c = 0; c < 2; c++)
            if (lost >> c & 1u) sim_pages[drive.ftl.old_root.prepared[c] - 1].state = SIM_TORN;
        drive_cut_dropping_all();
        int error = sim_mount(&drive.ftl);
        if (lost == 3) CHECK(error == FTL_ERR_MAP && sim.count[HAL_ERASE] == 0 && sim.count[HAL_PROGRAM] == 0);
        else CHECK(error == FTL_OK && own(3, 0) == value);
    }
}

static void page_that_is_none_is_refused(void) {
    for (uint32_t what = 0; what < 8; what++) {
        prepared_one();
        for (uint32_t c = 0; c < 2; c++) {
            struct sim_page *p = &sim_pages[drive.ftl.old_root.prepared[c] - 1];
            if (what == 0) p->kind = FTL_KIND_MAP;
            if (what == 1) p->generation--;
            if (what == 2) p->lpn++;
            if (what == 3) p->words[0] = FTL_PREPARED_RECORDS + 1;
            if (what == 4) p->words[FTL_PREPARED_RECORD] = FTL_PREPARED_TX | FTL_TXIDS;
            if (what == 5) p->words[FTL_PREPARED_RECORD] = 0; /* no transaction is named */
            if (what == 6) p->words[FTL_PREPARED_RECORD + 2] = sim.g.lbas;
            if (what == 7) p->words[FTL_PREPARED_RECORD + 3] = FTL_WORD(FTL_WORD_KIND_BUF, 0);
        }
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_MAP && sim.count[HAL_ERASE] == 0 && sim.count[HAL_PROGRAM] == 0);
    }
}

static void page_that_fails_is_written_elsewhere(void) {
    prepared_one();
    uint32_t value = drive.tx[3].value[0];
    drive_cut_dropping_all();
    sim.fail_next[FTL_KIND_PREPARED] = 3;
    CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.programs[FTL_KIND_PREPARED] == 5);
    remounted();
    CHECK(own(3, 0) == value);
}

/* A checkpoint begins while it is prepared at index 0, or after its end; after that nothing of it stays. */
static void checkpoints_keep_it_and_give_its_pages_back(void) {
    for (uint32_t when = 0; when < 3; when++) {
        sim_new(2, 2, 64, 8, 64);
        sim.g.checkpoint_pages = 6;
        mounted();
        CHECK(drive_tx_write(3, drive_lpn(0)) && drive_prepare(3));
        drive_settle();
        remounted();
        go_on();
        uint32_t stamp = drive.tx[3].value[0], held = drive.ftl.old_root.prepared[0];
        CHECK(held != 0);
        for (uint32_t i = 0; i < 60; i++) write_one(1 + i % 5);
        CHECK(drive.checkpoint.done == 0 && drive.ftl.old_root.prepared[0] == held);
        if (when == 0) {
            cut_and_mount();
            CHECK(own(3, 0) == stamp);
            continue;
        }
        write_one(0); /* before the COMMIT, which wins over it */
        CHECK(drive_commit(3));
        drive_settle();
        for (uint32_t i = 0; i < (when == 1 ? 4 : 200); i++) write_one(1 + i % 5);
        if (when == 2) CHECK(drive.checkpoint.done > 1 && drive.ftl.old_root.prepared[0] == 0);
        if (when == 2) CHECK(drive.ftl.map.pinned == 0);
        cut_and_mount();
        CHECK(sim.prepared == 0 && value(0) == stamp);
    }
}

/* A checkpoint whose start lies before the COMMIT of one that a mount brought back, and whose map has it. */
static void checkpoint_with_its_start_before_the_commit(void) {
    uint32_t named = 0;
    for (uint32_t writes = 1; writes < 40; writes++) {
        sim_new(2, 2, 64, 8, 64);
        sim.g.checkpoint_pages = 100000;
        mounted();
        CHECK(drive_tx_write(3, drive_lpn(0)) && drive_prepare(3));
        drive_settle();
        remounted();
        go_on();
        uint32_t stamp = drive.tx[3].value[0];
        for (uint32_t i = 0; i < 3 + writes % 7; i++) write_one(1 + i % 5);
        write_one(0);
        CHECK(drive_commit(3));
        drive_settle();
        drive.ftl.geometry.checkpoint_pages = 1;
        for (uint32_t i = 0; i < 100 && drive.checkpoint.done == 0; i++) drive_supply(8);
        named += drive.checkpoint.done != 0 && drive.ftl.old_root.prepared[0] != 0;
        drive_supply(writes * 10);
        cut_and_mount();
        CHECK(sim.prepared == 0 && value(0) == stamp);
    }
    CHECK(named > 5);
}

static void read_only_drive_shows_it(void) {
    begin();
    CHECK(drive_tx_write(3, drive_lpn(0)) && drive_prepare(3));
    drive_settle();
    for (uint32_t i = 0; i < 8; i++) write_one(1);
    uint32_t number = hw.pages;
    for (uint32_t i = 0; i < 8; i++) write_one(1);
    struct drive_copies of = drive_log_page(number);
    drive_log_spoil(&of, SIM_TORN);
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_GAP && sim.read_only && is_prepared(3) && own(3, 0) != NOTHING + 1);
}

/* A checkpoint does not give back the map with their pages as long as its root names them; the next one needs blocks
 * nevertheless. */
static void full_log_of_a_transaction_prepared_before_comes_back(void) {
    static const uint32_t shapes[][5] = {{1, 1, 64, 8, 64}, {2, 2, 40, 8, 64}, {4, 2, 24, 8, 64}};
    for (uint32_t run = 0; run < 6; run++) {
        const uint32_t *s = shapes[run / 2];
        sim_seed(run + 1);
        sim_new(s[0], s[1], s[2], s[3], s[4]);
        mounted();
        CHECK(drive_tx_write(7, drive_lpn(9)) && drive_prepare(7));
        drive_settle();
        remounted();
        drive_judge();
        drive_start();
        for (uint32_t i = 0; sim.log_full == 0 || !log_is_short(); i++) {
            CHECK(i < 3000);
            if (i % 3 == 0 ? drive_write(&(uint32_t){drive_lpn(i % 5)}, 1, true) : drive_trim(drive_lpn(i % 5)))
                drive_settle();
            drive_supply(20);
        }
        drive_supply(300);
        if (run % 2) CHECK(drive_commit(7));
        else drive_abort(7);
        drive_settle();
        for (uint32_t n = 0; log_is_short() || sim.log_full != 0; n++) {
            CHECK(n < 4000);
            drive_supply(1);
            while (drive_finish_one()) {}
        }
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
}

const struct test prepared_tests[] = {
    {"a full log of a transaction prepared before the mount comes back",
     full_log_of_a_transaction_prepared_before_comes_back},
    {"a transaction is prepared until its commit or abort, over mounts", it_is_prepared_until_its_commit_or_abort},
    {"an end that is not durable leaves a prepared transaction as it is",
     an_end_that_is_not_durable_leaves_it_prepared},
    {"a PREPARE counts when its entries do", prepare_counts_when_its_entries_do},
    {"a PREPARE below the watermark counts its entries", prepare_below_the_watermark_counts_its_entries},
    {"a PREPARE needs no other transaction", prepare_needs_no_other_transaction},
    {"a commit that does not count leaves its transaction prepared", commit_that_does_not_count_leaves_it_prepared},
    {"prepared versions of one block are a chain", versions_of_one_block_are_a_chain},
    {"pages of a prepared transaction move", its_pages_move},
    {"prepared entries of many pages come back", entries_of_many_pages_come_back},
    {"an empty transaction is prepared", empty_transaction_is_prepared},
    {"one copy of the prepared entries is enough", one_copy_is_enough},
    {"a page that is none of prepared entries is refused", page_that_is_none_is_refused},
    {"a page of prepared entries that fails is written elsewhere", page_that_fails_is_written_elsewhere},
    {"checkpoints keep prepared transactions and give their pages back", checkpoints_keep_it_and_give_its_pages_back},
    {"a checkpoint with its start before the commit of a prepared transaction",
     checkpoint_with_its_start_before_the_commit},
    {"a read-only drive shows what is prepared", read_only_drive_shows_it},
    {0},
};
