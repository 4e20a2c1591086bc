/* SPDX-License-Identifier: Apache-2.0 */
/* Directed logs. `entry` helpers log what no history makes: missing pages, wrong counts, RELOCATE, epochs. */
#include "drive_hw.h"
#include "tests.h"

/* A plain or transaction MAP entry of LPN number i whose data page is complete or never starts; the PPN. */
static uint32_t map(uint32_t i, struct ftl_entry e, bool complete) {
    uint32_t ppn = 0;
    CHECK(drive_page(&ppn));
    e.kind = e.kind ? e.kind : FTL_MAP;
    e.n = e.n ? e.n : 1;
    e.lpn = drive_lpn(i);
    e.location = FTL_WORD_NAND(ppn);
    e.sequence = drive_sequence();
    uint64_t index = drive_append(e);
    drive_data_under_way(ppn, e.lpn, e.sequence, index, 1000 + (uint32_t)index);
    if (!complete) drive_hold(index);
    return ppn;
}

static void record(uint32_t kind, uint32_t serial, uint32_t arg, uint32_t epoch) {
    drive_append((struct ftl_entry){.kind = kind, .n = 1, .serial = serial, .arg = arg, .epoch = epoch});
}

static void relocate(uint32_t i, uint32_t old, bool complete, uint32_t *ppn) {
    *ppn = map(i, (struct ftl_entry){.kind = FTL_RELOCATE, .arg = old}, complete);
}

/* The word of LPN number i is that page, or a copy of it. */
static bool holds(uint32_t i, uint32_t ppn) {
    uint32_t word = hal_map()[drive_lpn(i)];
    const struct sim_page *is = &sim_pages[FTL_WORD_VALUE(word)], *was = &sim_pages[ppn];
    return FTL_WORD_KIND(word) == FTL_WORD_KIND_NAND && is->state == SIM_WHOLE && is->stamp == was->stamp &&
           is->sequence == was->sequence && is->lpn == was->lpn;
}

static uint32_t value(uint32_t i) { return drive_value(drive_lpn(i)); }

/* The log becomes durable, data as far as it is not held; power fails; mount. */
static void cut(void) {
    drive_supply(20);
    if (drive_can_close()) drive_close();
    drive_finish_data();
    drive_finish_log();
    remounted();
}

static void begin(void) {
    sim_new(2, 1, 36, 8, 64);
    mounted();
}

#define TX(serial_) ((struct ftl_entry){.flags = FTL_ENTRY_IN_TX, .serial = (serial_)})

static void committed_is_there_aborted_and_open_are_not(void) {
    begin();
    for (uint32_t t = 0; t < 3; t++) CHECK(drive_tx_write(t, drive_lpn(t)) && drive_tx_write(t, drive_lpn(t + 3)));
    CHECK(drive_commit(0));
    drive_abort(1);
    cut();
    CHECK(value(0) && value(3) && !value(1) && !value(4) && !value(2) && !value(5) && sim.dropped == 0);
}

static void group_with_an_incomplete_page_is_dropped_whole(void) {
    begin();
    for (uint32_t i = 0; i < 3; i++) map(i, (struct ftl_entry){.n = 3, .i = i}, i != 1);
    map(4, (struct ftl_entry){.n = 1}, true);
    cut();
    CHECK(!value(0) && !value(1) && !value(2) && value(4) && sim.dropped == 1);
}

/* A page that reads well and has another name, or is of another life of the drive: the block was used again by a mount
 * that had not seen the entry. */
static void page_with_another_name_does_not_count(void) {
    for (uint32_t what = 0; what < 4; what++) {
        begin();
        uint32_t a = map(0, (struct ftl_entry){.n = 1}, true), b = map(1, (struct ftl_entry){.n = 1}, true);
        /* a and b had ended, so they are not copied */
        for (uint32_t i = 3; i < 7; i++) map(i, (struct ftl_entry){.n = 1}, true);
        drive_supply(20);
        drive_close();
        drive_finish_data();
        drive_finish_log();
        struct sim_page *p = &sim_pages[a];
        if (what == 0) p->lpn = drive_lpn(2);
        if (what == 1) p->sequence += 7;
        if (what == 2) p->generation--;
        if (what == 3) p->kind = FTL_KIND_MAP;
        remounted();
        CHECK(!value(0) && holds(1, b) && sim.dropped == 1 && sim.doubtful == 1);
    }
}

