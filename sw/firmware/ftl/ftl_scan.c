/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_scan.h"

#include "ftl_dies.h"

#define ID_MASK 0xffffffffffull
#define TIMING_MODE HAL_FEATURE_TIMING_MODE
#define READ_RETRY HAL_FEATURE_READ_RETRY

/* What to do with the answer of one die. */
typedef enum ftl_error look(struct ftl *f, uint32_t die, const struct hal_nand_done *done);

static uint32_t frame_of(uint32_t die) { return FTL_FRAME_POOL + die % HAL_NAND_DEPTH; }

/* One operation on every die, as many at a time as there is room for. The first error counts and names its die in the
 * report. If dies may be missing, one that does not answer is none: it is out. */
static enum ftl_error each_die(struct ftl *f, enum hal_op op, uint32_t kind, uint32_t lpn, look *look) {
    const struct ftl_geometry *g = &f->geometry;
    enum ftl_error first = FTL_OK;
    uint32_t started = 0;
    for (uint32_t die = 0; die < g->dies; die++) {
        while (started < g->dies && ftl_io_room(&f->io)) {
            struct hal_nand_op o = {.op = op,
                                    .ppn = ftl_first_ppn(g, ftl_block_id(g, started, 0)),
                                    .frame = frame_of(started),
                                    .kind = kind,
                                    .lpn = lpn};
            started++;
            ftl_io_put(&f->io, &o);
        }
        struct hal_nand_done done;
        ftl_io_get(&f->io, &done);
        if (ftl_die_is_out(g, die)) continue;
        enum ftl_error error = done.status != FTL_PAGE_OK ? FTL_ERR_DIE : look(f, die, &done);
        if (error == FTL_ERR_DIE && g->missing_dies != 0) {
            ftl_dies_leave(f, die);
        } else if (first == FTL_OK && error != FTL_OK) {
            first = error;
            ftl_dies_name(f, die);
        }
    }
    return first;
}

static enum ftl_error answered(struct ftl *f, uint32_t die, const struct hal_nand_done *done) {
    (void)f, (void)die, (void)done;
    return FTL_OK;
}

/* Data lines that nobody drives read as ones. */
static enum ftl_error take_id(struct ftl *f, uint32_t die, const struct hal_nand_done *done) {
    uint64_t id = done->sequence & ID_MASK;
    (void)die;
    if (id == ID_MASK || id == 0) return FTL_ERR_DIE;
    if (f->report.part.id == 0) f->report.part.id = id; /* the first die that answers */
    return id == f->report.part.id ? FTL_OK : FTL_ERR_PARTS;
}

static enum ftl_error same_id(struct ftl *f, uint32_t die, const struct hal_nand_done *done) {
    (void)die;
    return (done->sequence & ID_MASK) == f->report.part.id ? FTL_OK : FTL_ERR_MODE;
}

static enum ftl_error is_onfi(struct ftl *f, uint32_t die, const struct hal_nand_done *done) {
    (void)f, (void)die;
    return (done->sequence & 0xffffffffu) == FTL_ONFI ? FTL_OK : FTL_ERR_PART;
}

static bool same_copy(const uint32_t *a, const uint32_t *b) {
    for (uint32_t i = 0; i < FTL_PARAM_BYTES / 4; i++)
        if (a[i] != b[i]) return false;
    return true;
}

/* A first copy that is the whole one of the first die needs no second look: its CRC takes as long as the page on the
 * bus. */
static enum ftl_error take_page(struct ftl *f, uint32_t die, const struct hal_nand_done *done) {
    struct ftl_part part = {.id = f->report.part.id};
    uint32_t *page = hal_frame(frame_of(die)), *first = hal_frame(FTL_FRAME_DIRECTORY);
    bool is_first = die == ftl_dies_first(&f->geometry);
    (void)done;
    if (!is_first && f->report.part.copy == 0 && same_copy(page, first)) return FTL_OK;
    for (uint32_t i = 0; i < FTL_PARAM_BYTES / 4 && is_first; i++) first[i] = page[i];
    if (!ftl_part_of_page(page, &part)) return FTL_ERR_PARAM;
    if (is_first) f->report.part = part;
    return ftl_part_same(&part, &f->report.part) ? FTL_OK : FTL_ERR_PARTS;
}

static enum ftl_error has_mode(struct ftl *f, uint32_t die, const struct hal_nand_done *done) {
    (void)die;
    return (done->lpn & 0xffu) == f->report.mode ? FTL_OK : FTL_ERR_MODE;
}

static bool fits(const struct ftl_part *p, const struct ftl_geometry *g) {
    return p->page_bytes == FTL_PAGE_BYTES && p->pages == g->pages && p->blocks >= g->blocks && p->luns == 1;
}

static uint32_t best_mode(const struct ftl_part *p, const struct ftl_geometry *g) {
    uint32_t mode = 5, modes = p->modes & g->nand_modes;
    if (!p->onfi && p->id == g->nand_id) return FTL_OWN_MODE;
    while (mode > 0 && !(modes >> mode & 1u)) mode--;
    return mode;
}

/* Dies, then bus. While the bus is slower than the dies nothing is wrong. */
static enum ftl_error to_mode(struct ftl *f) {
    uint32_t mode = f->report.mode;
    enum ftl_error error = FTL_OK;
    if (f->report.part.capabilities & FTL_CAN_SET_FEATURES) {
        error = each_die(f, HAL_SET_FEATURES, TIMING_MODE, mode, answered);
        if (error == FTL_OK) error = each_die(f, HAL_GET_FEATURES, TIMING_MODE, 0, has_mode);
    }
    if (error != FTL_OK) return error;
    hal_nand_mode(mode);
    return each_die(f, HAL_READ_ID, 0, 0, same_id);
}

enum ftl_error ftl_scan(struct ftl *f) {
    struct ftl_report *r = &f->report;
    hal_nand_mode(0);
    hal_nand_capabilities(0);
    enum ftl_error error = each_die(f, HAL_RESET, 0, 0, answered);
    if (error == FTL_OK) error = each_die(f, HAL_READ_ID, 0, 0, take_id);
    if (error != FTL_OK) return error;
    if (r->part.id == 0) return FTL_ERR_DIE; /* nobody answers */
    if (!ftl_part_of_id(r->part.id, &r->part)) {
        error = each_die(f, HAL_READ_ID, 0x20, 0, is_onfi);
        if (error == FTL_OK) error = each_die(f, HAL_PARAM, 0, 0, take_page);
        if (error != FTL_OK) return error;
    }
    if (!fits(&r->part, &f->geometry)) return FTL_ERR_FIT;
    r->needed = f->geometry.spare_bytes;
    if (r->part.spare_bytes < r->needed) return FTL_ERR_SPARE;
    /* a reset command may leave a level as it was */
    if (r->part.retries != 0) error = each_die(f, HAL_SET_FEATURES, READ_RETRY, 0, answered);
    if (error != FTL_OK) return error;
    hal_nand_capabilities(ftl_part_use(&r->part, &f->geometry));
    r->mode = r->wanted_mode = best_mode(&r->part, &f->geometry);
    if (r->mode == 0 || to_mode(f) == FTL_OK) return FTL_OK;
    r->mode = 0;
    hal_nand_mode(0);
    return to_mode(f);
}
