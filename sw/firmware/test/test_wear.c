/* SPDX-License-Identifier: Apache-2.0 */
/* Erase counts: they are true, they survive, and blocks wear alike. */
#include "ftl_blocks.h"
#include "ftl_root.h"
#include "tests.h"
#include "traffic.h"

static bool counts(uint32_t id) { return !ftl_blocks_unwanted(&drive.ftl, id); }

/* Over the blocks that wear alike: erases of the NAND that the firmware does not know of, and the other way round. */
static void differences(uint32_t *missed, uint32_t *invented) {
    *missed = *invented = 0;
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            uint32_t id = ftl_block_id(&sim.g, die, b), is = sim_blocks[id].erases,
                     said = ftl_erases_of(&drive.ftl, id);
            if (!counts(id)) continue;
            *missed += is > said ? is - said : 0;
            *invented += said > is ? said - is : 0;
        }
}

static void spread(uint32_t *least, uint32_t *most, uint32_t *mean) {
    uint32_t n = 0, sum = 0;
    *least = 0xffffffffu;
    *most = 0;
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            uint32_t id = ftl_block_id(&sim.g, die, b), erases = sim_blocks[id].erases;
            if (!counts(id)) continue;
            n++;
            sum += erases;
            if (erases < *least) *least = erases;
            if (erases > *most) *most = erases;
        }
    *mean = sum / n;
}

static uint32_t total(void) {
    uint32_t sum = 0;
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++)
            if (counts(ftl_block_id(&sim.g, die, b))) sum += sim_blocks[ftl_block_id(&sim.g, die, b)].erases;
    return sum;
}

/* Writes of one block in `hot`, until so many have found room. */
static void write_hot(uint32_t writes, uint32_t hot) {
    uint32_t done = 0;
    for (uint32_t tries = 0; done < writes; tries++) {
        CHECK(tries < 40 * writes);
        done += drive_write(&(uint32_t){drive_lpn(sim_random(hot))}, 1, true);
        drive_supply(4);
        while (sim_random(3) != 0) (void)drive_finish_one();
        if (sim_random(40) == 0) drive_settle();
    }
    drive_settle();
}

static void every_erase_is_counted_while_power_is_on(void) {
    sim_new(2, 2, 40, 8, 64);
    mounted();
    write_hot(2000, DRIVE_LPNS);
    uint32_t missed, invented;
    differences(&missed, &invented);
    CHECK(missed == 0 && invented == 0 && total() > 200 && drive.collect.released > 100);
}

/* After a cut only erases since the last map are in doubt, and the log tells of most of these: of none that was not. */
static void counts_survive_cuts(void) {
    for (uint32_t seed = 1; seed <= 4; seed++) {
        sim_seed(seed);
        sim_new(2, 1, 64, 8, 64);
        mounted();
        uint32_t missed = 0, invented = 0;
        for (uint32_t cut = 0; cut < 12; cut++) {
            write_hot(300 + sim_random(300), DRIVE_LPNS);
            drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            CHECK(drive.ftl.wear.lost == 0);
            drive_start();
            differences(&missed, &invented);
            /* not known: blocks that were erased and had no page yet */
            CHECK(missed + invented <= (cut + 1) * (7 * sim.g.dies + 8 * sim.g.lanes));
        }
        CHECK(total() > 900);
    }
}

/* After a mount words of counts are nothing but counts: no block is called open, none has an age of this session. */
static bool counts_are_plain(void) {
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            uint32_t word = *ftl_erases(&drive.ftl, die, b);
            if (word != FTL_ERASES(word)) return false;
        }
    return true;
}

/* The log names its first blocks, which were erased before the mount wrote the counts. */
static void blocks_that_were_open_are_counted_once(void) {
    sim_new(2, 1, 64, 8, 64);
    mounted();
    uint32_t missed, invented;
    for (uint32_t cut = 0; cut < 8; cut++) {
        write_one(cut);
        drive_cut();
        CHECK(sim_mount(&drive.ftl) == FTL_OK);
        differences(&missed, &invented);
        CHECK(invented == 0 && counts_are_plain());
        drive_start();
    }
}