static void group_over_the_watermark_is_dropped_whole(void) {
    begin();
    map(7, (struct ftl_entry){.n = 1}, true);
    for (uint32_t i = 0; i < 2; i++) map(i, (struct ftl_entry){.n = 2, .i = i}, i == 0);
    drive_finish_data();
    drive_close(); /* the first member is below the watermark of this page, the second is not complete */
    drive_finish_log();
    remounted();
    CHECK(value(7) && !value(0) && !value(1) && sim.dropped == 1);
}

static void group_with_a_missing_member_is_dropped_whole(void) {
    begin();
    map(0, (struct ftl_entry){.n = 3, .i = 0}, true);
    map(1, (struct ftl_entry){.n = 3, .i = 1}, true);
    map(2, (struct ftl_entry){.n = 1}, true);
    drive_close(); /* the watermark of this page is 0 */
    cut();
    CHECK(!value(0) && !value(1) && value(2) && sim.dropped == 1);
}

static void commit_behind_a_dropped_commit_is_dropped(void) {
    begin();
    map(0, TX(32), false);
    record(FTL_COMMIT, 32, 1, 0);
    map(1, TX(33), true);
    record(FTL_COMMIT, 33, 1, 0);
    map(2, (struct ftl_entry){.n = 1}, true);
    cut();
    CHECK(!value(0) && !value(1) && value(2) && sim.dropped == 2);
}

static void commit_with_a_missing_entry_is_dropped(void) {
    begin();
    map(0, TX(32), true);
    record(FTL_COMMIT, 32, 2, 0);
    drive_close();
    cut();
    CHECK(!value(0) && sim.dropped == 1);
}

static void reused_txid_takes_nothing_of_its_predecessor(void) {
    begin();
    map(0, TX(32), true);
    map(1, TX(64), true);
    record(FTL_COMMIT, 64, 1, 0);
    cut();
    CHECK(!value(0) && value(1) && sim.dropped == 0);
}

static void commit_applies_at_its_place_in_the_log(void) {
    begin();
    CHECK(drive_tx_write(4, drive_lpn(0)) && drive_tx_write(5, drive_lpn(0)) &&
          drive_write(&(uint32_t){drive_lpn(0)}, 1, false));
    CHECK(drive_commit(5));
    drive_settle();
    CHECK(drive_write(&(uint32_t){drive_lpn(1)}, 1, false) && drive_commit(4));
    drive_settle();
    cut();
    CHECK(value(0) == drive.item[3].value[0]); /* that of the later COMMIT */
    drive_judge();
}

static void trims_plain_and_in_a_transaction_read_as_zeroes(void) {
    begin();
    for (uint32_t i = 0; i < 4; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, false));
    CHECK(drive_trim(drive_lpn(0)) && drive_tx_trim(9, drive_lpn(1)) && drive_tx_trim(10, drive_lpn(2)) &&
          drive_commit(9));
    cut();
    CHECK(!value(0) && !value(1) && value(2) && value(3));
}

static void failed_page_counts_when_its_relocation_does(void) {
    for (uint32_t good = 0; good < 2; good++) {
        begin();
        uint32_t a = map(0, TX(32), false), b, c;
        record(FTL_COMMIT, 32, 1, 0);
        relocate(0, a, false, &b);
        relocate(0, b, good, &c);
        cut();
        CHECK(good ? holds(0, c) && sim.dropped == 0 : !value(0) && sim.dropped == 1);
    }
}

static void incomplete_move_leaves_the_page_where_it_was(void) {
    begin();
    uint32_t a = map(0, (struct ftl_entry){.n = 1}, true), b = map(1, (struct ftl_entry){.n = 1}, true), c, d;
    relocate(0, a, false, &c);
    relocate(1, b, true, &d);
    cut();
    CHECK(holds(0, a) && (holds(1, d) || holds(1, b)));
}

static void move_of_an_overwritten_page_changes_nothing(void) {
    begin();
    uint32_t a = map(0, (struct ftl_entry){.n = 1}, true), b = map(0, (struct ftl_entry){.n = 1}, true), c;
    relocate(0, a, true, &c);
    cut();
    CHECK(holds(0, b));
}

static void epochs_behind_a_dropped_ordered_write_are_dropped(void) {
    begin();
    map(0, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0}, true);
    map(1, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 1}, false);
    map(2, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 1}, true);
    map(3, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 2}, true);
    map(4, (struct ftl_entry){.epoch = 2}, true);
    for (uint32_t i = 6; i < 8; i++) { /* a TRIM keeps order unless it is orderless */
        map(i, (struct ftl_entry){.epoch = 0}, true);
        drive_append((struct ftl_entry){.kind = FTL_TRIM,
                                        .flags = i == 6 ? FTL_ENTRY_ORDERED : 0,
                                        .n = 1,
                                        .lpn = drive_lpn(i),
                                        .arg = 1,
                                        .epoch = 2});
    }
    map(5, (struct ftl_entry){.flags = FTL_ENTRY_IN_TX, .serial = 32, .epoch = 2}, true);
    record(FTL_COMMIT, 32, 1, 2);
    cut();
    CHECK(value(0) && !value(1) && value(2) && !value(3) && value(4) && !value(5) && sim.dropped == 4);
    CHECK(value(6) && !value(7));
}

