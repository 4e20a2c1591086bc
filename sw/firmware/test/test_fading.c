/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the mount (docs/architecture.md): pages that fade, pages that cannot be read in one power-on, and mounts
 * cut one after another. */
#include <string.h>

#include "boot_report.h"
#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_root.h"
#include "drive_hw.h"
#include "tests.h"

static struct sim_page *pages_of(uint32_t n) { return &sim_pages[ftl_first_ppn(&sim.g, ftl_anchor(&sim.g, n))]; }

static uint32_t whole_roots(void) {
    uint32_t n = 0;
    for (uint32_t a = 0; a < FTL_ANCHORS; a++)
        for (uint32_t p = 0; p < FTL_SEAL_PAGE; p++)
            n += pages_of(a)[p].state == SIM_WHOLE && pages_of(a)[p].kind == FTL_KIND_ROOT;
    return n;
}

/* The newest page of a block in the generation that is open. */
static struct sim_page *data_page(uint32_t lpn) {
    struct sim_page *newest = NULL;
    for (uint32_t ppn = 0; ppn < sim.g.dies << (sim.g.block_bits + sim.g.page_bits); ppn++) {
        struct sim_page *p = &sim_pages[ppn];
        if (p->state != SIM_BLANK && p->kind == FTL_KIND_DATA && p->generation == sim.generation && p->lpn == lpn &&
            (!newest || p->sequence > newest->sequence))
            newest = p;
    }
    CHECK(newest != NULL);
    return newest;
}

static uint32_t block_of(const struct sim_page *page) { return (uint32_t)(page - sim_pages) >> sim.g.page_bits; }

static void write_all(void) {
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
    drive_settle();
}

/* Two mounts, each cut at one of all their operations, and what is under way fades as far as it can; the third comes to
 * what was acknowledged. */
static void two_mounts_cut_at_any_operation(uint32_t channels, uint32_t blocks, bool changed) {
    sim_new(channels, 1, blocks, 8, 64);
    mounted();
    write_all();
    remounted();
    drive_start();
    if (changed) {
        write_all();
        CHECK(drive_write(&(uint32_t){drive_lpn(2)}, 1, true));
        if (drive_can_close()) drive_close();
    }
    drive_cut();
    struct sim_copy at_cut = sim_save();
    struct drive history = drive;
    uint32_t fades = sim.fades_always;
    bool ended = false;
    for (uint32_t first = 1; !ended; first++) {
        bool second_ended = false;
        for (uint32_t second = 1; !second_ended; second += 1 + second / 12) {
            sim_restore(&at_cut);
            drive = history;
            sim.fades_always = 1 + (first + second) % 3;
            sim_seed(first * 1000 + second);
            sim.cut_at = first;
            ended = sim_mount(&drive.ftl) != -1;
            if (ended) drive_cut_dropping_all();
            sim.cut_at = second;
            second_ended = sim_mount(&drive.ftl) != -1;
            sim.cut_at = 0;
            for (uint32_t n = 0; n < 3; n++) { /* it opens with all that was acknowledged, and again */
                if (n != 0 || second_ended) drive_cut_dropping_all();
                CHECK(sim_mount(&drive.ftl) == FTL_OK);
                drive_judge();
                CHECK(whole_roots() == 2);
            }
        }
    }
    sim.fades_always = fades;
    sim_forget(&at_cut);
}

static void mounts_cut_one_after_another_lose_nothing(void) {
    for (uint32_t changed = 0; changed < 2; changed++) {
        two_mounts_cut_at_any_operation(1, 50, changed);
        two_mounts_cut_at_any_operation(2, 36, changed);
    }
}

/* A root under way when power failed reads well once: the older one counts. With its seal the newer one does, and the
 * older is as good as gone. */
