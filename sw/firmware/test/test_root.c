/* SPDX-License-Identifier: Apache-2.0 */
/* Roots and their anchors: in turn, over blocks that fail, over cuts. */
#include "ftl_blocks.h"
#include "ftl_root.h"
#include "tests.h"

static uint32_t anchor(uint32_t n) { return ftl_anchor(&sim.g, n % FTL_ANCHORS); }

static uint32_t number_of(uint32_t block_id) {
    uint32_t n = 0;
    while (n < FTL_ANCHORS && anchor(n) != block_id) n++;
    return n;
}

static struct sim_page *pages_of(uint32_t n) { return &sim_pages[ftl_first_ppn(&sim.g, anchor(n))]; }

/* The anchors with the newest root, by what is on NAND, one bit each; none that is known as bad. */
static uint32_t holders(void) {
    uint32_t set = 0;
    uint64_t newest = 0;
    for (uint32_t i = 0; i < 3 * FTL_ANCHORS; i++) {
        const struct sim_page *p = &pages_of(i / 3)[i % 3];
        if (p->state != SIM_WHOLE || p->kind != FTL_KIND_ROOT || sim_blocks[anchor(i / 3)].never) continue;
        if (p->sequence > newest) set = 0, newest = p->sequence;
        if (p->sequence == newest) set |= 1u << i / 3;
    }
    return set;
}

static uint32_t roots_of(uint64_t sequence) {
    uint32_t n = 0;
    for (const struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;) n += p->sequence == sequence;
    return n;
}

static uint32_t last_holder(void) {
    uint32_t n = FTL_ANCHORS - 1;
    while (!(holders() >> n & 1u)) n--;
    return n;
}

static void write_some(uint32_t lpn) {
    CHECK(drive_write(&(uint32_t){drive_lpn(lpn)}, 1, true));
    drive_settle();
}

static void small_drive(uint32_t dies) { sim_new(1, dies, 56, 8, 64); }

static void roots_go_round_the_anchors(void) {
    for (uint32_t dies = 1; dies < 4; dies++) {
        small_drive(dies);
        for (uint32_t n = 0; n < FTL_ANCHORS; n++)
            for (uint32_t c = 0; c < 2; c++)
                for (uint32_t b = 0; b < FTL_TABLE_BLOCKS; b++)
                    CHECK(anchor(n) != ftl_table_block(&sim.g, c, b) && number_of(anchor(n)) == n);
        for (uint32_t n = 0; n < FTL_ANCHORS && dies > 1; n += 2) /* copies are on different dies */
            CHECK(ftl_die_of(&sim.g, anchor(n)) != ftl_die_of(&sim.g, anchor(n + 1)));
        CHECK(anchor(0) == 0);
        mounted();
        for (uint32_t n = 0; n < 3 * FTL_ANCHORS; n++) {
            CHECK(holders() == 3u << 2 * (n % 3) && sim.programs[FTL_KIND_ROOT] == 2 &&
                  sim.programs[FTL_KIND_SEAL] == 2);
            /* nothing but roots gets into an anchor: the simulation and the next mounts would see it */
            write_some(n % DRIVE_LPNS);
            remounted();
            drive_judge();
            drive_start();
        }
    }
}

/* Although an anchor is bad, as long as both dies have good ones. */
static void copies_are_on_different_dies(void) {
    for (uint32_t bad = 0; bad < FTL_ANCHORS; bad++) {
        small_drive(2);
        if (bad != 0) sim_mark_bad(anchor(bad));
        mounted();
        for (uint32_t n = 0; n < 4; n++) {
            uint32_t set = holders(), dies = 0;
            for (uint32_t a = 0; a < FTL_ANCHORS; a++) dies |= (set >> a & 1u) << a % 2;
            /* the old one may have taken the other good anchors of a die */
            CHECK(ftl_dies_count(set) == 2 && (dies == 3 || n != 0));
            remounted();
        }
    }
}

