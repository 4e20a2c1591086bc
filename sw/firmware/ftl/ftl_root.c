/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_root.h"

#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_dies.h"

#define ROOT_PAGES FTL_SEAL_PAGE /* of an anchor: the next one is tried when a program fails */
#define SEAL_TRIES 3u
#define ALL_ANCHORS ((1u << FTL_ANCHORS) - 1u)
#define NOT_KNOWN (~0ull) /* a sequence that cannot be read */
#define FIRST_ROOT 1u     /* sequence of a first format's */

static void page_op(struct ftl *f, enum hal_op op, uint32_t block_id, uint32_t page, struct hal_nand_done *done) {
    struct hal_nand_op o = {.op = op, .ppn = ftl_first_ppn(&f->geometry, block_id) + page, .frame = FTL_FRAME_ROOT};
    ftl_io_one(&f->io, &o, done);
}

static uint32_t bad_anchors(struct ftl *f) {
    uint32_t set = 0;
    for (uint32_t a = 0; a < FTL_ANCHORS; a++)
        if (ftl_blocks_is_bad(f, ftl_anchor(&f->geometry, a))) set |= 1u << a;
    return set;
}

uint32_t ftl_root_anchors(struct ftl *f) { return FTL_ANCHORS - ftl_dies_count(bad_anchors(f)); }

bool ftl_root_is_in(const struct ftl *f, uint32_t block_id) {
    for (uint32_t a = 0; a < FTL_ANCHORS; a++)
        if (f->old_root.anchors >> a & 1u && ftl_anchor(&f->geometry, a) == block_id) return true;
    return false;
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
static uint64_t read_any(struct ftl *f, uint32_t block_id, uint32_t page, struct hal_nand_done *done) {
    const uint32_t *w = hal_frame(FTL_FRAME_ROOT);
    page_op(f, HAL_READ, block_id, page, done);
    bool root = done->status == FTL_PAGE_OK && done->kind == FTL_KIND_ROOT && w[FTL_ROOT_MAGIC] == FTL_ROOT_MAGIC_LO &&
                w[FTL_ROOT_MAGIC + 1] == FTL_ROOT_MAGIC_HI;
    return root ? done->sequence : 0;
}

static uint64_t read_root(struct ftl *f, uint32_t block_id, uint32_t page) {
    struct hal_nand_done done;
    return read_any(f, block_id, page, &done);
}

/* Whether one of the pages where roots are is whole and no root. In one read: a root may fade. */
static bool any_foreign(struct ftl *f, uint32_t block_id) {
    for (uint32_t page = 0; page < ROOT_PAGES; page++) {
        struct hal_nand_done done;
        if (read_any(f, block_id, page, &done) == 0 && done.status == FTL_PAGE_OK) return true;
    }
    return false;
}

static uint32_t last_of(uint32_t set) {
    uint32_t last = FTL_ANCHORS - 1;
    while (last > 0 && !(set >> last & 1u)) last--;
    return last;
}

static bool on_same_die(const struct ftl *f, uint32_t a, uint32_t set) {
    for (uint32_t b = 0; b < FTL_ANCHORS; b++)
        if (set >> b & 1u && ftl_die_of(&f->geometry, ftl_anchor(&f->geometry, b)) ==
                                 ftl_die_of(&f->geometry, ftl_anchor(&f->geometry, a)))
            return true;
    return false;
}

/* The next anchors in turn for those copies that are missing; on another die if there is one. */
static uint32_t choose(struct ftl *f, uint32_t have) {
    uint32_t set = have, bad = bad_anchors(f),
             from = f->old_root.anchors == 0 ? FTL_ANCHORS - 1 : last_of(f->old_root.anchors);
    for (uint32_t any_die = 0; any_die < 2; any_die++)
        for (uint32_t n = 1; n <= FTL_ANCHORS && ftl_dies_count(set) < FTL_ROOT_COPIES; n++) {
            uint32_t a = (from + n) % FTL_ANCHORS;
            if ((set | f->old_root.anchors | bad) >> a & 1u) continue;
            if (any_die || !on_same_die(f, a, set)) set |= 1u << a;
        }
    return set & ~have;
}

bool ftl_root_never(struct ftl *f) {
    uint32_t first = choose(f, 0); /* where a first format begins */
    bool blank = true;
    for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
        uint32_t id = ftl_anchor(&f->geometry, a);
        bool begun = !ftl_blocks_is_bad(f, id) && !all_blank(f, id, 0);
        if (begun && (!(first >> a & 1u) || !all_blank(f, id, FTL_SEAL_PAGE) || any_foreign(f, id))) return false;
        blank = blank && !begun;
    }
    return (blank && f->geometry.out == 0) || nothing_else_written(f);
}

static uint64_t out_of(const uint32_t *root) { return (uint64_t)root[FTL_ROOT_OUT + 1] << 32 | root[FTL_ROOT_OUT]; }

