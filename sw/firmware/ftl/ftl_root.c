/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_root.h"

#include "ftl_dies.h"
#include "ftl_erase.h"

#define ROOT_PAGES 3u     /* of an anchor: the next one is tried when a program fails */
#define NOT_KNOWN (~0ull) /* a sequence that cannot be read */

static void page_op(struct ftl *f, enum hal_op op, uint32_t block_id, uint32_t page, struct hal_nand_done *done) {
    struct hal_nand_op o = {.op = op, .ppn = ftl_first_ppn(&f->geometry, block_id) + page, .frame = FTL_FRAME_ROOT};
    ftl_io_one(&f->io, &o, done);
}

uint32_t ftl_root_anchors(struct ftl *f) {
    uint32_t n = 0;
    for (uint32_t a = 0; a < FTL_ANCHORS; a++) n += !ftl_blocks_is_bad(f, ftl_anchor(&f->geometry, a));
    return n;
}

static bool all_blank(struct ftl *f, uint32_t block_id, uint32_t from) {
    struct hal_nand_done done;
    for (uint32_t page = from; page < f->geometry.pages; page++) {
        page_op(f, HAL_READ_OOB, block_id, page, &done);
        if (done.status != FTL_PAGE_BLANK) return false;
    }
    return true;
}

/* Whether a first page says that this drive was in use. In the table's blocks a bad-block table, or the rest of one, says nothing. */
static bool in_use(struct ftl *f, uint32_t block_id, const struct hal_nand_done *done) {
    if (ftl_blocks_is_bad(f, block_id) || done->status == FTL_PAGE_BLANK) return false;
    return !ftl_blocks_unwanted(f, block_id) || (done->status == FTL_PAGE_OK && done->kind != FTL_KIND_BBT);
}

/* Whether no block outside the anchors was ever begun. VERIFY: the table's pages are not taken for others by a torn OOB. */
static bool nothing_else_written(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    bool blank = true;
    for (uint32_t block = 0; block < g->blocks && blank; block++) {
        uint32_t asked[HAL_NAND_DEPTH];
        for (uint32_t die = 0; die < g->dies || !ftl_io_empty(&f->io);) {
            if (die < g->dies && ftl_io_room(&f->io)) {
                uint32_t id = ftl_block_id(g, die++, block);
                if (ftl_is_anchor(g, id)) continue;
                struct hal_nand_op o = {.op = HAL_VERIFY, .ppn = ftl_first_ppn(g, id)};
                asked[f->io.put % HAL_NAND_DEPTH] = id;
                ftl_io_put(&f->io, &o);
                continue;
            }
            struct hal_nand_done done;
            uint32_t id = asked[f->io.got % HAL_NAND_DEPTH];
            ftl_io_get(&f->io, &done);
            blank = blank && !in_use(f, id, &done);
        }
    }
    return blank;
}

/* Whether one of the pages where roots are is whole. */
static bool any_whole(struct ftl *f, uint32_t block_id) {
    struct hal_nand_done done;
    for (uint32_t page = 0; page < ROOT_PAGES; page++) {
        page_op(f, HAL_VERIFY, block_id, page, &done);
        if (done.status == FTL_PAGE_OK) return true;
    }
    return false;
}

bool ftl_root_never(struct ftl *f) {
    uint32_t first = FTL_NO_BLOCK; /* the first anchor that is not bad: where a first format begins */
    for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
        uint32_t id = ftl_anchor(&f->geometry, a);
        if (ftl_blocks_is_bad(f, id)) continue;
        if (!all_blank(f, id, first == FTL_NO_BLOCK ? ROOT_PAGES : 0)) return false;
        if (first == FTL_NO_BLOCK) first = id;
    }
    if (first == FTL_NO_BLOCK || all_blank(f, first, 0)) return f->geometry.out == 0 || nothing_else_written(f);
    return !any_whole(f, first) && nothing_else_written(f);
}

static uint64_t out_of(const uint32_t *root) { return (uint64_t)root[FTL_ROOT_OUT + 1] << 32 | root[FTL_ROOT_OUT]; }