/* FAIL_ERASE: the erase of the next anchor fails; else so many programs do, and what they leave reads well, is torn or
 * looks blank. */
#define FAIL_ERASE 0u
static void next_fails(uint32_t programs, uint32_t next) {
    if (programs == FAIL_ERASE) sim_blocks[anchor(next)].worn = true;
    sim_blocks[anchor(next)].refuses = (uint8_t)(programs < 3 ? programs : 3);
    if (programs > 3) sim_blocks[anchor(next + 2)].refuses = (uint8_t)(programs - 3);
}

static void anchor_that_fails_is_bad_and_the_next_one_is_taken(void) {
    for (uint32_t run = 0; run < 2 * 2 * 3 * 3 * 5; run++) {
        uint32_t formatted = run % 2, second = run / 2 % 2, dies = 1 + run / 4 % 3, left = run / 12 % 3,
                 programs = run / 36, fails = 2 * formatted + second;
        small_drive(dies);
        if (formatted) mounted();
        if (formatted) write_some(3);
        drive_cut_dropping_all();
        sim.fail_reads_well = left == 0;
        next_fails(programs, fails);
        CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.report.formatted == !formatted);
        bool replaced = programs == FAIL_ERASE || programs >= 3;
        CHECK(ftl_blocks_is_bad(&drive.ftl, anchor(fails)) == replaced && drive.ftl.report.blocks_bad == replaced);
        CHECK(ftl_dies_count(holders()) == 2);
        for (uint32_t p = 0; p < 3 && p < programs && left != 0; p++)
            pages_of(fails)[p].state = left == 1 ? SIM_TORN : SIM_TORN_BLANK;
        /* round once; the simulation watches that no bad block is erased */
        for (uint32_t n = 0; n < FTL_ANCHORS + 2; n++) {
            uint32_t generation = sim.generation;
            CHECK(!formatted || drive_value(drive_lpn(3)) != NOTHING);
            remounted();
            CHECK(sim.generation == generation + 1 && drive.ftl.report.blocks_bad == replaced &&
                  !drive.ftl.report.formatted && ftl_dies_count(holders()) == 2);
        }
    }
}

/* Five: three in one anchor, two in the other; six: in both. */
static void anchor_whose_seal_fails_is_bad(void) {
    for (uint32_t run = 0; run < 3 * 6; run++) {
        uint32_t fails = 1 + run % 6, dies = 1 + run / 6, bad = fails < 5 ? 0 : fails - 4;
        small_drive(dies);
        mounted();
        write_some(3);
        drive_cut_dropping_all();
        sim.fail_next[FTL_KIND_SEAL] = fails;
        CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.report.blocks_bad == bad);
        CHECK(ftl_dies_count(holders()) == (bad == 1 ? 1 : 2));
        for (uint32_t n = 0; n < FTL_ANCHORS; n++) {
            remounted();
            CHECK(drive_value(drive_lpn(3)) != NOTHING && ftl_dies_count(holders()) == 2);
        }
    }
}

/* One page that cannot be read, a copy of the root or a seal, in each mount: as if it could. And each mount is cut. */
static void one_unreadable_root_page_harms_nobody(void) {
    for (uint32_t run = 0; run < 3 * 3 * 4; run++) {
        uint32_t dies = 1 + run % 3, age = run / 3 % 3, page = run / 9;
        small_drive(dies);
        mounted();
        for (uint32_t n = 0; n < age; n++) remounted();
        if (age != 0) drive_start();
        write_some(3);
        drive_cut_dropping_all();
        uint32_t set = holders();
        CHECK(ftl_dies_count(set) == 2);
        for (uint32_t n = page % 2; n > 0; n--) set &= set - 1u;
        uint32_t a = 0;
        while (!(set >> a & 1u)) a++;
        pages_of(a)[page < 2 ? 0 : 3].state = SIM_TORN;
        struct sim_copy at_cut = sim_save();
        struct drive history = drive;
        bool ended = false;
        for (uint32_t cut = 1; !ended; cut++) {
            ended = mount_cut_at(&at_cut, &history, cut);
            if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            CHECK(sim.lost_log_pages == 0 && sim.dropped == 0 && ftl_dies_count(holders()) == 2 &&
                  drive.ftl.report.blocks_bad == 0 && !drive.ftl.report.formatted);
        }
        sim_forget(&at_cut);
    }
}