static void older_root_counts_until_the_newer_has_a_seal(void) {
    for (uint32_t run = 0; run < 3 * 4; run++) {
        uint32_t turn = run / 4, seal = run % 4, old = 2 * turn, new = (2 * turn + 2) % FTL_ANCHORS;
        sim_new(1, 1, 52, 8, 64);
        mounted();
        for (uint32_t n = 0; n < turn; n++) remounted();
        if (turn != 0) drive_start();
        write_all();
        struct sim_copy before = sim_save();
        remounted();
        uint32_t generation = sim.generation;
        static struct sim_page newer[2][8];
        for (uint32_t c = 0; c < 2; c++) memcpy(newer[c], pages_of(new + c), sizeof newer[c]);
        CHECK(newer[0][0].kind == FTL_KIND_ROOT && newer[1][FTL_SEAL_PAGE].kind == FTL_KIND_SEAL &&
              pages_of(old)[0].state == SIM_BLANK);
        if (seal == 0) sim_restore(&before);
        for (uint32_t c = 0; c < 2; c++) {
            if (seal == 0) { /* the cells of before, and the newer root over them as it was cut */
                memcpy(pages_of(new + c), newer[c], sizeof newer[c]);
                pages_of(new + c)[0].fades = 3;
                pages_of(new + c)[FTL_SEAL_PAGE].state = SIM_BLANK;
                sim_last[ftl_anchor(&sim.g, new + c)] = (int)sim.g.pages;
                continue;
            }
            /* the older one is half erased and can be read still */
            memcpy(pages_of(old + c), newer[c], sizeof newer[c]);
            pages_of(old + c)[0].sequence--;
            pages_of(old + c)[0].words[FTL_ROOT_SEQUENCE]--;
            pages_of(old + c)[0].words[FTL_ROOT_GENERATION] += 7;
            pages_of(old + c)[0].words[FTL_ROOT_ANCHORS] = 3u << old;
            sim_last[ftl_anchor(&sim.g, old + c)] = (int)sim.g.pages;
            /* one seal was under way, and the copy behind it goes bad: the seal speaks for the other copy, too */
            if (c + 2 == seal) {
                pages_of(new + c)[0].state = pages_of(new + c)[FTL_SEAL_PAGE].state = SIM_TORN;
                pages_of(new + 1 - c)[FTL_SEAL_PAGE].state = SIM_TORN_BLANK;
            }
        }
        sim_forget(&before);
        struct sim_copy at_cut = sim_save();
        bool ended = false;
        for (uint32_t cut = 0; !ended; cut++) {
            sim_restore(&at_cut);
            sim_seed(cut);
            sim.cut_at = cut / 4 + 1; /* that mount is cut, too */
            ended = sim_mount(&drive.ftl) != -1;
            sim.cut_at = 0;
            if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
            CHECK(sim.generation - generation - (seal != 0) <= !ended && whole_roots() == 2);
            drive_judge();
        }
        sim_forget(&at_cut);
    }
}

/* At the cut: something else was erased or programmed while an anchor was not blank. */
static bool touched_early;
#define OTHER(a) ((a) / 2 != 1) /* than those of the root after one more mount */
static void look(void) {
    bool others = false, anchors = false;
    for (uint32_t a = 0; a < FTL_ANCHORS; a++) anchors = anchors || (OTHER(a) && pages_of(a)[0].state == SIM_TORN);
    for (uint32_t id = 0; id < sim.g.blocks; id++) others = others || (sim_touched[id] && !ftl_is_anchor(&sim.g, id));
    touched_early = others && anchors;
}

/* What a mount cannot read in other anchors may be a root in the next one, so it is erased before anything that it
 * could need is touched. */
static void other_anchors_go_before_anything_else_is_touched(void) {
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++) {
        sim_seed(cut);
        sim_new(1, 1, 52, 8, 64);
        mounted();
        write_all();
        remounted();
        drive_start();
        write_all();
        drive_cut_dropping_all();
        for (uint32_t a = 0; a < FTL_ANCHORS; a++)
            if (OTHER(a)) pages_of(a)[0].state = SIM_TORN, sim_last[ftl_anchor(&sim.g, a)] = (int)sim.g.pages;
        sim.cut_at = cut;
        sim.on_cut = look;
        touched_early = false;
        ended = sim_mount(&drive.ftl) != -1;
        CHECK(!touched_early);
    }
    CHECK(sim.count[HAL_ERASE] >= FTL_ANCHORS);
}

/* An anchor that looks blank now may be read in the next power-on: a complete root that was all but opened, while the
 * older one still counts. */