/* Epochs are numbers modulo 2^32, and the tail begins before the last one of them. */
static void epochs_go_on_behind_the_last_number(void) {
    begin();
    map(0, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0xffffffff}, true);
    map(1, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0}, false);
    map(2, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0}, true);
    map(3, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 1}, true);
    cut();
    CHECK(value(0) && !value(1) && value(2) && !value(3) && sim.dropped == 2);
    begin();
    map(0, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0xffffffff}, false);
    map(1, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0xffffffff}, true);
    map(2, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0}, true);
    map(3, TX(32), true);
    record(FTL_COMMIT, 32, 1, 0);
    cut();
    CHECK(!value(0) && value(1) && !value(2) && !value(3) && sim.dropped == 3);
}

/* Of a block that was written in an epoch that counts and in one that does not the first is left, and what a mount does
 * not take it does not bring back: neither the next mount nor another cut shows it. */
static void what_a_barrier_put_behind_is_gone_for_good(void) {
    begin();
    map(0, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED}, true);
    uint32_t kept = map(1, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 1}, true);
    map(2, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 1}, false);
    map(1, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 2}, true);
    cut();
    CHECK(holds(1, kept) && !value(2) && sim.dropped == 2);
    uint32_t was = value(1);
    drive_start();
    map(3, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 0}, true); /* epochs begin again */
    cut();
    CHECK(value(1) == was && !value(2) && value(3) && sim.dropped == 0);
}

static void epochs_behind_a_dropped_commit_are_dropped(void) {
    begin();
    map(0, TX(32), false);
    record(FTL_COMMIT, 32, 1, 1);
    map(1, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 1}, true);
    map(2, (struct ftl_entry){.flags = FTL_ENTRY_ORDERED, .epoch = 2}, true);
    cut();
    CHECK(!value(0) && value(1) && !value(2) && sim.dropped == 2);
}

static void stale_log_page_of_an_older_generation_is_not_taken(void) {
    for (uint32_t where = 1; where < 4; where++) { /* bit 0: its OOB is old, bit 1: its header is */
        begin();
        CHECK(drive_write(&(uint32_t){drive_lpn(0)}, 1, true));
        drive_settle();
        /* the page that would come next, as a dead generation left it: right number and place, a TRIM of what was
         * written */
        uint32_t number = hw.pages;
        CHECK(drive_trim(drive_lpn(0)));
        drive_close();
        drive_finish_log();
        struct drive_copies of = drive_log_page(number);
        for (uint32_t c = 0; c < of.n; c++) {
            of.copy[c]->generation -= where & 1;
            of.copy[c]->words[FTL_LOG_GENERATION] -= where >> 1;
        }
        remounted();
        CHECK(value(0) && sim.dropped == 0 && drive.ftl.report.entries == 1);
    }
}

static void log_page_of_another_drive_is_not_taken(void) {
    begin();
    CHECK(drive_write(&(uint32_t){drive_lpn(0)}, 1, true));
    drive_settle();
    uint32_t number = hw.pages;
    CHECK(drive_trim(drive_lpn(0)));
    drive_close();
    drive_finish_log();
    struct drive_copies of = drive_log_page(number);
    for (uint32_t c = 0; c < of.n; c++) of.copy[c]->words[FTL_LOG_DRIVE_ID]++;
    remounted();
    CHECK(value(0));
}

static void stale_data_page_of_an_older_generation_is_not_taken(void) {
    begin();
    uint32_t ppn = map(0, (struct ftl_entry){.n = 1}, true);
    drive_close();
    drive_finish_data();
    drive_finish_log();
    sim_pages[ppn].generation--;
    remounted();
    CHECK(!value(0) && sim.dropped == 1);
}

static void log_ends_before_a_torn_page(void) {
    sim_new(4, 1, 48, 8, 64);
    mounted();
    for (uint32_t i = 0; i < 4; i++) {
        CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
        drive_close();
        drive_finish_data();
        drive_finish_log();
    }
    struct drive_copies of = drive_log_page(hw.pages - 2);
    drive_log_spoil(&of, SIM_TORN);
    remounted();
    CHECK(value(0) && value(1) && !value(2) && !value(3) && drive.ftl.report.log_pages == 2);
}