/* Anchors fail one after another, over many mounts, until one is left. */
static void last_root_is_kept_when_no_other_anchor_works(void) {
    for (uint32_t run = 0; run < 60; run++) {
        sim_seed(run);
        small_drive(1 + run % 3);
        mounted();
        uint32_t failed = 0;
        while (failed < FTL_ANCHORS - 1) {
            uint32_t kept = holders(), n = sim_random(FTL_ANCHORS), others = 0;
            for (uint32_t a = 0; a < FTL_ANCHORS; a++)
                others += !(kept >> a & 1u) && !ftl_blocks_is_bad(&drive.ftl, anchor(a));
            bool spare = others == 0; /* it is the old root's second that goes */
            while (ftl_blocks_is_bad(&drive.ftl, anchor(n)) || (spare ? n != last_holder() : kept >> n & 1u))
                n = (n + 1) % FTL_ANCHORS;
            write_some(sim_random(DRIVE_LPNS));
            drive_cut_dropping_all();
            if (sim_random(2)) next_fails(sim_random(2) ? FAIL_ERASE : 3, n);
            uint64_t sequence = drive.ftl.old_root.sequence;
            int error = sim_mount(&drive.ftl);
            failed = FTL_ANCHORS - ftl_root_anchors(&drive.ftl);
            bool last = failed == FTL_ANCHORS - 1;
            CHECK(error == (last ? FTL_ERR_ANCHOR : FTL_OK) && sim.enabled && sim.read_only == last);
            for (uint32_t a = 0; a < FTL_ANCHORS && !last; a++)
                CHECK(((kept & ~holders()) >> a & 1u) == 0 || pages_of(a)[0].state == SIM_BLANK);
            if (last) CHECK(roots_of(sequence) != 0);
            drive_judge();
            if (!last) drive_start();
        }
        for (uint32_t i = 0; i < 2; i++) { /* again, and nothing that the old root names has gone */
            drive_cut_dropping_all();
            CHECK(sim_mount(&drive.ftl) == FTL_ERR_ANCHOR && sim.programs[FTL_KIND_ROOT] == 0 && sim.read_only);
            drive_judge();
        }
    }
}

/* Garbage in them may look like a root: whole, of a high sequence. */
static void anchors_bad_from_the_factory_are_never_roots_nor_touched(void) {
    for (uint32_t bad = 0; bad < 1u << (FTL_ANCHORS - 1); bad++) {
        sim_seed(bad);
        small_drive(1 + bad % 3);
        for (uint32_t n = 1; n < FTL_ANCHORS; n++) {
            if (!(bad >> (n - 1) & 1u)) continue;
            sim_mark_bad(anchor(n));
            pages_of(n)[sim_random(3)] =
                (struct sim_page){.state = SIM_WHOLE, .kind = FTL_KIND_ROOT, .sequence = 1000 + n};
        }
        int error = sim_mount(&drive.ftl);
        bool two = bad != (1u << (FTL_ANCHORS - 1)) - 1u;
        CHECK(error == (two ? FTL_OK : FTL_ERR_ANCHOR));
        if (!two) CHECK(sim.count[HAL_ERASE] == 0 && sim.count[HAL_PROGRAM] == 0);
        for (uint32_t i = 0; i < FTL_ANCHORS && two; i++) {
            drive_start();
            write_some(i);
            remounted();
            drive_judge();
        }
    }
}