static enum ftl_error take(struct ftl *f, uint32_t anchor) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *w = hal_frame(FTL_FRAME_ROOT);
    struct ftl_root *r = &f->old_root;
    if (w[FTL_ROOT_VERSION_WORD] != FTL_ROOT_VERSION) return FTL_ERR_VERSION;
    if (w[FTL_ROOT_CHANNELS] != g->channels || w[FTL_ROOT_WAYS] != g->ways || w[FTL_ROOT_BLOCKS] != g->blocks) return FTL_ERR_GEOMETRY;
    if (w[FTL_ROOT_PAGES] != g->pages || w[FTL_ROOT_LBAS] != g->lbas || w[FTL_ROOT_LANES] != g->lanes) return FTL_ERR_GEOMETRY;
    if (w[FTL_ROOT_DIRECTORIES] > g->directories) return FTL_ERR_GEOMETRY;
    if (ftl_dies_count(out_of(w)) > g->missing_dies) return FTL_ERR_GEOMETRY;
    r->sequence = ftl_get48(w, FTL_ROOT_SEQUENCE);
    r->generation = w[FTL_ROOT_GENERATION];
    r->map_sequence = ftl_get48(w, FTL_ROOT_MAP_SEQUENCE);
    r->map_generation = w[FTL_ROOT_MAP_GENERATION];
    r->drive_id = w[FTL_ROOT_DRIVE_ID];
    r->dropped = w[FTL_ROOT_DROPPED];
    r->directories = w[FTL_ROOT_DIRECTORIES];
    r->lanes = w[FTL_ROOT_LANES];
    r->out = out_of(w);
    r->anchor = anchor;
    r->frame = FTL_FRAME_ROOT;
    for (uint32_t l = 0; l < g->lanes; l++) {
        r->lane_block[l] = w[FTL_ROOT_LANE_BLOCK + l];
        if (!ftl_block_exists(g, r->lane_block[l])) return FTL_ERR_GEOMETRY;
    }
    return FTL_OK;
}

/* What the OOB of a page says, for the order in which pages are read: 0 if it cannot be a root. */
static uint64_t sequence_of(struct ftl *f, uint32_t block_id, uint32_t page) {
    struct hal_nand_done done;
    page_op(f, HAL_READ_OOB, block_id, page, &done);
    if (done.status == FTL_PAGE_BLANK) return 0;
    if (done.status != FTL_PAGE_OK) return NOT_KNOWN;
    return done.kind == FTL_KIND_ROOT ? done.sequence : 0;
}

/* Reads a page into FTL_FRAME_ROOT and returns the root's sequence, 0: it is none. */
static uint64_t read_root(struct ftl *f, uint32_t block_id, uint32_t page) {
    const uint32_t *w = hal_frame(FTL_FRAME_ROOT);
    struct hal_nand_done done;
    page_op(f, HAL_READ, block_id, page, &done);
    bool root = done.status == FTL_PAGE_OK && done.kind == FTL_KIND_ROOT && w[FTL_ROOT_MAGIC] == FTL_ROOT_MAGIC_LO && w[FTL_ROOT_MAGIC + 1] == FTL_ROOT_MAGIC_HI;
    return root ? done.sequence : 0;
}

/* What is on a die that one of the roots was made without is no root of this drive: the chip has come from another one. */
static void leave_foreign(struct ftl *f, uint64_t *sequence) {
    uint64_t out = 0;
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++)
        if (sequence[i] != 0 && read_root(f, ftl_anchor(&f->geometry, i / ROOT_PAGES), i % ROOT_PAGES) != 0) out |= out_of(hal_frame(FTL_FRAME_ROOT));
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++)
        if (ftl_dies_has(out, ftl_die_of(&f->geometry, ftl_anchor(&f->geometry, i / ROOT_PAGES)))) sequence[i] = 0;
}