static void newer_root_that_looked_blank_in_a_cut_mount(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    write_all();
    drive_cut_dropping_all();
    struct sim_copy before = sim_save();
    struct drive history = drive;
    struct sim_page *newer[] = {pages_of(2), pages_of(3)}, *older[] = {pages_of(0), pages_of(1)};
    /* until it is between seal and the old root's end */
    for (uint32_t cut = 1, seed = 1; newer[0][FTL_SEAL_PAGE].state != SIM_WHOLE || older[0][0].state != SIM_WHOLE ||
                                     newer[1][FTL_SEAL_PAGE].state != SIM_WHOLE || older[1][0].state != SIM_WHOLE;
         cut++) {
        sim_restore(&before);
        sim_seed(seed);
        sim.cut_at = cut;
        if (sim_mount(&drive.ftl) != -1) cut = 0, seed++;
    }
    sim_forget(&before);
    for (uint32_t c = 0; c < 2; c++) older[c][0].fades = newer[c][0].fades = newer[c][FTL_SEAL_PAGE].fades = 0;
    struct sim_copy at_cut = sim_save();
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++) {
        sim_restore(&at_cut);
        drive = history;
        sim_seed(cut);
        newer[0][0].state = newer[1][0].state = SIM_TORN_BLANK;
        sim.cut_at = cut;
        ended = sim_mount(&drive.ftl) != -1;
        sim.cut_at = 0;
        for (uint32_t c = 0; c < 2; c++)
            if (newer[c][0].state == SIM_TORN_BLANK) newer[c][0].state = SIM_WHOLE;
        if (ended) drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        drive_judge();
    }
    sim_forget(&at_cut);
}

/* The same with the root before the one that counts: its erase was cut, and what is left of it may not come back when
 * the newest root goes bad. */
static void older_root_that_looked_blank_never_comes_back(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    write_all();
    drive_cut_dropping_all();
    static struct sim_page root[2], seal[2];
    for (uint32_t c = 0; c < 2; c++) root[c] = *pages_of(c), seal[c] = pages_of(c)[FTL_SEAL_PAGE];
    CHECK(sim_mount(&drive.ftl) == FTL_OK && pages_of(0)[0].state == SIM_BLANK && pages_of(1)[0].state == SIM_BLANK);
    for (uint32_t c = 0; c < 2; c++) {
        pages_of(c)[0] = root[c];
        pages_of(c)[FTL_SEAL_PAGE] = seal[c];
        pages_of(c)[0].state = SIM_TORN_BLANK;
        sim_last[ftl_anchor(&sim.g, c)] = (int)sim.g.pages;
    }
    remounted();
    for (uint32_t c = 0; c < 2; c++) {
        if (pages_of(c)[0].state == SIM_TORN_BLANK) pages_of(c)[0].state = SIM_WHOLE;
        CHECK(pages_of(4 + c)[0].state == SIM_WHOLE);
        pages_of(4 + c)[0].state = SIM_TORN;
    }
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT);
}

/* One acknowledged write in each of `pages` log pages. */
static void log_pages(uint32_t pages) {
    for (uint32_t n = 0; n < pages; n++) write_one(n % DRIVE_LPNS);
}

/* The same behind a write whose page stays under way: no watermark passes that, so a mount keeps all of these pages for
 * the end of its scan. The last but one has another value of the last one's block. */
static void log_pages_past_the_watermark(uint32_t pages) {
    CHECK(drive_write(&(uint32_t){drive_lpn(DRIVE_LPNS - 1)}, 1, false));
    drive_hold(hw.head - 1);
    for (uint32_t n = 0; n < pages; n++) {
        CHECK(drive_write(&(uint32_t){drive_lpn(n % (DRIVE_LPNS - 1))}, 1, false));
        drive_close();
        drive_finish_log();
        drive_finish_data();
    }
}

/* A page that was complete cannot be read, or even looks blank, and one behind it can: nothing is written, what is lost
 * is said; in the next power-on it may be read, and then nothing is lost. */
