/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_root.h"

#include "ftl_marks.h"

#define ROOT_TRIES 3u /* pages tried when the program fails */

static void page_op(struct ftl *f, enum hal_op op, uint32_t block_id, uint32_t page, struct hal_nand_done *done) {
    struct hal_nand_op o = {.op = op, .ppn = ftl_first_ppn(&f->geometry, block_id) + page, .frame = FTL_FRAME_ROOT};
    ftl_io_one(&f->io, &o, done);
}

/* Number of pages written in an anchor. The first three are all asked, because a page whose program failed may look blank; then by doubling steps, then
 * halves: roots are appended. `last` is the OOB of the last one. */
static uint32_t written_pages(struct ftl *f, uint32_t block_id, struct hal_nand_done *last) {
    uint32_t low = ROOT_TRIES, high, pages = f->geometry.pages; /* pages below `low` are written; `high` is the next one asked, plus one */
    struct hal_nand_done done;
    for (; low > 0; low--) {
        page_op(f, HAL_READ_OOB, block_id, low - 1, last);
        if (last->status != FTL_PAGE_BLANK) break;
    }
    if (low < ROOT_TRIES) return low;
    high = low + 1;
    while (high <= pages) {
        page_op(f, HAL_READ_OOB, block_id, high - 1, &done);
        if (done.status == FTL_PAGE_BLANK) break;
        *last = done;
        low = high;
        if (high == pages) return low;
        high = high * 2 < pages ? high * 2 : pages;
    }
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        page_op(f, HAL_READ_OOB, block_id, middle - 1, &done);
        if (done.status == FTL_PAGE_BLANK) {
            high = middle;
        } else {
            low = middle;
            *last = done;
        }
    }
    return low;
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
                if (id == ftl_anchor(g, 0) || id == ftl_anchor(g, 1)) continue;
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

bool ftl_root_never(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    if (!all_blank(f, ftl_anchor(g, 1), 0) || !all_blank(f, ftl_anchor(g, 0), ROOT_TRIES)) return false;
    return all_blank(f, ftl_anchor(g, 0), 0) || nothing_else_written(f);
}

enum ftl_error ftl_root_anchors(struct ftl *f) {
    struct ftl_geometry *g = &f->geometry;
    enum ftl_error error = FTL_OK;
    bool bad = g->dies == 1;
    for (uint32_t block = 1; bad && block < g->blocks && error == FTL_OK; block = block == 1 ? FTL_FIRST_TABLE_BLOCK + 2 * FTL_TABLE_BLOCKS : block + 1) {
        g->second_anchor = block;
        error = ftl_marks_of(f, ftl_anchor(g, 1), &bad);
    }
    return error;
}

static enum ftl_error take(struct ftl *f, uint32_t anchor) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *w = hal_frame(FTL_FRAME_ROOT);
    struct ftl_root *r = &f->old_root;
    if (w[FTL_ROOT_MAGIC] != FTL_ROOT_MAGIC_LO || w[FTL_ROOT_MAGIC + 1] != FTL_ROOT_MAGIC_HI) return FTL_ERR_VERSION;
    if (w[FTL_ROOT_VERSION_WORD] != FTL_ROOT_VERSION) return FTL_ERR_VERSION;
    if (w[FTL_ROOT_CHANNELS] != g->channels || w[FTL_ROOT_WAYS] != g->ways || w[FTL_ROOT_BLOCKS] != g->blocks) return FTL_ERR_GEOMETRY;
    if (w[FTL_ROOT_PAGES] != g->pages || w[FTL_ROOT_LBAS] != g->lbas || w[FTL_ROOT_LANES] != g->lanes) return FTL_ERR_GEOMETRY;
    if (w[FTL_ROOT_DIRECTORIES] > g->directories) return FTL_ERR_GEOMETRY;
    r->sequence = ftl_get48(w, FTL_ROOT_SEQUENCE);
    r->generation = w[FTL_ROOT_GENERATION];
    r->map_sequence = ftl_get48(w, FTL_ROOT_MAP_SEQUENCE);
    r->map_generation = w[FTL_ROOT_MAP_GENERATION];
    r->drive_id = w[FTL_ROOT_DRIVE_ID];
    r->dropped = w[FTL_ROOT_DROPPED];
    r->directories = w[FTL_ROOT_DIRECTORIES];
    r->lanes = w[FTL_ROOT_LANES];
    r->anchor = anchor;
    r->frame = FTL_FRAME_ROOT;
    for (uint32_t l = 0; l < g->lanes; l++) {
        r->lane_block[l] = w[FTL_ROOT_LANE_BLOCK + l];
        if (!ftl_block_exists(g, r->lane_block[l])) return FTL_ERR_GEOMETRY;
    }
    return FTL_OK;
}

enum ftl_error ftl_root_find(struct ftl *f, bool *none) {
    uint32_t left[2]; /* pages of each anchor not yet looked at, from the end */
    struct hal_nand_done oob[2], done;
    *none = false;
    f->old_root = (struct ftl_root){0};
    for (uint32_t a = 0; a < 2; a++) left[a] = written_pages(f, ftl_anchor(&f->geometry, a), &oob[a]);
    while (left[0] + left[1] > 0) {
        uint32_t a = left[0] == 0 || (left[1] != 0 && oob[1].sequence > oob[0].sequence) ? 1 : 0, block = ftl_anchor(&f->geometry, a);
        page_op(f, HAL_READ, block, left[a] - 1, &done);
        if (done.status == FTL_PAGE_OK && done.kind == FTL_KIND_ROOT) return take(f, a);
        if (--left[a] > 0) page_op(f, HAL_READ_OOB, block, left[a] - 1, &oob[a]);
    }
    *none = true;
    return FTL_OK;
}

enum ftl_error ftl_root_write(struct ftl *f, const struct ftl_root *root) {
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
    for (uint32_t page = 0; page < ROOT_TRIES; page++) {
        struct hal_nand_op o = {.op = HAL_PROGRAM, .frame = root->frame, .kind = FTL_KIND_ROOT, .lpn = page, .sequence = root->sequence};
        struct hal_nand_done done;
        o.ppn = ftl_first_ppn(g, ftl_anchor(g, root->anchor)) + page;
        ftl_io_one(&f->io, &o, &done);
        if (done.status == FTL_PAGE_OK) return FTL_OK;
    }
    return FTL_ERR_ANCHOR;
}