/* A mark in a block that holds the newest root is a misread one. It is asked for when there is no table; the mount is
 * cut at every operation after that. */
static void root_under_a_mark_counts(void) {
    bool ended = false;
    for (uint32_t cut = 3 * 2 * 44; !ended; cut++) {
        sim_seed(cut);
        small_drive(2);
        mounted();
        write_some(3);
        drive_cut_dropping_all();
        sim_blocks[anchor(0)].mark = sim_blocks[anchor(1)].mark = 1; /* both copies */
        for (uint32_t c = 0; c < 2; c++)
            for (uint32_t p = 0; p < sim.g.pages; p++)
                sim_pages[ftl_first_ppn(&sim.g, ftl_table_block(&sim.g, c, 0)) + p].state = SIM_TORN;
        sim.cut_at = cut;
        ended = sim_mount(&drive.ftl) != -1;
        sim.cut_at = 0;
        for (uint32_t i = 0; i < 3; i++) {
            if (i != 0 || !ended) remounted();
            CHECK(drive_value(drive_lpn(3)) != NOTHING && !drive.ftl.report.formatted);
        }
    }
}

/* The drive goes on for a while; a root of before must never come back. Nor one that failed: now its page can be read.
 * */
static void goes_on(void) {
    for (uint32_t n = 0; n < FTL_ANCHORS; n++)
        for (uint32_t p = 0; p < 3; p++)
            if (sim_blocks[anchor(n)].never && pages_of(n)[p].state != SIM_BLANK) pages_of(n)[p].state = SIM_WHOLE;
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t generation = sim.generation;
        drive_start();
        write_some(i);
        remounted();
        CHECK(sim.generation == generation + 1);
        drive_judge();
    }
}

static void mount_over_failing_anchors_cut_at_every_operation(void) {
    /* the next anchor's erase, its programs, those of the next two, erase and programs */
    for (uint32_t fault = 0; fault < 4; fault++) {
        uint32_t programs[] = {0, 6, 12, 5};
        sim_seed(fault);
        small_drive(1 + fault % 2);
        mounted();
        for (uint32_t i = 0; i < 3 + fault; i++) { /* all anchors hold older roots */
            write_some(i);
            remounted();
            drive_start();
        }
        write_some(5);
        drive_cut_dropping_all();
        if (fault % 3 == 0) next_fails(FAIL_ERASE, last_holder() + 1);
        struct sim_copy at_cut = sim_save();
        struct drive history = drive;
        bool ended = false;
        for (uint32_t cut = 1; !ended; cut++)
            for (uint32_t luck = 0; luck < 6; luck++) {
                sim_restore(&at_cut);
                drive = history;
                sim_seed(cut * 10 + luck);
                sim.fail_next[FTL_KIND_ROOT] = programs[fault];
                sim.fail_reads_well = luck % 2;
                sim.cut_at = cut;
                ended = sim_mount(&drive.ftl) != -1;
                if (luck > 3) sim.fail_next[FTL_KIND_ROOT] = 0;
                sim.cut_at = 0;
                if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
                sim.fail_next[FTL_KIND_ROOT] = 0;
                drive_judge();
                goes_on();
            }
        sim_forget(&at_cut);
    }
}

static void first_format_over_failing_anchors_cut_at_every_operation(void) {
    for (uint32_t luck = 0; luck < 12; luck++) /* first the marks are read */
        for (uint32_t cut = 1, dies = 1 + luck % 2;; cut += cut + 13 < 3 * dies * 50 ? 13 : 1) {
            sim_seed(luck);
            small_drive(dies);
            if (luck % 3 != 0) sim_blocks[anchor(0)].worn = true;
            if (luck % 3 == 2) sim_mark_bad(anchor(1));
            sim.fail_next[FTL_KIND_ROOT] = luck % 4 * 2;
            sim.cut_at = cut;
            bool ended = sim_mount(&drive.ftl) != -1;
            sim.cut_at = 0;
            if (ended) break;
            CHECK(sim_mount(&drive.ftl) == FTL_OK && sim.generation <= 2);
            goes_on();
        }
}