static enum ftl_error take(struct ftl *f) {
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
    for (uint32_t c = 0; c < 2; c++) r->prepared[c] = r->version > 7 ? w[FTL_ROOT_PREPARED + c] : 0;
    r->out = out_of(w);
    uint64_t *done[] = {&f->health.host, &f->health.nand, &f->health.moved};
    for (uint32_t i = 0; i < 3; i++)
        *done[i] = (uint64_t)w[FTL_ROOT_PAGES_DONE + 2 * i + 1] << 32 | w[FTL_ROOT_PAGES_DONE + 2 * i];
    f->health.cuts = w[FTL_ROOT_POWER_CUTS];
    r->off = (uint64_t)w[FTL_ROOT_OFF + 1] << 32 | w[FTL_ROOT_OFF];
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
    if (done.status != FTL_PAGE_OK) return NOT_KNOWN;
    return done.kind == FTL_KIND_ROOT ? done.sequence : 0;
}

/* The anchors where a seal was begun, one bit each. */
static uint32_t seals(struct ftl *f) {
    uint32_t set = 0;
    for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
        uint32_t id = ftl_anchor(&f->geometry, a);
        for (uint32_t page = FTL_SEAL_PAGE; page < FTL_SEAL_PAGE + SEAL_TRIES && !(set >> a & 1u); page++) {
            struct hal_nand_done done;
            if (ftl_blocks_is_bad(f, id)) break;
            page_op(f, HAL_READ_OOB, id, page, &done);
            if (done.status != FTL_PAGE_BLANK) set |= 1u << a;
        }
    }
    return set;
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

/* Where roots may be: their sequences, 0: there is none. */
static void look_at_all(struct ftl *f, uint64_t *sequence) {
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++) {
        uint32_t a = i / ROOT_PAGES;
        sequence[i] = ftl_blocks_is_bad(f, ftl_anchor(&f->geometry, a)) ? 0 : sequence_of(f, a, i % ROOT_PAGES);
    }
    if (f->geometry.missing_dies != 0) leave_foreign(f, sequence);
}

enum ftl_error ftl_root_find(struct ftl *f, bool *none) {
    uint64_t sequence[FTL_ANCHORS * ROOT_PAGES];
    uint64_t newest = 0, oldest = NOT_KNOWN; /* newest: of those with a seal */
    uint32_t in_frame = 0, named[FTL_ANCHORS * ROOT_PAGES] = {0}, sealed;
    struct ftl_root *r = &f->old_root;
    *r = (struct ftl_root){0};
    look_at_all(f, sequence);
    sealed = seals(f);
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++) {
        if (sequence[i] == 0) continue;
        in_frame = i;
        uint64_t s = sequence[i] = read_root(f, ftl_anchor(&f->geometry, i / ROOT_PAGES), i % ROOT_PAGES);
        named[i] = 1u << i / ROOT_PAGES | (hal_frame(FTL_FRAME_ROOT)[FTL_ROOT_ANCHORS] & ALL_ANCHORS);
        if (s > newest && named[i] & sealed) newest = s;
        if (s != 0 && s < oldest) oldest = s;
    }
    *none = oldest == NOT_KNOWN || (newest == 0 && oldest == FIRST_ROOT);
    if (*none) return FTL_OK;
    uint64_t counts = newest != 0 ? newest : oldest;
    bool in = sequence[in_frame] == counts;
    for (uint32_t i = 0; i < FTL_ANCHORS * ROOT_PAGES; i++) {
        if (sequence[i] != counts) continue;
        if (!in) in = read_root(f, ftl_anchor(&f->geometry, i / ROOT_PAGES), i % ROOT_PAGES) == counts;
        if (in) r->whole |= 1u << i / ROOT_PAGES;
        r->anchors |= named[i];
    }
    /* one that cannot be read stays only for the seal that speaks for the others */
    r->anchors = r->whole & sealed ? r->whole : r->anchors & ~bad_anchors(f);
    return in ? take(f) : FTL_ERR_NO_ROOT; /* not: they faded, and the next mount chooses again */
}

/* Fills in all of a root's page but the directory PPNs. */
static void compose(const struct ftl *f, const struct ftl_root *root) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t *w = hal_frame(root->frame);
    for (uint32_t i = 0; i < FTL_ROOT_DIRECTORY; i++) w[i] = 0;
    for (uint32_t i = FTL_ROOT_DIRECTORY + root->directories; i < FTL_ROOT_SECOND; i++) w[i] = 0;
    for (uint32_t i = FTL_ROOT_SECOND + root->directories; i < FTL_ROOT_WEAR; i++) w[i] = 0;
    const uint64_t done[] = {f->health.host, f->health.nand, f->health.moved};
    for (uint32_t i = 0; i < 3; i++) {
        w[FTL_ROOT_PAGES_DONE + 2 * i] = (uint32_t)done[i];
        w[FTL_ROOT_PAGES_DONE + 2 * i + 1] = (uint32_t)(done[i] >> 32);
    }
    w[FTL_ROOT_POWER_CUTS] = f->health.cuts;
    w[FTL_ROOT_OFF] = (uint32_t)root->off;
    w[FTL_ROOT_OFF + 1] = (uint32_t)(root->off >> 32);
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
    for (uint32_t c = 0; c < 2; c++) w[FTL_ROOT_PREPARED + c] = root->prepared[c];
    w[FTL_ROOT_OUT] = (uint32_t)g->out;
    w[FTL_ROOT_OUT + 1] = (uint32_t)(g->out >> 32);
}

