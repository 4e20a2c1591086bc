/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_root.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_dies.h"
#include "ftl_erase.h"

#define ROOT_PAGES FTL_SEAL_PAGE /* of an anchor: the next one is tried when a program fails */
#define SEAL_TRIES 3u
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

/* Whether a first page says that this drive was in use. In the table's blocks a bad-block table, or the rest of one,
 * says nothing. */
static bool in_use(struct ftl *f, uint32_t block_id, const struct hal_nand_done *done) {
    if (ftl_blocks_is_bad(f, block_id) || done->status == FTL_PAGE_BLANK) return false;
    return !ftl_blocks_unwanted(f, block_id) || (done->status == FTL_PAGE_OK && done->kind != FTL_KIND_BBT);
}

/* Whether no block outside the anchors was ever begun. VERIFY: the table's pages are not taken for others by a torn
 * OOB. */
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

/* Reads a page into FTL_FRAME_ROOT and returns the root's sequence, 0: it is none. */
static uint64_t read_root(struct ftl *f, uint32_t block_id, uint32_t page) {
    const uint32_t *w = hal_frame(FTL_FRAME_ROOT);
    struct hal_nand_done done;
    page_op(f, HAL_READ, block_id, page, &done);
    bool root = done.status == FTL_PAGE_OK && done.kind == FTL_KIND_ROOT && w[FTL_ROOT_MAGIC] == FTL_ROOT_MAGIC_LO &&
                w[FTL_ROOT_MAGIC + 1] == FTL_ROOT_MAGIC_HI;
    return root ? done.sequence : 0;
}

/* Whether one of the pages where roots are is whole and no root. */
static bool any_foreign(struct ftl *f, uint32_t block_id) {
    struct hal_nand_done done;
    for (uint32_t page = 0; page < ROOT_PAGES; page++) {
        page_op(f, HAL_VERIFY, block_id, page, &done);
        if (done.status == FTL_PAGE_OK && read_root(f, block_id, page) == 0) return true;
    }
    return false;
}

bool ftl_root_never(struct ftl *f) {
    uint32_t first = FTL_NO_BLOCK; /* the first anchor that is not bad: where a first format begins */
    for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
        uint32_t id = ftl_anchor(&f->geometry, a);
        if (ftl_blocks_is_bad(f, id)) continue;
        if (!all_blank(f, id, first == FTL_NO_BLOCK ? FTL_SEAL_PAGE : 0)) return false;
        if (first == FTL_NO_BLOCK) first = id;
    }
    if (first == FTL_NO_BLOCK || all_blank(f, first, 0)) return f->geometry.out == 0 || nothing_else_written(f);
    return !any_foreign(f, first) && nothing_else_written(f);
}

static uint64_t out_of(const uint32_t *root) { return (uint64_t)root[FTL_ROOT_OUT + 1] << 32 | root[FTL_ROOT_OUT]; }

static enum ftl_error take(struct ftl *f, uint32_t anchor) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *w = hal_frame(FTL_FRAME_ROOT);
    struct ftl_root *r = &f->old_root;
    if (w[FTL_ROOT_VERSION_WORD] > FTL_ROOT_VERSION || w[FTL_ROOT_VERSION_WORD] < FTL_ROOT_OLDEST)
        return FTL_ERR_VERSION;
    r->version = w[FTL_ROOT_VERSION_WORD];
    if (w[FTL_ROOT_CHANNELS] != g->channels || w[FTL_ROOT_WAYS] != g->ways || w[FTL_ROOT_BLOCKS] != g->blocks)
        return FTL_ERR_GEOMETRY;
    if (w[FTL_ROOT_PAGES] != g->pages || w[FTL_ROOT_LBAS] != g->lbas || w[FTL_ROOT_LANES] != g->lanes)
        return FTL_ERR_GEOMETRY;
    if (w[FTL_ROOT_DIRECTORIES] > g->directories) return FTL_ERR_GEOMETRY;
    if (ftl_dies_count(out_of(w)) > g->missing_dies) return FTL_ERR_GEOMETRY;
    r->sequence = ftl_get48(w, FTL_ROOT_SEQUENCE);
    r->generation = w[FTL_ROOT_GENERATION];
    r->map_sequence = ftl_get48(w, FTL_ROOT_MAP_SEQUENCE);
    r->map_generation = w[FTL_ROOT_MAP_GENERATION];
    r->drive_id = w[FTL_ROOT_DRIVE_ID];
    r->lost.dropped = w[FTL_ROOT_DROPPED];
    r->lost.log_pages = w[FTL_ROOT_LOST_PAGES];
    r->lost.doubtful = w[FTL_ROOT_DOUBTFUL];
    for (uint32_t i = 0; i < FTL_DOUBTFUL; i++) r->lost.lpn[i] = w[FTL_ROOT_DOUBTFUL_LPN + i];
    r->directories = w[FTL_ROOT_DIRECTORIES];
    r->log_page = w[FTL_ROOT_LOG_PAGE];
    r->log_first = ftl_get48(w, FTL_ROOT_LOG_FIRST);
    r->map_first = r->log_first + w[FTL_ROOT_IN_MAP];
    r->lanes = w[FTL_ROOT_LANES];
    r->out = out_of(w);
    r->anchor = anchor;
    r->frame = FTL_FRAME_ROOT;
    for (uint32_t l = 0; l < g->lanes; l++) {
        r->lane_block[l] = w[FTL_ROOT_LANE_BLOCK + l];
        r->lane_page[l] = w[FTL_ROOT_LANE_PAGE + l / 2] >> 16 * (l % 2) & 0xffffu;
        r->lane_next[l] = r->version > 3 ? w[FTL_ROOT_LANE_NEXT + l] : 0;
        if (!ftl_block_exists(g, r->lane_block[l]) || r->lane_page[l] >= g->pages) return FTL_ERR_GEOMETRY;
        if (r->lane_next[l] != 0 && !ftl_block_exists(g, r->lane_next[l] - 1)) return FTL_ERR_GEOMETRY;
    }
    return FTL_OK;
}

