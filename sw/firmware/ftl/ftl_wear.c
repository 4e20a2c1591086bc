/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_wear.h"

#include "ftl_age.h"
#include "ftl_bbt.h"
#include "ftl_blocks.h"
#include "ftl_erase.h"

#define LAG 1u        /* a block may be so many erases behind the mean, */
#define LAG_SHARE 64u /* and one more for each so many of the mean */

void ftl_wear_none(uint32_t *root) {
    for (uint32_t n = 0; n < FTL_MAX_WEAR_PAGES; n++) root[FTL_ROOT_WEAR + n] = FTL_NO_PPN;
}

static uint32_t least(uint32_t a, uint32_t b) { return a < b ? a : b; }

void ftl_wear_say_open(struct ftl *f, uint32_t n) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t *words = hal_frame(f->io.wear_frame + n), first = n * FTL_PAGE_WORDS, die = first / g->blocks,
             block = first % g->blocks;
    for (uint32_t i = 0, n_here; i < FTL_PAGE_WORDS && die < g->dies;
         i += n_here) { /* blocks of one word of the sets */
        n_here = least(least(32 - block % 32, g->blocks - block), FTL_PAGE_WORDS - i);
        uint32_t bits = ftl_blocks_live_open_word(f, die, block / 32) >> block % 32;
        for (uint32_t k = 0; k < n_here && bits != 0; k++, bits >>= 1)
            if (bits & 1u) words[i + k] |= FTL_WEAR_OPEN;
        block += n_here;
        if (block == g->blocks) block = 0, die++;
    }
}

void ftl_wear_plain(struct ftl *f, uint32_t n) {
    uint32_t *words = hal_frame(f->io.wear_frame + n);
    for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++)
        if (words[i] & FTL_WEAR_OPEN) words[i] &= ~FTL_WEAR_OPEN;
}

/* Blocks that a wear page calls open become DATA. */
static void take_open(struct ftl *f, uint32_t n) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t *words = hal_frame(f->io.wear_frame + n), at = n * FTL_PAGE_WORDS;
    for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++, at++) {
        uint32_t word = words[i], erases = FTL_ERASES(word); /* ages are of one session */
        if (word == erases) continue;
        if (word & FTL_WEAR_OPEN && at < g->dies * g->blocks)
            ftl_blocks_close(f, ftl_block_id(g, at / g->blocks, at % g->blocks)); /* which stamps the word */
        words[i] = erases;
    }
}

/* The oldest read is that of wear page n. False: it cannot be read, or is another one. */
static bool is_page(struct ftl *f, uint32_t n) {
    const struct ftl_root *r = &f->old_root;
    struct hal_nand_done d;
    ftl_io_get(&f->io, &d);
    return d.status == FTL_PAGE_OK && d.kind == FTL_KIND_WEAR && d.lpn == n && d.sequence == r->map_sequence &&
           d.generation == r->map_generation;
}

void ftl_wear_load(struct ftl *f, void (*holds)(struct ftl *f, uint32_t ppn)) {
    const struct ftl_geometry *g = &f->geometry;
    const uint32_t *ppns = hal_frame(f->old_root.frame) + FTL_ROOT_WEAR;
    uint32_t pages = ftl_erases_pages(g), mean = 0, put = 0;
    bool known[FTL_MAX_WEAR_PAGES];
    if (f->old_root.version < 7) return;
    for (uint32_t n = 0; n < pages; n++) {
        known[n] = ppns[n] != FTL_NO_PPN && ftl_block_exists(g, ppns[n] >> g->page_bits);
        if (known[n]) holds(f, ppns[n]);
    }
    for (uint32_t n = 0; n < pages && !f->wear.loaded; n++) {
        for (; put < pages && ftl_io_room(&f->io); put++) { /* reads go ahead */
            struct hal_nand_op o = {.op = HAL_READ, .ppn = ppns[put], .frame = f->io.wear_frame + put};
            if (known[put]) ftl_io_put(&f->io, &o);
        }
        known[n] = known[n] && is_page(f, n);
        if (known[n]) take_open(f, n);
        if (!known[n]) f->wear.lost += ppns[n] != FTL_NO_PPN;
        else if (mean == 0) { /* of the first page: enough for a page that nobody can read */
            uint32_t last = least(g->dies * g->blocks - n * FTL_PAGE_WORDS, FTL_PAGE_WORDS), sum = 0;
            const uint32_t *words = hal_frame(f->io.wear_frame + n);
            for (uint32_t i = 0; i < last; i++) sum += FTL_ERASES(words[i]);
            mean = sum / last;
        }
    }
    for (uint32_t n = 0; n < pages && !f->wear.loaded; n++)
        for (uint32_t i = 0; i < FTL_PAGE_WORDS && !known[n]; i++) hal_frame(f->io.wear_frame + n)[i] = mean;
    f->wear.loaded = true;
}

void ftl_wear_after_cut(struct ftl *f) {
    for (uint32_t die = 0; die < f->geometry.dies; die++)
        for (uint32_t w = 0; w < f->blocks.words; w++)
            for (uint32_t bits = ftl_blocks_new_word(f, die, w) & ~ftl_blocks_open_word(f, die, w), b = 32 * w;
                 bits != 0; bits >>= 1, b++)
                if (bits & 1u) ++*ftl_erases(f, die, b);
    ftl_blocks_none_data(f);
}

static void end_walk(struct ftl_wear *w) {
    if (w->seen != 0) {
        w->least = w->low;
        w->most = w->high;
        int32_t seen = (int32_t)w->seen, down = w->sum < 0 ? seen - 1 : 0; /* the mean is rounded down */
        w->mean = w->first + (uint32_t)((w->sum - down) / seen);
        w->walks++;
    }
    w->die = w->block = w->seen = 0;
    w->sum = 0;
}

void ftl_wear_step(struct ftl *f) {
    struct ftl_wear *w = &f->wear;
    for (uint32_t n = 0; n < FTL_WEAR_BLOCKS; n++) {
        if (!ftl_die_is_out(&f->geometry, w->die) &&
            !ftl_blocks_unwanted(f, ftl_block_id(&f->geometry, w->die, w->block))) {
            uint32_t *word = ftl_erases(f, w->die, w->block), erases = FTL_ERASES(*word);
            ftl_age_stop(f, word);
            if (w->seen == 0 || erases < w->low) w->low = erases;
            if (w->seen == 0 || erases > w->high) w->high = erases;
            if (w->seen == 0) w->first = erases;
            w->sum += (int32_t)(erases - w->first);
            w->seen++;
        }
        if (++w->block < f->geometry.blocks) continue;
        w->block = 0;
        if (++w->die < f->geometry.dies) continue;
        end_walk(w);
        return;
    }
}

bool ftl_wear_lags(const struct ftl *f, uint32_t erases) {
    const struct ftl_wear *w = &f->wear;
    return erases + LAG + w->mean / LAG_SHARE < w->mean;
}

bool ftl_wear_wants(struct ftl *f) {
    uint32_t rested = ftl_blocks_rested(f);
    return rested != FTL_NO_BLOCK && ftl_wear_lags(f, ftl_erases_of(f, rested));
}

bool ftl_wear_relieve(struct ftl *f) {
    uint32_t rested = ftl_blocks_rested(f), worn = ftl_blocks_take_unnamed(f, 1ull << ftl_die_of(&f->geometry, rested));
    if (worn == FTL_NO_BLOCK) return false;
    if (ftl_erase_one(f, worn)) ftl_blocks_relieve(f, rested, worn);
    else (void)ftl_bbt_mark(f, worn);
    return true;
}