/* Those of a set that are operated at once: all in a mount, one while commands go on, for they need the other dies. */
static uint32_t at_once(const struct ftl *f, uint32_t set) { return f->blocks.settled ? set & ~(set - 1u) : set; }

/* Programs the root or a seal into one of `tries` pages from `page` on, in each anchor of a set: those in which that
 * worked. */
static uint32_t program(struct ftl *f, const struct ftl_root *root, uint32_t kind, uint32_t page, uint32_t tries,
                        uint32_t set) {
    struct hal_nand_op o = {
        .op = HAL_PROGRAM, .frame = root->frame, .kind = kind, .lpn = page, .sequence = root->sequence};
    uint32_t left = at_once(f, set), others = set & ~left;
    for (uint32_t n = tries; n > 0 && left != 0; n--, o.lpn++) {
        uint32_t under_way = left;
        for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
            if (!(under_way >> a & 1u)) continue;
            o.ppn = ftl_first_ppn(&f->geometry, ftl_anchor(&f->geometry, a)) + o.lpn;
            ftl_io_put(&f->io, &o);
        }
        for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
            struct hal_nand_done done;
            if (!(under_way >> a & 1u)) continue;
            ftl_io_get(&f->io, &done);
            if (done.status == FTL_PAGE_OK) left &= ~(1u << a);
        }
    }
    set &= ~left;
    return others == 0 ? set : (set & ~others) | program(f, root, kind, page, tries, others);
}

/* They are bad now, and the table says so before another anchor is touched. */
static void give_up(struct ftl *f, uint32_t set) {
    for (uint32_t a = 0; a < FTL_ANCHORS; a++)
        if (set >> a & 1u) (void)ftl_bbt_mark(f, ftl_anchor(&f->geometry, a));
    if (set != 0) ftl_bbt_write(f); /* before another anchor is touched */
}

/* Those that cannot be erased become bad. */
static void erase_anchors(struct ftl *f, uint32_t set) {
    uint32_t failed = 0, now;
    for (uint32_t left = set; left != 0; left &= ~now) {
        now = at_once(f, left);
        for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
            struct hal_nand_op o = {.op = HAL_ERASE, .ppn = ftl_first_ppn(&f->geometry, ftl_anchor(&f->geometry, a))};
            if (now >> a & 1u) ftl_io_put(&f->io, &o);
        }
        for (uint32_t a = 0; a < FTL_ANCHORS; a++) {
            struct hal_nand_done done;
            if (!(now >> a & 1u)) continue;
            ftl_io_get(&f->io, &done);
            if (done.status != FTL_PAGE_OK) failed |= 1u << a;
        }
    }
    f->anchors_erased |= set & ~failed;
    give_up(f, failed);
}

void ftl_root_alone(struct ftl *f) {
    uint32_t spared = f->old_root.anchors | bad_anchors(f) | f->anchors_erased;
    if (f->old_root.sequence != 0) erase_anchors(f, ALL_ANCHORS & ~spared);
}

/* There is no anchor for a new root: the old one has to do with one. False: it does. */
static bool leave_one(struct ftl_root *old) {
    uint32_t set = old->anchors & ~old->whole ? old->anchors & ~old->whole : old->whole;
    if (ftl_dies_count(old->anchors) < 2) return false;
    old->anchors &= ~(1u << last_of(set));
    old->whole &= old->anchors;
    return true;
}

/* Programs the copies of a root: the anchors that have one. */
static uint32_t program_copies(struct ftl *f, const struct ftl_root *root) {
    uint32_t have = 0, more;
    while ((more = choose(f, have)) != 0 || (have == 0 && leave_one(&f->old_root))) {
        erase_anchors(f, more & ~f->anchors_erased);
        more &= f->anchors_erased;
        f->anchors_erased &= ~more;
        hal_frame(root->frame)[FTL_ROOT_ANCHORS] = have | more;
        uint32_t done = program(f, root, FTL_KIND_ROOT, 0, ROOT_PAGES, more);
        give_up(f, more & ~done);
        have |= done;
    }
    return have;
}

enum ftl_error ftl_root_write(struct ftl *f, struct ftl_root *root) {
    compose(f, root);
    do {
        uint32_t copies = program_copies(f, root);
        if (copies == 0) return FTL_ERR_ANCHOR;
        root->anchors = root->whole = program(f, root, FTL_KIND_SEAL, FTL_SEAL_PAGE, SEAL_TRIES, copies);
        give_up(f, copies & ~root->anchors);
    } while (root->anchors == 0);
    return FTL_OK;
}

void ftl_root_leave_old(struct ftl *f) { erase_anchors(f, f->old_root.anchors); }