static void gap_in_the_log_is_said_and_nothing_is_touched(void) {
    for (uint32_t channels = 1; channels < 4; channels++)
        for (uint32_t at = 0; at < 2 * 14; at++) {
            sim_new(channels, 1, 52, 8, 64);
            mounted();
            log_pages(14 + channels);
            struct drive_copies of = drive_log_page(at / 2);
            bool blank = at % 2, late = false;
            /* there the log goes on in the next block */
            for (uint32_t c = 0; c < of.n; c++)
                late = late || (of.copy[c] - sim_pages) % sim.g.pages >= FTL_LOG_RETRY_PAGE;
            if (blank && late) continue;
            sim_power_on();
            drive_log_spoil(&of, blank ? SIM_TORN_BLANK : SIM_TORN);
            CHECK(sim_mount(&drive.ftl) == FTL_ERR_GAP && sim.read_only && sim.lost_log_pages >= 1 &&
                  drive.ftl.report.readable);
            CHECK(sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0);
            drive_log_mend(&of);
            remounted();
            CHECK(sim.lost_log_pages == 0 && sim.dropped == 0);
            drive_judge();
        }
}

/* The last page of a lane cannot be read: cut, or gone bad, nobody can tell; it is said. */
static void unreadable_end_of_the_log_is_said(void) {
    sim_new(2, 1, 36, 8, 64);
    mounted();
    log_pages(7);
    struct drive_copies of = drive_log_page(6);
    sim_power_on();
    drive_log_spoil(&of, SIM_TORN);
    CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.lost_log_pages == 1);
    for (uint32_t n = 0; n < 2; n++) { /* the root says it until a log page exists */
        remounted();
        CHECK(sim.lost_log_pages == 1);
    }
    drive_start();
    write_one(3);
    remounted();
    CHECK(sim.lost_log_pages == 0);
}

/* A log longer than the frames, whose last page reads a few times only: the drive opens, with it or without it. */
static void fading_last_page_of_a_long_log(void) {
    for (uint32_t reads = 1; reads < 12; reads++) {
        sim_new(1, 1, 120, 16, 64);
        sim.no_collect = true;
        mounted();
        (reads % 2 ? log_pages : log_pages_past_the_watermark)(SIM_FRAMES + 40);
        struct drive history = drive;
        CHECK(drive_write(&(uint32_t){drive_lpn(4)}, 1, true));
        drive_finish_data();
        drive_close();
        drive_finish_log();
        struct drive_copies of = drive_log_page(hw.pages - 1);
        sim_power_on();
        of.copy[0]->state = SIM_TORN;
        of.copy[1]->fades = reads;
        struct drive with = drive;
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        struct ftl ftl = drive.ftl;
        drive = drive_value(drive_lpn(4)) == with.item[with.items - 1].value[0] ? with : history;
        drive.ftl = ftl;
        drive_judge();
        remounted();
        drive_judge();
    }
}

/* The blocks that the log goes on in are named by it, and blank: nothing is written there while that log counts, for
 * the next mount would take it for log pages that cannot be read. */
static void blocks_that_the_log_goes_on_in_are_kept(void) {
    sim_new(2, 1, 36, 8, 64);
    mounted();
    write_all();
    write_all(); /* both lanes have pages */
    drive_cut_dropping_all();
    struct sim_copy at_cut = sim_save();
    struct drive history = drive;
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++) {
        ended = mount_cut_at(&at_cut, &history, cut);
        if (ended) drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.lost_log_pages == 0);
        drive_judge();
    }
    sim_forget(&at_cut);
}

/* The last page of a log whose tail is longer than the frames is read once, then not any more, and its other copy not
 * at all: the log ends there, and that is said. */
static void log_page_that_could_not_be_read_again_ends_the_log(void) {
    sim_new(1, 1, 120, 16, 64);
    sim.no_collect = true;
    mounted();
    log_pages_past_the_watermark(SIM_FRAMES + 40);
    const struct drive_item *last = &drive.item[drive.items - 1], *before = last - (DRIVE_LPNS - 1);
    CHECK(last->lpn[0] == before->lpn[0]);
    struct drive_copies of = drive_log_page(SIM_FRAMES + 39);
    sim_power_on();
    of.copy[1]->state = SIM_TORN;
    of.copy[0]->fades = 2; /* the scan reads it, and nobody else */
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    CHECK(sim.lost_log_pages == 1 && drive_value(last->lpn[0]) == before->value[0]);
}