enum ftl_error ftl_root_find(struct ftl *f, bool *none) {
    uint64_t sequence[FTL_ANCHORS * ROOT_PAGES]; /* 0: no root there */
    f->old_root = (struct ftl_root){0};
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++) {
        uint32_t id = ftl_anchor(&f->geometry, i / ROOT_PAGES);
        sequence[i] = ftl_blocks_is_bad(f, id) ? 0 : sequence_of(f, id, i % ROOT_PAGES);
    }
    if (f->geometry.missing_dies != 0) leave_foreign(f, sequence);
    for (;;) {
        uint32_t newest = 0;
        for (uint32_t i = 1; i < FTL_ANCHORS * ROOT_PAGES; i++)
            if (sequence[i] > sequence[newest]) newest = i;
        *none = sequence[newest] == 0;
        if (*none) return FTL_OK;
        uint64_t read = read_root(f, ftl_anchor(&f->geometry, newest / ROOT_PAGES), newest % ROOT_PAGES);
        if (read == sequence[newest]) return take(f, newest / ROOT_PAGES);
        sequence[newest] = read; /* its OOB alone was misread */
    }
}

/* Fills in all of a root's page but the directory PPNs. */
static void compose(const struct ftl *f, const struct ftl_root *root) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t *w = hal_frame(root->frame);
    for (uint32_t i = 0; i < FTL_ROOT_DIRECTORY; i++) w[i] = 0;
    for (uint32_t i = FTL_ROOT_DIRECTORY + root->directories; i < FTL_PAGE_WORDS; i++) w[i] = 0;
    w[FTL_ROOT_MAGIC] = FTL_ROOT_MAGIC_LO;
    w[FTL_ROOT_MAGIC + 1] = FTL_ROOT_MAGIC_HI;
    w[FTL_ROOT_VERSION_WORD] = FTL_ROOT_VERSION;
    w[FTL_ROOT_DRIVE_ID] = root->drive_id;
    w[FTL_ROOT_CHANNELS] = g->channels;
    w[FTL_ROOT_WAYS] = g->ways;
    w[FTL_ROOT_BLOCKS] = g->blocks;
    w[FTL_ROOT_PAGES] = g->pages;
    w[FTL_ROOT_LBAS] = g->lbas;
    ftl_put48(w, FTL_ROOT_SEQUENCE, root->sequence);
    w[FTL_ROOT_GENERATION] = root->generation;
    ftl_put48(w, FTL_ROOT_MAP_SEQUENCE, root->map_sequence);
    w[FTL_ROOT_MAP_GENERATION] = root->map_generation;
    w[FTL_ROOT_DROPPED] = root->dropped;
    w[FTL_ROOT_DIRECTORIES] = root->directories;
    w[FTL_ROOT_LANES] = root->lanes;
    for (uint32_t l = 0; l < root->lanes; l++) w[FTL_ROOT_LANE_BLOCK + l] = root->lane_block[l];
    w[FTL_ROOT_OUT] = (uint32_t)g->out;
    w[FTL_ROOT_OUT + 1] = (uint32_t)(g->out >> 32);
}

static bool program(struct ftl *f, const struct ftl_root *root, uint32_t block_id) {
    struct hal_nand_op o = {.op = HAL_PROGRAM, .frame = root->frame, .kind = FTL_KIND_ROOT, .sequence = root->sequence};
    struct hal_nand_done done;
    for (uint32_t page = 0; page < ROOT_PAGES; page++) {
        o.lpn = page;
        o.ppn = ftl_first_ppn(&f->geometry, block_id) + page;
        ftl_io_one(&f->io, &o, &done);
        if (done.status == FTL_PAGE_OK) return true;
    }
    return false;
}

enum ftl_error ftl_root_write(struct ftl *f, struct ftl_root *root) {
    const struct ftl_root *old = &f->old_root;
    compose(f, root);
    for (uint32_t n = old->sequence == 0 ? 0 : 1; n < FTL_ANCHORS; n++) { /* the old root's anchor is not among them */
        root->anchor = (old->anchor + n) % FTL_ANCHORS;
        uint32_t id = ftl_anchor(&f->geometry, root->anchor);
        if (ftl_blocks_is_bad(f, id)) continue;
        if (ftl_erase_one(f, id) && program(f, root, id)) return FTL_OK;
        (void)ftl_bbt_mark(f, id);
        ftl_bbt_write(f); /* before another anchor is touched */
    }
    return FTL_ERR_ANCHOR;
}