static void pages_below_the_watermark_are_not_read_back(void) {
    begin();
    for (uint32_t i = 0; i < 5; i++) {
        CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
        drive_settle();
    }
    CHECK(drive_trim(drive_lpn(9)));
    drive_settle();
    remounted();
    CHECK(sim.count[HAL_VERIFY] == 2 && drive.ftl.report.entries == 6);
}

static void long_log_over_many_blocks_and_lanes_is_replayed(void) {
    static const uint32_t channels[] = {1, 2, 3, 4, 6};
    for (uint32_t c = 0; c < 5; c++) {
        sim_new(channels[c], c & 1 ? 2 : 1, 110, 8, 64);
        sim.no_collect = true;
        mounted();
        for (uint32_t i = 0; i < 150; i++) {
            CHECK(drive_write(&(uint32_t){drive_lpn(i % DRIVE_LPNS)}, 1, true));
            drive_settle();
        }
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        CHECK(drive.ftl.report.log_pages >= 150 && drive.ftl.report.entries == 150); /* more pages than frames */
        if (c < 2) CHECK(sim.count[HAL_READ] <= drive.ftl.report.log_pages + 20);    /* root, table, and the end */
        drive_judge();
    }
}

static void full_list_of_a_transaction_is_compacted(void) {
    sim_new(2, 2, 48, 8, 64);
    mounted();
    for (uint32_t i = 0; i < 150; i++) {
        CHECK(drive_tx_write(7, drive_lpn(i * 7 % DRIVE_LPNS)));
        if (i % 20 == 0) CHECK(drive_tx_write(8, drive_lpn(1)));
        if (i % 60 == 59) drive_settle();
    }
    CHECK(drive_commit(7));
    drive_settle();
    cut();
    drive_judge();
}

static void unknown_entry_is_refused(void) {
    begin();
    record(7, 32, 0, 0);
    drive_close();
    drive_finish_log();
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_LOG && !sim.enabled && sim.count[HAL_ERASE] == 0 &&
          sim.count[HAL_PROGRAM] == 0);
}

const struct test replay_tests[] = {
    {"what was committed is there, what was aborted or open is not", committed_is_there_aborted_and_open_are_not},
    {"a group with an incomplete page is dropped whole", group_with_an_incomplete_page_is_dropped_whole},
    {"a page with another name does not count", page_with_another_name_does_not_count},
    {"a group over the watermark is dropped whole", group_over_the_watermark_is_dropped_whole},
    {"a group with a missing member is dropped whole", group_with_a_missing_member_is_dropped_whole},
    {"a commit behind a dropped commit is dropped", commit_behind_a_dropped_commit_is_dropped},
    {"a commit with a missing entry is dropped", commit_with_a_missing_entry_is_dropped},
    {"a reused txid takes nothing of its predecessor", reused_txid_takes_nothing_of_its_predecessor},
    {"a commit applies at its place in the log", commit_applies_at_its_place_in_the_log},
    {"trims, plain and in a transaction, read as zeroes", trims_plain_and_in_a_transaction_read_as_zeroes},
    {"a failed page counts when its relocation does", failed_page_counts_when_its_relocation_does},
    {"an incomplete move leaves the page where it was", incomplete_move_leaves_the_page_where_it_was},
    {"a move of an overwritten page changes nothing", move_of_an_overwritten_page_changes_nothing},
    {"epochs behind a dropped ordered write are dropped", epochs_behind_a_dropped_ordered_write_are_dropped},
    {"epochs go on behind the last number", epochs_go_on_behind_the_last_number},
    {"what a barrier put behind is gone for good", what_a_barrier_put_behind_is_gone_for_good},
    {"epochs behind a dropped commit are dropped", epochs_behind_a_dropped_commit_are_dropped},
    {"a stale log page of an older generation is not taken", stale_log_page_of_an_older_generation_is_not_taken},
    {"a log page of another drive is not taken", log_page_of_another_drive_is_not_taken},
    {"a stale data page of an older generation is not taken", stale_data_page_of_an_older_generation_is_not_taken},
    {"the log ends before a torn page", log_ends_before_a_torn_page},
    {"pages below the watermark are not read back", pages_below_the_watermark_are_not_read_back},
    {"a long log over many blocks and lanes is replayed", long_log_over_many_blocks_and_lanes_is_replayed},
    {"the full list of a transaction is compacted", full_list_of_a_transaction_is_compacted},
    {"a log with an unknown entry is refused and nothing is touched", unknown_entry_is_refused},
    {0},
};