/* A log page that one mount cannot read and the next one can: what only it names is still there. */
static void log_page_unread_in_one_mount_and_read_in_the_next(void) {
    bool ended = false;
    uint32_t kept = 0;
    for (uint32_t cut = 1; !ended; cut++) {
        sim_seed(cut);
        sim_new(1, 1, 38 + FTL_KEPT_BLOCKS, 8, 64);
        mounted();
        for (uint32_t n = 0; n < 3; n++) log_pages(5);
        /* its entry is below no watermark of another page, and the last to name its block */
        struct drive_copies of = drive_log_page(14);
        sim_power_on();
        drive_log_spoil(&of, SIM_TORN);
        sim.cut_at = cut;
        ended = sim_mount(&drive.ftl) != -1;
        sim.cut_at = 0;
        if (ended) break;
        drive_log_mend(&of);
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        /* the first mount got as far as its root, and says so */
        if (sim.lost_log_pages != 0) drive.item[drive.items - 1].must = false;
        else kept++;
        drive_judge();
    }
    CHECK(kept > 10);
}

/* Only this block of its die is free now: those that nothing was programmed in are bad. It is of the die that a mount
 * takes from first. */
static void all_others_are_bad(uint32_t block_id) {
    CHECK(ftl_die_of(&sim.g, block_id) == 0);
    for (uint32_t id = 0; id < sim.g.blocks; id++)
        if (id != block_id && sim_last[id] == -1 && !ftl_blocks_unwanted(&drive.ftl, id))
            (void)ftl_bbt_mark(&drive.ftl, id);
    ftl_bbt_write(&drive.ftl);
}

/* The same with the only block that a mount could take, which no other log page names. */
static void block_that_only_an_unread_log_page_names_is_kept(void) {
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++) {
        sim_seed(cut);
        sim_new(2, 1, 36, 8, 64);
        mounted();
        write_one(3);
        struct drive_copies of = drive_log_page(0);
        all_others_are_bad(block_of(data_page(drive_lpn(3))));
        sim_power_on();
        drive_log_spoil(&of, SIM_TORN);
        sim.cut_at = cut;
        ended = sim_mount(&drive.ftl) != -1;
        sim.cut_at = 0;
        if (ended) break;
        drive_log_mend(&of);
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        if (sim.lost_log_pages == 0) drive_judge();
    }
}

/* Nothing but entries past the watermark names the block, and its first page looks blank: no copy goes there. */
static void block_that_only_the_tail_names_takes_no_copy(void) {
    sim_new(2, 1, 36, 8, 64);
    mounted();
    /* three of them on the first die */
    for (uint32_t i = 0; i < 5; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, false));
    drive_close();
    drive_finish_log();
    drive_finish_data();
    struct sim_page *first = data_page(drive_lpn(0));
    CHECK(data_page(drive_lpn(2)) == first + 1 && data_page(drive_lpn(4)) == first + 2);
    all_others_are_bad(block_of(first));
    first->state = SIM_TORN_BLANK;
    remounted();
    for (uint32_t i = 1; i < 5; i++) CHECK(drive_value(drive_lpn(i)) == drive.item[i].value[0]);
}

/* Free are as many blocks as a session keeps for the next mount, and it needs them all: for the map, the log, a copy,
 * and those that fail. */
static void reserve_is_enough_for_a_mount_with_failures(void) {
    for (uint32_t shape = 0; shape < 3; shape++) {
        sim_new(1 + shape, 1, 52, 8, 64);
        mounted();
        for (uint32_t i = 0; i < 5; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
        drive_close();
        drive_finish_log();
        drive_finish_data();
        uint32_t left = ftl_blocks_mount_reserve(&sim.g), worn = FTL_MOUNT_SPARE;
        for (uint32_t b = 0; b < sim.g.blocks; b++)
            for (uint32_t die = 0; die < sim.g.dies; die++) {
                uint32_t id = ftl_block_id(&sim.g, die, b);
                bool log = false;
                for (uint32_t l = 0; l < 2 * sim.g.lanes; l++) log = log || drive.ftl.lane_block[l / 2][l % 2] == id;
                if (ftl_blocks_unwanted(&drive.ftl, id) || sim_last[id] != -1 || log) continue;
                if (left == 0) (void)ftl_bbt_mark(&drive.ftl, id);
                if (left != 0) left--;
                if (worn != 0) sim_blocks[id].worn = true, worn--;
            }
        CHECK(left == 0 && worn == 0);
        ftl_bbt_write(&drive.ftl);
        uint32_t bad = ftl_blocks_count_bad(&drive.ftl);
        drive_cut_dropping_all();
        CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.report.blocks_bad == bad + FTL_MOUNT_SPARE &&
              sim.programs[FTL_KIND_DATA] != 0 && sim.programs[FTL_KIND_MAP] != 0);
        drive_judge();
    }
}