/* The first format took its second anchor, for the programs of the first failed, and power failed before the seal. Its
 * root may fade, so the drive is formatted again, whatever is cut. */
static void first_format_that_was_cut_behind_a_bad_anchor_is_done_again(void) {
    bool ended = false;
    for (uint32_t cut = 1; !ended; cut++) {
        sim_seed(cut);
        small_drive(1);
        next_fails(3, 0);
        mounted();
        drive_cut_dropping_all();
        for (uint32_t p = 0; p < 3; p++) pages_of(0)[p].state = SIM_TORN;
        for (uint32_t a = 1; a < 3; a++) {
            CHECK(pages_of(a)[3].kind == FTL_KIND_SEAL);
            pages_of(a)[3].state = SIM_BLANK;
            pages_of(a)[0].fades = 4;
        }
        sim.cut_at = cut;
        ended = sim_mount(&drive.ftl) != -1;
        sim.cut_at = 0;
        CHECK(!ended || drive.ftl.report.formatted);
        if (!ended) CHECK(sim_mount(&drive.ftl) == FTL_OK);
        goes_on();
    }
}

/* What cannot be read in another anchor than the first two good ones is no first format that was cut: that begins in
 * these. */
static void lost_root_without_a_seal_is_no_blank_drive(void) {
    for (uint32_t n = 2; n < FTL_ANCHORS; n++) {
        small_drive(2);
        pages_of(n)[0].state = SIM_TORN;
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0);
    }
}

/* A root that was whole once makes the drive one in use, whichever of its anchors it was in. */
static void lost_root_of_any_anchor_is_no_blank_drive(void) {
    for (uint32_t n = 0; n < 2 * FTL_ANCHORS; n++) {
        small_drive(1 + n % 2);
        mounted();
        for (uint32_t i = 0; i < n; i++) remounted();
        if (n == 0) write_some(3);
        drive_cut_dropping_all();
        for (uint32_t i = 0; i < FTL_ANCHORS; i++)
            if (pages_of(i)[0].state == SIM_WHOLE) pages_of(i)[0].state = SIM_TORN;
        CHECK(sim_mount(&drive.ftl) == FTL_ERR_NO_ROOT && sim.count[HAL_PROGRAM] == 0 && sim.count[HAL_ERASE] == 0);
    }
}

const struct test root_tests[] = {
    {"roots go round the anchors", roots_go_round_the_anchors},
    {"copies of a root are on different dies", copies_are_on_different_dies},
    {"an anchor that fails is bad, and the next one is taken", anchor_that_fails_is_bad_and_the_next_one_is_taken},
    {"an anchor whose seal fails is bad, and the root is in another one", anchor_whose_seal_fails_is_bad},
    {"one unreadable page of a root, copy or seal, harms nobody", one_unreadable_root_page_harms_nobody},
    {"the last root is kept when no other anchor works", last_root_is_kept_when_no_other_anchor_works},
    {"anchors bad from the factory are never roots, nor touched",
     anchors_bad_from_the_factory_are_never_roots_nor_touched},
    {"a root in a block whose mark was misread counts", root_under_a_mark_counts},
    {"a mount over failing anchors, cut at every operation, comes to the same map",
     mount_over_failing_anchors_cut_at_every_operation},
    {"a first format over failing anchors, cut at every operation, is done again",
     first_format_over_failing_anchors_cut_at_every_operation},
    {"a first format that was cut behind a bad anchor is done again",
     first_format_that_was_cut_behind_a_bad_anchor_is_done_again},
    {"a lost root without a seal does not make a blank drive", lost_root_without_a_seal_is_no_blank_drive},
    {"lost roots in any anchor do not make a blank drive", lost_root_of_any_anchor_is_no_blank_drive},
    {0},
};
