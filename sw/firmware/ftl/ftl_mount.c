/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_mount.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_collect.h"
#include "ftl_dies.h"
#include "ftl_erase.h"
#include "ftl_log.h"
#include "ftl_map.h"
#include "ftl_map_blocks.h"
#include "ftl_marks.h"
#include "ftl_prepared.h"
#include "ftl_replay.h"
#include "ftl_root.h"
#include "ftl_scan.h"
#include "ftl_supply.h"
#include "ftl_wear.h"

static bool config_fits(const struct ftl_geometry *g) {
    return g->dies <= FTL_MAX_DIES && g->directories <= FTL_MAX_DIRECTORIES && g->map_pages <= g->tx_slots * 2 &&
           g->frames >= g->firmware_frames + FTL_FRAME_POOL + 2 * HAL_NAND_DEPTH &&
           (g->tx_slots & (g->tx_slots - 1)) == 0 && g->tx_slots != 0 && ftl_map_blocks_fit(g);
}

/* What is bad: the table, or if there is none the factory marks; and the root with that known. In an anchor that the
 * table calls bad a root or a seal failed to program: it does not count, even if it can be read. And what is in bad
 * anchors does not tell a first format that was cut from a drive in use. */
static enum ftl_error find_bad_blocks(struct ftl *f, bool *blank) {
    if (!ftl_bbt_load(f)) return ftl_marks_read(f);
    return !*blank && ftl_root_anchors(f) < FTL_ANCHORS ? ftl_root_find(f, blank) : FTL_OK;
}

static enum ftl_error enough_blocks(struct ftl *f) {
    f->report.good_blocks = ftl_blocks_good(f);
    f->report.needed = ftl_supply_needed(&f->geometry);
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
static enum ftl_error new_generation(struct ftl *f, bool blank, bool changed, const struct ftl_lost *lost,
                                     struct ftl_root *root) {
    *root = f->old_root;
    root->sequence++;
    root->generation++;
    root->frame = FTL_FRAME_ROOT;
    root->lost = *lost;
    root->off = 0;
    root->lanes = f->geometry.lanes;
    if (blank) root->drive_id = hal_new_drive_id();
    if (changed) ftl_blocks_none_live(f);
    else if (root->version < 7) ftl_wear_none(hal_frame(root->frame));
    enum ftl_error error = choose_log_blocks(f);
    root->log_page = 0;
    root->log_first = root->map_first = 0;
    for (uint32_t l = 0; l < root->lanes; l++) {
        root->lane_block[l] = f->lane_block[l][0];
        root->lane_page[l] = root->lane_next[l] = 0;
    }
    if (changed && error == FTL_OK) {
        root->map_sequence = root->sequence;
        root->map_generation = root->generation;
        error = ftl_map_store(f, root);
    }
    if (error == FTL_OK) ftl_bbt_write(f);
    if (error == FTL_OK) error = ftl_root_write(f, root);
    if (error != FTL_OK) return error;
    const uint32_t *words = hal_frame(root->frame); /* for the next checkpoint: that frame is the hardware's then */
    for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) hal_frame(FTL_FRAME_NEW_ROOT(f))[i] = words[i];
    root->frame = FTL_FRAME_NEW_ROOT(f);
    root->version = FTL_ROOT_VERSION;
    return FTL_OK;
}

/* Map and log of f->old_root, applied. Once more as long as a log page that could be read cannot be read again; each
 * time the log ends earlier, or has its gap there.
 * FTL_ERR_GAP, FTL_ERR_NO_BLOCK, FTL_ERR_PROGRAM: map and log are applied as far as they can be, and nothing may be
 * written. */