static void counts_are_the_same_after_a_mount_that_found_nothing(void) {
    sim_new(1, 2, 48, 8, 64);
    mounted();
    write_hot(500, 3);
    remounted();
    drive_start();
    uint32_t said[2 * 64];
    for (uint32_t b = 0; b < 96; b++) said[b] = ftl_erases_of(&drive.ftl, ftl_block_id(&sim.g, b / 48, b % 48));
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    uint32_t lower = 0, sum = 0;
    for (uint32_t b = 0; b < 96; b++) {
        uint32_t now = ftl_erases_of(&drive.ftl, ftl_block_id(&sim.g, b / 48, b % 48));
        lower += now < said[b];
        sum += said[b];
    }
    CHECK(lower < 24 && sum > 40); /* erased since the map was written, and not named by the log */
}

static void wear_page_that_cannot_be_read_harms_nobody(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
    write_hot(1500, 4);
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_start();
    uint32_t *root = hal_frame(drive.ftl.old_root.frame), ppn = root[FTL_ROOT_WEAR];
    CHECK(ppn != FTL_NO_PPN && sim_pages[ppn].kind == FTL_KIND_WEAR);
    drive_cut();
    sim_pages[ppn].state = SIM_TORN;
    CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.wear.lost == 1);
    drive_judge();
    for (uint32_t b = 12; b < 64; b++) CHECK(ftl_erases_of(&drive.ftl, b) < 10);
    drive_start();
    write_hot(2000, 4);
    CHECK(drive.checkpoint.done > 0);
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.wear.lost == 0);
}

static void wear_page_that_fails_in_a_checkpoint_is_written_again(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    write_hot(2000, 4);
    uint32_t before = ftl_erases_of(&drive.ftl, 20);
    CHECK(before > 3);
    drive.ftl.geometry.checkpoint_pages = 100000;
    quiet();
    sim.fail_next[FTL_KIND_WEAR] = 1;
    write_one(0);
    checkpoint_asked();
    CHECK(sim.failed[FTL_KIND_WEAR] == 1);
    drive_cut();
    CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.wear.lost == 0);
    drive_judge();
    CHECK(ftl_erases_of(&drive.ftl, 20) >= before);
}

/* The block that pages move to. */
static uint32_t open_block(void) {
    for (uint32_t b = 0; b < FTL_MOVE_BLOCKS; b++)
        if (drive.retire.moves.open[b].block != 0) return drive.retire.moves.open[b].block - 1;
    return FTL_NO_BLOCK;
}

/* Nothing is collected, and no erased block waits for that. */
static bool idle(void) {
    uint32_t victims = 0;
    for (uint32_t v = 0; v < FTL_VICTIMS; v++) victims += drive.collect.victim[v].block;
    return victims == 0 && drive.supply.moves.waiting + drive.supply.moves.coming == 0;
}

static void cold_pages_move_to_the_most_worn_block(void) {
    sim_new(1, 1, 80, 8, 64);
    mounted();
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
    write_hot(2000, 2);
    uint32_t i = 0;
    for (; !idle(); i++) {
        CHECK(i < 4000);
        write_hot(1, 2);
    }
    for (uint32_t b = 0; b < FTL_MOVE_BLOCKS; b++) drive.retire.moves.open[b].left = 0;
    drive_supply(1);
    CHECK(open_block() == FTL_NO_BLOCK);
    /* one that is free is worn more than all others */
    for (i = 12; ftl_blocks_is_taken(&drive.ftl, i) || sim_last[i] == -1;) i++;
    *ftl_erases(&drive.ftl, 0, i) += 5;
    sim_blocks[i].erases += 5;
    uint32_t block = FTL_WORD_VALUE(hal_map()[drive_lpn(DRIVE_LPNS - 1)]) >> sim.g.page_bits, most = 0;
    for (uint32_t b = 12; b < sim.g.blocks; b++) {
        bool reserved = !ftl_blocks_is_taken(&drive.ftl, b) && sim_last[b] == -1; /* of the next mount, perhaps */
        if (!ftl_blocks_is_taken(&drive.ftl, b) && !reserved && sim_blocks[b].erases > most)
            most = sim_blocks[b].erases;
    }
    sim.no_collect = true;
    CHECK(ftl_retire_collect(&drive.supply, &drive.retire, block, true, 0));
    for (i = 0; open_block() == FTL_NO_BLOCK; i++) {
        CHECK(i < 200);
        drive_supply(1);
    }
    CHECK(most > 3 && sim_blocks[open_block()].erases > most); /* it was erased once more */
}

