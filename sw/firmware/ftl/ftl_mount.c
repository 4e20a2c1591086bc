/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_mount.h"

#include "ftl_dies.h"
#include "ftl_erase.h"
#include "ftl_log.h"
#include "ftl_map.h"
#include "ftl_marks.h"
#include "ftl_replay.h"
#include "ftl_root.h"
#include "ftl_scan.h"
#include "ftl_supply.h"

static bool config_fits(const struct ftl_geometry *g) {
    return g->dies <= FTL_MAX_DIES && g->directories <= FTL_MAX_DIRECTORIES && g->frames >= g->firmware_frames + FTL_FRAME_POOL + 2 * HAL_NAND_DEPTH &&
           (g->tx_slots & (g->tx_slots - 1)) == 0 && g->tx_slots != 0;
}

/* What is bad: the table, or if there is none the factory marks; and the newest root with that known. In an anchor that the table calls bad a root failed to
 * program: it does not count, even if it can be read. */
static enum ftl_error find_bad_blocks(struct ftl *f, bool *blank) {
    if (!ftl_bbt_load(f)) return ftl_marks_read(f);
    bool void_root = !*blank && ftl_blocks_is_bad(f, ftl_anchor(&f->geometry, f->old_root.anchor));
    return void_root ? ftl_root_find(f, blank) : FTL_OK;
}

/* Blocks for all LPNs, for the log, for what the next mount needs, and two that wait for data on each die that is not out; two anchors. */
static enum ftl_error enough_blocks(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    f->report.good_blocks = ftl_blocks_good(f);
    f->report.needed = (g->lbas + g->pages - 1) / g->pages + ftl_blocks_mount_reserve(g) + (2 + FTL_LOG_RESERVE) * g->lanes + 2 * ftl_dies_used(g);
    if (f->report.good_blocks < f->report.needed) return FTL_ERR_BLOCKS;
    return ftl_root_anchors(f) < 2 ? FTL_ERR_ANCHOR : FTL_OK;
}

/* Two erased blocks per lane, on the lane's channel if it has any. */
static enum ftl_error choose_log_blocks(struct ftl *f) {
    uint32_t ids[2 * FTL_MAX_LANES], n = 2 * f->geometry.lanes;
    for (uint32_t i = 0; i < n; i++) {
        ids[i] = ftl_blocks_take_near(f, i / 2);
        if (ids[i] == FTL_NO_BLOCK) return FTL_ERR_NO_BLOCK;
    }
    enum ftl_error error = ftl_erase(f, ids, n);
    for (uint32_t i = 0; i < n; i++) f->lane_block[i / 2][i % 2] = ids[i];
    return error;
}

/* Writes the new root; f->old_root is the one it follows. */
static enum ftl_error new_generation(struct ftl *f, bool blank, bool changed, uint32_t dropped, struct ftl_root *root) {
    *root = f->old_root;
    root->sequence++;
    root->generation++;
    root->frame = FTL_FRAME_ROOT;
    root->dropped = dropped;
    root->lanes = f->geometry.lanes;
    if (blank) root->drive_id = hal_new_drive_id();
    hal_generation(root->generation);
    if (changed) ftl_blocks_none_live(f);
    enum ftl_error error = choose_log_blocks(f);
    for (uint32_t l = 0; l < root->lanes; l++) root->lane_block[l] = f->lane_block[l][0];
    if (changed && error == FTL_OK) {
        root->map_sequence = root->sequence;
        root->map_generation = root->generation;
        error = ftl_map_store(f, root);
    }
    if (error == FTL_OK) ftl_bbt_write(f);
    if (error == FTL_OK) error = ftl_root_write(f, root);
    return error;
}

enum ftl_error ftl_mount(struct ftl *f) {
    struct ftl_log log;
    struct ftl_root root;
    uint32_t dropped = 0;
    bool blank;
    f->io.geometry = &f->geometry;
    if (!config_fits(&f->geometry)) return FTL_ERR_CONFIG;
    enum ftl_error error = ftl_scan(f);
    f->report.absent = f->geometry.out;
    if (error == FTL_OK) error = ftl_blocks_init(f);
    if (error == FTL_OK) error = ftl_root_find(f, &blank);
    if (error == FTL_OK && !blank) error = ftl_dies_of_root(f);
    if (error == FTL_OK) error = find_bad_blocks(f, &blank);
    if (error == FTL_OK && blank) error = ftl_dies_of_blank(f);
    if (error == FTL_OK && blank) error = ftl_root_never(f) ? enough_blocks(f) : FTL_ERR_NO_ROOT;
    if (error != FTL_OK) return error;
    ftl_blocks_spread(f, f->old_root.generation);
    error = ftl_map_load(f);
    if (error != FTL_OK) return error;
    ftl_blocks_live_is_busy(f); /* holds when the log turns out to be empty */
    error = ftl_log_scan(f, &log);
    if (error == FTL_OK) error = ftl_replay(f, &log, &dropped);
    if (error != FTL_OK) return error;
    error = new_generation(f, blank, log.entries != 0 || f->map_must_move, dropped, &root);
    hal_identity(root.drive_id, dropped);
    f->report.readable = !blank && error != FTL_OK;
    if (error != FTL_OK) return error;
    ftl_blocks_settle(f);
    ftl_bbt_write(f); /* a copy whose blocks were in use until now */
    f->report = (struct ftl_report){
        .formatted = blank,
        .generation = root.generation,
        .log_pages = log.pages,
        .entries = (uint32_t)log.entries,
        .dropped = dropped,
        .blocks_free = f->blocks.total,
        .part = f->report.part,
        .mode = f->report.mode,
        .wanted_mode = f->report.wanted_mode,
        .blocks_bad = ftl_blocks_count_bad(f),
        .absent = f->report.absent,
        .out = f->geometry.out,
        .ways = f->geometry.ways,
    };
    return FTL_OK;
}

void ftl_open_read_only(void) {
    hal_read_only();
    hal_enable();
}

void ftl_open(const struct ftl *f) {
    hal_full(false);
    hal_enable();
    for (uint32_t i = 0; i < 2 * f->geometry.lanes; i++) {
        while (!(hal_log_room() >> i / 2 & 1u)) {
        }
        hal_log_block(i / 2, f->lane_block[i / 2][i % 2]);
    }
}