static enum ftl_error recover(struct ftl *f, struct ftl_log *log, struct ftl_lost *lost) {
    enum ftl_error error, readable = FTL_OK; /* readable: why the drive will be read-only */
    *log = (struct ftl_log){.limit = FTL_NO_LIMIT, .faded = FTL_NO_LIMIT};
    do {
        uint32_t begin = hal_clocks();
        *lost = (struct ftl_lost){0};
        error = ftl_map_load(f);
        f->report.load_clocks = hal_clocks() - begin;
        if (error != FTL_OK) return error;
        ftl_blocks_live_is_busy(f); /* holds when the log turns out to be empty */
        error = ftl_replay(f, log, readable == FTL_OK, lost);
        lost->log_pages = log->unread;
        lost->foreign = log->foreign;
        if (log->gap) readable = FTL_ERR_GAP;
        if (error == FTL_ERR_NO_BLOCK || error == FTL_ERR_PROGRAM) readable = error; /* once more without copies */
    } while (error == FTL_ERR_FADED || (error != FTL_OK && error == readable));
    if (error == FTL_OK) error = readable;
    if (error == FTL_OK) ftl_wear_after_cut(f);
    if (log->pages == log->base && !log->gap) { /* what that root reports was not followed by anything yet */
        const struct ftl_lost *old = &f->old_root.lost;
        for (uint32_t i = 0; i < old->doubtful && i < FTL_DOUBTFUL; i++) lost->lpn[i] = old->lpn[i];
        lost->dropped += old->dropped;
        lost->log_pages += old->log_pages;
        lost->doubtful += old->doubtful;
    }
    return error;
}

/* What was prepared still is, on a drive that will be read-only, too. */
static void open_readable(struct ftl *f) {
    ftl_map_plain(f);
    ftl_prepared_open(f);
}

/* A mount of this generation that was cut may have written to a block of the next mount's reserve: that could not take
 * it. It is erased. */
static bool clean(struct ftl *f, uint32_t block_id) {
    if (!ftl_blocks_of_old_generation(f, block_id) || ftl_erase_one(f, block_id)) return true;
    (void)ftl_bbt_mark(f, block_id);
    return false;
}

enum ftl_error ftl_mount(struct ftl *f) {
    struct ftl_log log;
    struct ftl_root root;
    struct ftl_lost lost;
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
    f->health.spare = ftl_supply_spare(f);
    hal_generation(f->old_root.generation + 1);
    error = recover(f, &log, &lost);
    f->report.readable = error == FTL_ERR_GAP || error == FTL_ERR_NO_BLOCK || error == FTL_ERR_PROGRAM;
    if (f->report.readable) open_readable(f);
    f->report.lost = lost;
    hal_identity(f->old_root.drive_id, &lost);
    if (error != FTL_OK) return error;
    uint32_t entries = (uint32_t)(log.entries - f->old_root.log_first);
    bool orderly = blank || (f->old_root.off == log.entries + 1 && log.begun == 0 && log.unread == 0);
    f->health.cuts += !orderly;
    bool changed = log.entries != f->old_root.map_first || f->map_must_move || f->old_root.prepared[0] != 0;
    error = new_generation(f, blank, changed, &lost, &root);
    hal_identity(root.drive_id, &lost);
    f->report.readable = !blank && error != FTL_OK;
    if (f->report.readable) open_readable(f);
    if (error != FTL_OK) return error;
    ftl_root_leave_old(f);
    f->old_root = root;
    ftl_collect_count(f);
    ftl_blocks_settle(f, clean);
    ftl_bbt_write(f); /* a copy whose blocks were in use until now */
    f->report = (struct ftl_report){
        .formatted = blank,
        .orderly = orderly,
        .generation = root.generation,
        .load_clocks = f->report.load_clocks,
        .replay_clocks = f->report.replay_clocks,
        .log_pages = log.pages - log.base,
        .entries = entries,
        .lost = lost,
        .blocks_free = f->blocks.total,
        .part = f->report.part,
        .mode = f->report.mode,
        .wanted_mode = f->report.wanted_mode,
        .blocks_bad = ftl_blocks_count_bad(f),
        .absent = f->report.absent,
        .out = f->geometry.out,
        .ways = f->geometry.ways,
    };
    ftl_prepared_open(f);
    return FTL_OK;
}

void ftl_open_read_only(void) {
    hal_read_only();
    hal_enable();
}

void ftl_open(struct ftl *f) {
    hal_full(false);
    hal_enable();
    for (uint32_t i = 0; i < 2 * f->geometry.lanes; i++) {
        while (!(hal_log_room() >> i / 2 & 1u)) {}
        hal_log_block(i / 2, f->lane_block[i / 2][i % 2]);
        ftl_holders_put(&f->log[i / 2], f->lane_block[i / 2][i % 2]);
    }
}