/* What the OOB of a page says: 0 if it cannot be a root. */
static uint64_t sequence_of(struct ftl *f, uint32_t anchor, uint32_t page) {
    struct hal_nand_done done;
    page_op(f, HAL_READ_OOB, ftl_anchor(&f->geometry, anchor), page, &done);
    if (done.status == FTL_PAGE_BLANK) return 0;
    f->anchors_written |= 1u << anchor;
    if (done.status != FTL_PAGE_OK) return NOT_KNOWN;
    return done.kind == FTL_KIND_ROOT ? done.sequence : 0;
}

/* Whether a seal was begun in that anchor, and so the root before it complete. */
static bool has_seal(struct ftl *f, uint32_t anchor) {
    struct hal_nand_done done;
    for (uint32_t page = FTL_SEAL_PAGE; page < FTL_SEAL_PAGE + SEAL_TRIES; page++) {
        page_op(f, HAL_READ_OOB, ftl_anchor(&f->geometry, anchor), page, &done);
        if (done.status != FTL_PAGE_BLANK) return true;
    }
    return false;
}

/* What is on a die that one of the roots was made without is no root of this drive: the chip has come from another one.
 * */
static void leave_foreign(struct ftl *f, uint64_t *sequence) {
    uint64_t out = 0;
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++)
        if (sequence[i] != 0 && read_root(f, ftl_anchor(&f->geometry, i / ROOT_PAGES), i % ROOT_PAGES) != 0)
            out |= out_of(hal_frame(FTL_FRAME_ROOT));
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++)
        if (ftl_dies_has(out, ftl_die_of(&f->geometry, ftl_anchor(&f->geometry, i / ROOT_PAGES)))) sequence[i] = 0;
}

enum ftl_error ftl_root_find(struct ftl *f, bool *none) {
    /* 0: no root there; newest: of those with a seal */
    uint64_t sequence[FTL_ANCHORS * ROOT_PAGES], newest = 0, oldest = NOT_KNOWN;
    uint32_t place = 0, in_frame = 0;
    f->old_root = (struct ftl_root){0};
    f->anchors_written = 0;
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++) {
        uint32_t a = i / ROOT_PAGES;
        sequence[i] = ftl_blocks_is_bad(f, ftl_anchor(&f->geometry, a)) ? 0 : sequence_of(f, a, i % ROOT_PAGES);
    }
    if (f->geometry.missing_dies != 0) leave_foreign(f, sequence);
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++) {
        if (sequence[i] == 0) continue;
        uint64_t s = read_root(f, ftl_anchor(&f->geometry, i / ROOT_PAGES), i % ROOT_PAGES);
        in_frame = i;
        bool sealed = s > newest && has_seal(f, i / ROOT_PAGES);
        if (s == 0 || !(sealed || (newest == 0 && s < oldest))) continue;
        if (sealed) newest = s;
        oldest = s < oldest ? s : oldest;
        place = i;
    }
    uint32_t anchor = place / ROOT_PAGES;
    *none = oldest == NOT_KNOWN || (newest == 0 && f->anchors_written == 1u << anchor);
    if (*none) return FTL_OK;
    /* it faded: the next mount chooses again */
    if (in_frame != place && read_root(f, ftl_anchor(&f->geometry, anchor), place % ROOT_PAGES) == 0)
        return FTL_ERR_NO_ROOT;
    f->old_root.sealed = newest != 0;
    return take(f, anchor);
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
    w[FTL_ROOT_DROPPED] = root->lost.dropped;
    w[FTL_ROOT_LOST_PAGES] = root->lost.log_pages;
    w[FTL_ROOT_DOUBTFUL] = root->lost.doubtful;
    for (uint32_t i = 0; i < FTL_DOUBTFUL; i++) w[FTL_ROOT_DOUBTFUL_LPN + i] = root->lost.lpn[i];
    w[FTL_ROOT_DIRECTORIES] = root->directories;
    w[FTL_ROOT_LANES] = root->lanes;
    w[FTL_ROOT_LOG_PAGE] = root->log_page;
    ftl_put48(w, FTL_ROOT_LOG_FIRST, root->log_first);
    w[FTL_ROOT_IN_MAP] = (uint32_t)(root->map_first - root->log_first);
    for (uint32_t l = 0; l < root->lanes; l++) {
        w[FTL_ROOT_LANE_BLOCK + l] = root->lane_block[l];
        w[FTL_ROOT_LANE_PAGE + l / 2] |= root->lane_page[l] << 16 * (l % 2);
        w[FTL_ROOT_LANE_NEXT + l] = root->lane_next[l];
    }
    w[FTL_ROOT_OUT] = (uint32_t)g->out;
    w[FTL_ROOT_OUT + 1] = (uint32_t)(g->out >> 32);
}

