/* SPDX-License-Identifier: Apache-2.0 */
/* Firmware beside a plain WRITE whose entries are not all in the log yet: what it takes for the end of the log is
 * behind the group, because recovery keeps or drops a group as a whole. Rules erase and checkpoint. */
#include "drive_hw.h"
#include "ftl_blocks.h"
#include "tests.h"

#define PARTS 4u

struct group {
    struct drive_item *item;
    uint32_t value;
};

static struct group begun(uint32_t lpn) {
    struct group g = {&drive.item[drive.items++], drive.stamp++};
    *g.item = (struct drive_item){.kind = ITEM_WRITE, .n = PARTS};
    drive_group(PARTS);
    (void)drive_part(g.item, lpn, PARTS, 0, 0, g.value);
    drive_finish_data();
    return g;
}

/* The other blocks; the page of the last one stays under way. Then the log page is durable. Its index. */
static uint64_t rest(struct group *g, const uint32_t *lpns) {
    uint64_t last = 0;
    for (uint32_t i = 1; i < PARTS; i++) last = drive_part(g->item, lpns[i - 1], PARTS, i, 0, g->value);
    drive_hold(last);
    g->item->index = hw.head;
    drive_finish_data();
    drive_close();
    drive_finish_log();
    return last;
}

/* Recovery would drop the group, so a map that holds its first block must not count. */
static void checkpoint_waits_for_the_whole_group(void) {
    sim_new(1, 1, 64, 8, 64);
    sim.g.checkpoint_pages = 100000;
    mounted();
    for (uint32_t i = 0; i < 24; i++) write_one(i < 4 ? i : 5);
    drive_supply(50);
    struct group g = begun(drive_lpn(0));
    drive.ftl.geometry.checkpoint_pages = 1;
    for (uint32_t n = 0; n < 200 && drive.checkpoint.state != FTL_CHECKPOINT_SETTLE; n++) drive_supply(1);
    CHECK(drive.checkpoint.state == FTL_CHECKPOINT_SETTLE);
    (void)rest(&g, (uint32_t[]){drive_lpn(1), drive_lpn(2), drive_lpn(3)});
    for (uint32_t n = 0; n < 200; n++) drive_supply(1);
    CHECK(drive.checkpoint.done == 0);
    drive_cut_dropping_all();
    CHECK(sim_mount(&drive.ftl) == FTL_OK);
    drive_judge();
}

/* False: nothing asks for the block that block k leaves, on a drive of so many. */
static bool ticket_waits(uint32_t blocks, uint32_t k) {
    sim_new(1, 1, blocks, 8, 64);
    mounted();
    sim.no_collect = true;
    for (uint32_t i = 0; i < 9; i++) {
        write_one(i);
        for (uint32_t n = 0; n < 7; n++) write_one(9);
    }
    for (uint32_t n = 0; n < 400 && !ftl_supply_low(&drive.ftl); n++) write_one(9);
    CHECK(ftl_supply_low(&drive.ftl));
    uint32_t block = FTL_WORD_VALUE(hal_map()[drive_lpn(k)]) >> sim.g.page_bits;
    sim.no_collect = drive.supply.hopeless = drive.supply.starving = false;
    struct group g = begun(drive_lpn(k));
    bool has = false;
    for (uint32_t n = 0; n < 100 && !has; n++) {
        drive_supply(1);
        for (uint32_t t = 0; t < drive.collect.tickets; t++) has = has || drive.collect.ticket[t].block == block;
    }
    if (!has) return false;
    uint64_t last = rest(&g, (uint32_t[]){drive_lpn((k + 1) % 9), drive_lpn((k + 2) % 9), drive_lpn((k + 3) % 9)});
    for (uint32_t n = 0; n < 400; n++) drive_supply(1);
    CHECK(ftl_blocks_is_data(&drive.ftl, block));
    drive_release(last);
    for (uint32_t n = 0; n < 400 && ftl_blocks_is_data(&drive.ftl, block); n++) {
        drive_finish_data();
        drive_supply(1);
    }
    CHECK(!ftl_blocks_is_data(&drive.ftl, block));
    return true;
}

/* The only live page of a block is replaced by a group that may be dropped. */
static void ticket_waits_for_the_whole_group(void) {
    uint32_t seen = 0;
    for (uint32_t blocks = 68; blocks < 92; blocks += 2)
        for (uint32_t k = 0; k < 9; k++) seen += ticket_waits(blocks, k);
    CHECK(seen > 3);
}

const struct test group_tests[] = {
    {"groups: a checkpoint waits for all of a WRITE", checkpoint_waits_for_the_whole_group},
    {"groups: a ticket waits for all of a WRITE", ticket_waits_for_the_whole_group},
    {0},
};