/* A drive of the format before has none. */
static void older_root_begins_with_nothing(void) {
    sim_new(1, 1, 64, 8, 64);
    mounted();
    write_hot(200, 4);
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_start();
    drive_cut_dropping_all();
    for (struct sim_page *p = NULL; (p = sim_next(p, FTL_KIND_ROOT)) != NULL;) {
        p->words[FTL_ROOT_VERSION_WORD] = 6;
        for (uint32_t n = 0; n < FTL_MAX_WEAR_PAGES; n++) p->words[FTL_ROOT_WEAR + n] = 0;
    }
    CHECK(sim_mount(&drive.ftl) == FTL_OK && drive.ftl.wear.lost == 0);
    for (uint32_t b = 12; b < 64; b++) CHECK(ftl_erases_of(&drive.ftl, b) <= 2);
    drive_judge();
    drive_cut_dropping_all(); /* and its new root names none, until there is another map */
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
}

#define SESSIONS 60u

/* Most blocks of data are never written again: without moves of cold data their blocks would stay behind for ever. With
 * a power cut for three erases of each block, and few blocks, of which a session holds many. */
static void cold_blocks_wear_like_the_others(void) {
    static const uint32_t shapes[][5] = {{1, 1, 64, 8, 64}, {2, 1, 48, 8, 64}, {1, 3, 32, 8, 64}};
    for (uint32_t s = 0; s < 3; s++) {
        sim_seed(s + 301);
        sim_new(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], shapes[s][4]);
        mounted();
        uint32_t least, most, mean, missed, invented, levelled = 0;
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
        for (uint32_t n = 0; n < SESSIONS; n++) {
            write_hot(900, 2);
            levelled += drive.collect.levelled;
            drive.ftl.geometry.checkpoint_pages = 1;
            for (uint32_t i = 0, done = drive.checkpoint.done; drive.checkpoint.done == done; i++) {
                CHECK(i < 1000);
                write_one(0);
                drive_supply(10);
            }
            drive_cut();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            drive_start();
        }
        spread(&least, &most, &mean);
        differences(&missed, &invented);
        if (getenv("SHOW"))
            printf("wear: %u to %u, mean %u; %u levelled; %u not counted, %u counted twice\n", least, most, mean,
                   levelled, missed, invented);
        CHECK(mean > 60 && levelled != 0 && most - least <= mean / 8 + 2);
        CHECK(missed <= SESSIONS && invented <= 4 * SESSIONS);
    }
}

static uint32_t reserve(void) {
    uint32_t n = 0;
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t w = 0; w < drive.ftl.blocks.words; w++)
            for (uint32_t bits = ftl_blocks_new_word(&drive.ftl, die, w); bits != 0; bits &= bits - 1u) n++;
    return n;
}

/* All that are called unnamed are. */
static uint32_t take_all_unnamed(void) {
    uint32_t n = 0;
    for (uint32_t id; (id = ftl_blocks_take_unnamed(&drive.ftl, ~0ull)) != FTL_NO_BLOCK; n++) CHECK(!log_names(id));
    return n;
}

/* Of the blocks that are free one may become the next mount's reserve only when that mount cannot find it named. */
static void blocks_that_are_named_become_no_reserve(void) {
    uint32_t unnamed = 0, named = 0;
    for (uint32_t writes = 200; writes <= 1000; writes += 50) {
        sim_seed(writes);
        sim_new(1, 1, 64, 8, 64);
        sim.g.checkpoint_pages = 8;
        mounted();
        write_hot(writes, 2);
        uint64_t head = hal_log_head();
        drive.ftl.blocks.unnamed_missing = true;
        ftl_blocks_mark_free(&drive.ftl, head);
        CHECK(drive.ftl.blocks.marked == head || drive.ftl.old_root.log_first < drive.ftl.blocks.marked);
        uint64_t marked = drive.ftl.blocks.marked;
        write_hot(writes % 200, 2);
        if (drive.ftl.old_root.log_first < marked) CHECK(ftl_blocks_take_unnamed(&drive.ftl, ~0ull) == FTL_NO_BLOCK);
        unnamed += take_all_unnamed();
        for (uint32_t id; (id = ftl_blocks_take_any(&drive.ftl, ~0ull, true)) != FTL_NO_BLOCK;) named += log_names(id);
    }
    CHECK(unnamed > 10 && named > 10);
}