/* Programs the root or a seal into one of `tries` pages from `page` on. */
static bool program(struct ftl *f, const struct ftl_root *root, uint32_t kind, uint32_t page, uint32_t tries) {
    struct hal_nand_op o = {.op = HAL_PROGRAM, .frame = root->frame, .kind = kind, .sequence = root->sequence};
    struct hal_nand_done done;
    for (; tries > 0; tries--, page++) {
        o.lpn = page;
        o.ppn = ftl_first_ppn(&f->geometry, ftl_anchor(&f->geometry, root->anchor)) + page;
        ftl_io_one(&f->io, &o, &done);
        if (done.status == FTL_PAGE_OK) return true;
    }
    return false;
}

/* False: it is bad now, and the table says so before another anchor is touched. */
static bool erase_anchor(struct ftl *f, uint32_t anchor) {
    uint32_t id = ftl_anchor(&f->geometry, anchor);
    if (ftl_erase_one(f, id)) {
        f->anchors_erased |= 1u << anchor;
        return true;
    }
    (void)ftl_bbt_mark(f, id);
    ftl_bbt_write(f);
    return false;
}

/* The first anchor that is not bad, `step` by `step` from the old root's on. */
static uint32_t neighbour(struct ftl *f, uint32_t step) {
    uint32_t a = f->old_root.anchor;
    do a = (a + step) % FTL_ANCHORS;
    while (a != f->old_root.anchor && ftl_blocks_is_bad(f, ftl_anchor(&f->geometry, a)));
    return a;
}

void ftl_root_alone(struct ftl *f) {
    uint32_t own = 1u << f->old_root.anchor;
    if (f->old_root.sequence == 0) return;
    uint32_t suspects = f->anchors_written | 1u << neighbour(f, 1) | 1u << neighbour(f, FTL_ANCHORS - 1);
    for (uint32_t a = 0; a < FTL_ANCHORS; a++)
        if (suspects & ~own & ~f->anchors_erased & 1u << a && !ftl_blocks_is_bad(f, ftl_anchor(&f->geometry, a)))
            (void)erase_anchor(f, a);
}

enum ftl_error ftl_root_write(struct ftl *f, struct ftl_root *root) {
    const struct ftl_root *old = &f->old_root;
    compose(f, root);
    for (uint32_t n = old->sequence == 0 ? 0 : 1; n < FTL_ANCHORS; n++) { /* the old root's anchor is not among them */
        root->anchor = (old->anchor + n) % FTL_ANCHORS;
        uint32_t id = ftl_anchor(&f->geometry, root->anchor);
        if (ftl_blocks_is_bad(f, id)) continue;
        if (!(f->anchors_erased & 1u << root->anchor) && !erase_anchor(f, root->anchor)) continue;
        f->anchors_erased &= ~(1u << root->anchor);
        if (program(f, root, FTL_KIND_ROOT, 0, ROOT_PAGES) &&
            program(f, root, FTL_KIND_SEAL, FTL_SEAL_PAGE, SEAL_TRIES))
            return FTL_OK;
        (void)ftl_bbt_mark(f, id);
        ftl_bbt_write(f); /* before another anchor is touched */
    }
    return FTL_ERR_ANCHOR;
}

void ftl_root_leave_old(struct ftl *f) {
    if (f->old_root.sequence != 0) (void)erase_anchor(f, f->old_root.anchor);
}
