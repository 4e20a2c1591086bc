/* SPDX-License-Identifier: Apache-2.0 */
/* Boot, then hand out erased blocks and look after failing ones for ever. Not in the path of any command. */
#include "administration.h"
#include "dram.h"
#include "ftl_checkpoint.h"
#include "ftl_collect.h"
#include "ftl_health.h"
#include "ftl_mount.h"
#include "ftl_pace.h"
#include "ftl_patrol.h"
#include "ftl_retire.h"
#include "ftl_supply.h"
#include "ftl_wear.h"
#include "otx_geometry.h"
#include "boot_report.h"
#include "console.h"

static struct ftl ftl;
static struct ftl_supply supply;
static struct ftl_retire retire;
static struct ftl_patrol patrol;
static struct ftl_collect collect;
static struct ftl_checkpoint checkpoint;
static struct ftl_pace pace;

/* "ecd310a664" to a number, first byte lowest. */
static uint64_t id_of(const char *hex) {
    uint64_t id = 0;
    for (uint32_t i = 0; hex[2 * i] != 0 && hex[2 * i + 1] != 0; i++) {
        uint32_t byte = 0;
        for (uint32_t n = 0; n < 2; n++) {
            char c = hex[2 * i + n];
            byte = byte << 4 | (uint32_t)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        }
        id |= (uint64_t)byte << 8 * i;
    }
    return id;
}

int main(void) {
    ftl.geometry = (struct ftl_geometry){
        .channels = OTX_CHANNELS,
        .ways = OTX_WAYS,
        .blocks = OTX_BLOCKS_PER_WAY,
        .pages = OTX_PAGES_PER_BLOCK,
        .lbas = OTX_LBAS,
        .frames = OTX_FRAMES,
        .firmware_frames = OTX_FIRMWARE_FRAMES,
        .tx_slots = OTX_TX_SLOTS,
        .lane_blocks = OTX_LANE_BLOCKS,
        .nand_id = id_of(OTX_NAND_ID),
        .nand_modes = OTX_NAND_MODES,
        .cache_ops = OTX_CACHE_OPS,
        .planes = OTX_PLANES,
        .read_retries = OTX_READ_RETRIES,
        .spare_bytes = OTX_SPARE_USED,
        .patrol_clocks = OTX_PATROL_US * OTX_CLOCK_MHZ,
        .checkpoint_pages = OTX_CHECKPOINT_PAGES,
        .idle_dies = OTX_IDLE_DIES,
        .missing_dies = OTX_MISSING_DIES,
    };
    ftl_geometry_init(&ftl.geometry);
    if (!dram_start())
        for (;;) {}
    uint32_t begin = hal_clocks();
    enum ftl_error error = ftl_mount(&ftl);
    ftl.report.clocks = hal_clocks() - begin;
    ftl_health_begin(&ftl);
    if (error == FTL_OK || ftl.report.readable) boot_report_part(&ftl.report);
    if (error != FTL_OK) {
        boot_report_error(error, &ftl.report);
        if (ftl.report.readable) {
            console_text("otx: ready\n");
            ftl_open_read_only();
            administration_begin(&ftl, true);
            for (;;) administration_step(&ftl);
        }
        administration_fail();
        for (;;) {}
    }
    boot_report_mounted(&ftl.report);
    boot_report_health(&ftl.health, ftl.report.orderly);
    console_text("otx: ready\n");
    ftl_open(&ftl);
    ftl_retire_begin(&ftl, &retire);
    administration_begin(&ftl, false);
    for (bool said = false;;) {
        ftl_supply_step(&ftl, &supply);
        ftl_collect_step(&ftl, &supply, &retire, &collect);
        ftl_retire_step(&ftl, &supply, &retire);
        ftl_pace_step(&ftl, &supply, &retire, &collect, &pace);
        ftl_checkpoint_step(&ftl, &supply, &checkpoint);
        if (checkpoint.over && !said) boot_report_memory();
        said = checkpoint.over;
        ftl_patrol_step(&ftl, &retire, &patrol);
        ftl_wear_step(&ftl);
        ftl_health_step(&ftl, &retire, &collect, &checkpoint);
        administration_step(&ftl);
    }
}