/* What a mount that was cut has written in free blocks carries the generation that the next one opens. The one after
 * that may not take such blocks (rule keep), so they are erased before they are its reserve. */
static uint32_t directories;
static void count_directories(void) {
    directories = sim.programs[FTL_KIND_ROOT] == 0 ? sim.programs[FTL_KIND_DIRECTORY] : 0;
}

static bool written_in(uint32_t id, uint32_t generation) {
    const struct sim_page *page = &sim_pages[ftl_first_ppn(&sim.g, id)];
    return page->state == SIM_WHOLE && page->generation == generation && !ftl_is_anchor(&sim.g, id);
}

static void reserve_has_no_block_that_a_cut_mount_has_written(void) {
    sim_new(4, 2, 80, 16, 8192);
    mounted();
    write_all();
    remounted();
    drive_start();
    CHECK(drive_write(&(uint32_t){drive_lpn(3)}, 1, true));
    drive_close();
    drive_finish_log();
    drive_finish_data();
    struct drive_copies of = drive_log_page(0);
    drive_cut_dropping_all();
    struct sim_copy at_cut = sim_save();
    directories = 0;
    for (uint32_t cut = 150; directories == 0; cut++) { /* until it is between map and root */
        sim_restore(&at_cut);
        of.copy[1]->state = SIM_TORN;
        of.copy[0]->fades = 2; /* it reads the log, and the next one cannot */
        sim.cut_at = cut;
        sim.on_cut = count_directories;
        CHECK(sim_mount(&drive.ftl) == -1);
    }
    sim_forget(&at_cut);
    sim.cut_at = 0;
    uint32_t written = 0, erased = 0, reserve = 0, generation = drive.ftl.old_root.generation + 1;
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_WEAR)) != NULL;)
        for (uint32_t i = 0; i < sim.g.dies * sim.g.blocks; i++) {
            bool by_cut = written_in(ftl_block_id(&sim.g, i / sim.g.blocks, i % sim.g.blocks), generation);
            p->words[i] = by_cut ? 50 : 0; /* the reserve takes worn blocks */
            written += by_cut;
        }
    CHECK(written >= 2 && sim_mount(&drive.ftl) == FTL_OK && sim.generation == generation);
    CHECK(sim.lost_log_pages == 1 && sim.programs[FTL_KIND_MAP] == 0);
    while (ftl_blocks_take_any(&drive.ftl, ~0ull, false) != FTL_NO_BLOCK) {}
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            uint32_t id = ftl_block_id(&sim.g, die, b);
            if (ftl_blocks_unwanted(&drive.ftl, id) || ftl_blocks_is_taken(&drive.ftl, id)) continue;
            CHECK(!written_in(id, generation));
            reserve++;
            erased += sim_touched[id];
        }
    CHECK(reserve == ftl_blocks_mount_reserve(&sim.g) && erased >= written);
}

/* A version that was begun and cannot be read is doubtful: its LPN is in the report, over restarts, until the log goes
 * on. One that was never begun is not. */
static void doubtful_blocks_are_reported_until_the_log_goes_on(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    write_all();
    CHECK(drive_write(&(uint32_t){drive_lpn(7)}, 1, true) && drive_write(&(uint32_t){drive_lpn(8)}, 1, true));
    if (drive_can_close()) drive_close();
    drive_finish_log();
    drive_tear_first();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    for (uint32_t n = 0; n < 3; n++) {
        CHECK(sim.doubtful == 1 && drive.ftl.report.lost.lpn[0] == drive_lpn(7) && sim.dropped == 2);
        drive_judge();
        (void)says("");
        boot_report_mounted(&drive.ftl.report);
        CHECK(says("1 block is doubtful, the version after the one that is there cannot be read: 42\n"));
        remounted();
    }
    drive_start();
    write_one(1);
    remounted();
    CHECK(sim.doubtful == 0 && sim.dropped == 0);
}