#define WORN 1000u
/* Wears all blocks but those of the reserve, so many erases; how many of these have fewer than WORN. */
static uint32_t reserve_lags(uint32_t erases) {
    uint32_t n = 0;
    for (uint32_t die = 0; die < sim.g.dies; die++)
        for (uint32_t b = 0; b < sim.g.blocks; b++) {
            uint32_t *word = ftl_erases(&drive.ftl, die, b);
            if (ftl_blocks_new_word(&drive.ftl, die, b / 32) >> b % 32 & 1u) n += FTL_ERASES(*word) < WORN;
            else *word += erases;
        }
    return n;
}

/* The blocks that were free at the mount have been in use, so that only those that are marked again change places. */
static void reserve_that_lags_changes_places(void) {
    sim_new(1, 1, 96, 8, 64);
    sim.g.checkpoint_pages = 8;
    mounted();
    write_hot(1200, 2);
    uint32_t before = reserve_lags(WORN);
    write_hot(1200, 2);
    CHECK(before == reserve() && reserve_lags(0) + 3 <= before);
    reserve_is_unnamed();
}

/* Overwritten for long, in few sessions that end in order: no block lags for as long as the power is on, and counts are
 * nearly true. */
static void long_sessions_wear_all_blocks_alike(void) {
    static const uint32_t shapes[][5] = {{1, 1, 64, 8, 64}, {1, 3, 32, 8, 64}};
    for (uint32_t s = 0; s < 2; s++) {
        uint32_t least, most, mean, missed, invented;
        sim_seed(s + 1);
        sim_new(shapes[s][0], shapes[s][1], shapes[s][2], shapes[s][3], shapes[s][4]);
        mounted();
        for (uint32_t i = 0; i < DRIVE_LPNS; i++) write_one(i);
        for (uint32_t n = 0; n < 20; n++) {
            uint32_t kept = reserve();
            write_hot(3400, 2);
            CHECK(reserve() == kept);
            reserve_is_unnamed();
            for (uint32_t i = 0; !power_down(); i++) CHECK(i < 9);
            sim_power_on();
            CHECK(sim_mount(&drive.ftl) == FTL_OK);
            drive_judge();
            drive_start();
        }
        spread(&least, &most, &mean);
        differences(&missed, &invented);
        if (getenv("SHOW")) printf("wear: %u to %u, mean %u\n", least, most, mean);
        /* 12: 5 % of 200, and 2. Of three dies one has no blocks for roots and table: it has more for the same pages */
        CHECK(mean > 100 && most - least <= (s == 0 ? 12 : 14) && missed + invented <= 20);
    }
}

const struct test wear_tests[] = {
    {"wear: every erase is counted while power is on", every_erase_is_counted_while_power_is_on},
    {"wear: counts survive cuts", counts_survive_cuts},
    {"wear: blocks that were open are counted once", blocks_that_were_open_are_counted_once},
    {"wear: a mount that found nothing keeps the counts", counts_are_the_same_after_a_mount_that_found_nothing},
    {"wear: a page of counts that cannot be read harms nobody", wear_page_that_cannot_be_read_harms_nobody},
    {"wear: a page of counts that fails in a checkpoint is written again",
     wear_page_that_fails_in_a_checkpoint_is_written_again},
    {"wear: cold pages move to the most worn block", cold_pages_move_to_the_most_worn_block},
    {"wear: a root of the format before has no counts", older_root_begins_with_nothing},
    {"wear: blocks that are named become no reserve", blocks_that_are_named_become_no_reserve},
    {"wear: a reserve that lags changes places", reserve_that_lags_changes_places},
    {"wear: cold blocks wear like the others", cold_blocks_wear_like_the_others},
    {"wear: long sessions wear all blocks alike", long_sessions_wear_all_blocks_alike},
    {0},
};