/* Whether a page can be read is asked twice: it may fade before it is copied. */
static void version_that_fades_before_its_copy_is_doubtful(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    write_all();
    CHECK(drive_write(&(uint32_t){drive_lpn(7)}, 1, true));
    drive_close();
    drive_finish_log();
    drive_finish_data();
    struct sim_page *page = data_page(drive_lpn(7));
    drive_cut_dropping_all();
    page->fades = 2;
    CHECK(sim_mount(&drive.ftl) == FTL_OK && page->state == SIM_TORN);
    CHECK(sim.doubtful == 1 && drive.ftl.report.lost.lpn[0] == drive_lpn(7) && sim.dropped == 1);
    drive_judge();
}

/* Of a part that runs two programs of a die at once both may fade. */
static void both_pages_under_way_on_a_die_are_copied(void) {
    sim_new(1, 1, 52, 8, 64);
    sim.g.cache_ops = 1;
    mounted();
    write_all();
    for (uint32_t i = 7; i < 9; i++) CHECK(drive_write(&(uint32_t){drive_lpn(i)}, 1, true));
    drive_close();
    drive_finish_log();
    drive_finish_data();
    struct sim_page *pages = data_page(drive_lpn(7));
    CHECK(data_page(drive_lpn(8)) == pages + 1);
    drive_cut_dropping_all();
    pages[0].fades = pages[1].fades = 3; /* each is read twice */
    CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.dropped == 0);
    drive_judge();
}

/* Its program failed, and the RELOCATE that stands in for it is complete: nothing is lost. */
static void failed_page_with_a_replacement_is_not_doubtful(void) {
    sim_new(1, 1, 52, 8, 64);
    mounted();
    sim.fail_next[FTL_KIND_DATA] = 1;
    CHECK(drive_write(&(uint32_t){drive_lpn(7)}, 1, true));
    drive_close();
    drive_finish_log();
    drive_finish_data();
    struct sim_page *page = NULL;
    for (uint32_t ppn = 0; !page; ppn++)
        if (sim_pages[ppn].kind == FTL_KIND_DATA && sim_pages[ppn].lpn == drive_lpn(7)) page = &sim_pages[ppn];
    drive_settle();
    drive_cut_dropping_all();
    page->state = SIM_TORN;
    CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.report.log_pages == 2 && sim.doubtful == 0 && sim.dropped == 0);
    drive_judge();
}

const struct test fading_tests[] = {
    {"mounts cut one after another at any operation lose nothing, whatever fades",
     mounts_cut_one_after_another_lose_nothing},
    {"the older root counts until the newer one has a seal", older_root_counts_until_the_newer_has_a_seal},
    {"the other anchors go before anything else is touched", other_anchors_go_before_anything_else_is_touched},
    {"a newer root that looked blank in a mount that was cut does not count",
     newer_root_that_looked_blank_in_a_cut_mount},
    {"an older root that looked blank never comes back", older_root_that_looked_blank_never_comes_back},
    {"a gap in the log is said, and nothing is touched", gap_in_the_log_is_said_and_nothing_is_touched},
    {"an unreadable end of the log is said", unreadable_end_of_the_log_is_said},
    {"a fading last page of a log longer than the frames does not close the drive", fading_last_page_of_a_long_log},
    {"the blocks that the log goes on in are kept", blocks_that_the_log_goes_on_in_are_kept},
    {"a log page that could not be read again ends the log, and that is said",
     log_page_that_could_not_be_read_again_ends_the_log},
    {"a log page unread in one mount and read in the next finds what it names",
     log_page_unread_in_one_mount_and_read_in_the_next},
    {"the only free block is kept if an unread log page may name it", block_that_only_an_unread_log_page_names_is_kept},
    {"a block that only the tail names takes no copy", block_that_only_the_tail_names_takes_no_copy},
    {"the reserve is enough for a mount with failures", reserve_is_enough_for_a_mount_with_failures},
    {"the reserve has no block that a cut mount has written", reserve_has_no_block_that_a_cut_mount_has_written},
    {"doubtful blocks are reported until the log goes on", doubtful_blocks_are_reported_until_the_log_goes_on},
    {"a version that fades before it is copied is doubtful", version_that_fades_before_its_copy_is_doubtful},
    {"both pages under way on a die are copied", both_pages_under_way_on_a_die_are_copied},
    {"a failed page with a replacement is not doubtful", failed_page_with_a_replacement_is_not_doubtful},
    {0},
};
