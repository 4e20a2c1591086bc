/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_blocks.h"

#include "ftl_age.h"
#include "ftl_erases.h"

enum set { SET_BUSY = 0, SET_LIVE = 1, SET_BAD = 2, SET_DATA = 3, SETS = 4 };

static uint32_t first_frame(const struct ftl *f, enum set set) {
    return f->geometry.frames - f->geometry.firmware_frames + (uint32_t)set * f->blocks.frames;
}

/* Word `word` of a die in a set: the sets follow one another in the firmware's frames, each in frames of its own. */
static uint32_t *word_of(struct ftl *f, enum set set, uint32_t die, uint32_t word) {
    uint32_t at = die * f->blocks.words + word;
    return hal_frame(first_frame(f, set) + at / FTL_PAGE_WORDS) + at % FTL_PAGE_WORDS;
}

static bool has(struct ftl *f, enum set set, uint32_t block_id) {
    uint32_t block = ftl_block_of(&f->geometry, block_id);
    return (*word_of(f, set, ftl_die_of(&f->geometry, block_id), block / 32) >> block % 32 & 1u) != 0;
}

static void drop(struct ftl *f, enum set set, uint32_t block_id) {
    uint32_t block = ftl_block_of(&f->geometry, block_id);
    *word_of(f, set, ftl_die_of(&f->geometry, block_id), block / 32) &= ~(1u << block % 32);
}

static bool put(struct ftl *f, enum set set, uint32_t block_id) {
    uint32_t block = ftl_block_of(&f->geometry, block_id);
    uint32_t *word = word_of(f, set, ftl_die_of(&f->geometry, block_id), block / 32), bit = 1u << block % 32,
             old = *word;
    *word = old | bit;
    return !(old & bit);
}

static void clear(struct ftl *f, enum set set) {
    const struct ftl_geometry *g = &f->geometry;
    /* BAD goes to NAND in whole pages */
    uint32_t *words = hal_frame(first_frame(f, set)),
             n = set == SET_BAD ? f->blocks.frames * FTL_PAGE_WORDS : g->dies * f->blocks.words;
    for (uint32_t w = 0; w < n; w++) words[w] = 0;
    if (set == SET_BAD || set == SET_DATA) return;
    for (uint32_t die = 0; die < g->dies; die++)
        for (uint32_t b = g->blocks; b < f->blocks.words * 32; b++) *word_of(f, set, die, b / 32) |= 1u << b % 32;
}

/* Anchors and the table's blocks of a die, as bits of its first word: the first blocks of the first and of the last
 * die. */
static uint32_t kept_bits(const struct ftl_geometry *g, uint32_t die) {
    uint32_t here = g->dies == 1 ? FTL_KEPT_BLOCKS : die == 0 || die == g->dies - 1 ? FTL_KEPT_BLOCKS / 2 : 0;
    return (1u << here) - 1u;
}

/* Blocks of a word that cannot be taken. */
static uint32_t closed(struct ftl *f, uint32_t die, uint32_t word) {
    uint32_t bits =
        *word_of(f, SET_LIVE, die, word) | *word_of(f, SET_BAD, die, word) | *word_of(f, SET_BUSY, die, word);
    return word == 0 ? bits | kept_bits(&f->geometry, die) : bits;
}

static uint32_t count_ones(uint32_t v) {
    v -= v >> 1 & 0x55555555u; /* of each two bits, each four, each byte; of all */
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return ((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}

uint32_t ftl_anchor(const struct ftl_geometry *g, uint32_t n) {
    bool only = g->dies == 1;
    uint32_t block = only ? n : n / 2;
    if (block >= FTL_FIRST_TABLE_BLOCK) block += only ? 2 * FTL_TABLE_BLOCKS : FTL_TABLE_BLOCKS;
    return ftl_block_id(g, n % 2 == 0 ? 0 : g->dies - 1, block);
}

bool ftl_is_anchor(const struct ftl_geometry *g, uint32_t block_id) {
    for (uint32_t n = 0; n < FTL_ANCHORS; n++)
        if (ftl_anchor(g, n) == block_id) return true;
    return false;
}

uint32_t ftl_table_block(const struct ftl_geometry *g, uint32_t copy, uint32_t n) {
    uint32_t first = FTL_FIRST_TABLE_BLOCK + (g->dies == 1 ? copy * FTL_TABLE_BLOCKS : 0);
    return ftl_block_id(g, copy == 0 ? 0 : g->dies - 1, first + n);
}

enum ftl_error ftl_blocks_init(struct ftl *f) {
    struct ftl_blocks *b = &f->blocks;
    const struct ftl_geometry *g = &f->geometry;
    b->words = (g->blocks + 31) / 32;
    b->frames = (g->dies * b->words + FTL_PAGE_WORDS - 1) / FTL_PAGE_WORDS;
    if (g->dies > FTL_MAX_DIES || g->blocks < FTL_KEPT_BLOCKS ||
        SETS * b->frames + ftl_erases_pages(g) + FTL_WORK_FRAMES > g->firmware_frames ||
        ftl_erases_pages(g) > FTL_MAX_WEAR_PAGES || b->frames > g->pages)
        return FTL_ERR_CONFIG;
    f->moves = g->firmware_frames - SETS * b->frames - ftl_erases_pages(g) - 3u;
    if (f->moves > FTL_MOVES) f->moves = FTL_MOVES;
    b->last_busy = b->last_live = FTL_NO_BLOCK;
    b->settled = false;
    b->total = b->borrowed = 0;
    for (uint32_t s = 0; s < SETS; s++) clear(f, (enum set)s);
    ftl_erases_init(f, first_frame(f, SETS));
    ftl_age_init(f);
    return FTL_OK;
}

void ftl_blocks_spread(struct ftl *f, uint32_t start) {
    for (uint32_t die = 0; die < f->geometry.dies; die++) f->blocks.cursor[die] = start % f->blocks.words;
}

void ftl_blocks_busy(struct ftl *f, uint32_t block_id) {
    if (block_id == f->blocks.last_busy) return;
    f->blocks.last_busy = block_id;
    put(f, SET_BUSY, block_id);
}

void ftl_blocks_live(struct ftl *f, uint32_t block_id) {
    if (block_id == f->blocks.last_live) return;
    f->blocks.last_live = block_id;
    put(f, SET_LIVE, block_id);
}

bool ftl_blocks_bad(struct ftl *f, uint32_t block_id) {
    struct ftl_blocks *b = &f->blocks;
    uint32_t die = ftl_die_of(&f->geometry, block_id), block = ftl_block_of(&f->geometry, block_id);
    bool was_free = b->settled && !(closed(f, die, block / 32) >> block % 32 & 1u);
    if (was_free) b->free[die]--, b->total--;
    return put(f, SET_BAD, block_id);
}

bool ftl_blocks_is_bad(struct ftl *f, uint32_t block_id) { return has(f, SET_BAD, block_id); }

bool ftl_blocks_is_taken(struct ftl *f, uint32_t block_id) {
    return has(f, SET_LIVE, block_id) || (!f->blocks.settled && has(f, SET_BUSY, block_id));
}

bool ftl_blocks_unwanted(struct ftl *f, uint32_t block_id) {
    uint32_t block = ftl_block_of(&f->geometry, block_id);
    return has(f, SET_BAD, block_id) ||
           (block < 32 && kept_bits(&f->geometry, ftl_die_of(&f->geometry, block_id)) >> block & 1u);
}

uint32_t ftl_blocks_left_word(struct ftl *f, uint32_t die, uint32_t word) {
    uint32_t unwanted = *word_of(f, SET_BAD, die, word) | (word == 0 ? kept_bits(&f->geometry, die) : 0);
    return *word_of(f, SET_LIVE, die, word) & unwanted;
}

uint32_t ftl_blocks_bad_frame(const struct ftl *f, uint32_t n) { return first_frame(f, SET_BAD) + n; }

void ftl_blocks_none_bad(struct ftl *f) { clear(f, SET_BAD); }

uint32_t ftl_blocks_good(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t shut = FTL_KEPT_BLOCKS; /* and of the bad ones those that are not shut anyway */
    for (uint32_t die = 0; die < g->dies; die++)
        for (uint32_t w = 0; w < f->blocks.words; w++)
            shut += count_ones(*word_of(f, SET_BAD, die, w) & ~(w == 0 ? kept_bits(g, die) : 0));
    return g->dies * g->blocks - shut;
}

uint32_t ftl_blocks_count_bad(struct ftl *f) {
    uint32_t n = 0;
    for (uint32_t die = 0; die < f->geometry.dies; die++) {
        if (ftl_die_is_out(&f->geometry, die)) continue;
        for (uint32_t w = 0; w < f->blocks.words; w++) n += count_ones(*word_of(f, SET_BAD, die, w));
    }
    return n;
}

/* Each question is asked while the answer to the one before is put away. */
static void put_counted(struct ftl *f, enum set first, enum set second) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t words = f->blocks.words, all = g->dies * words;
    hal_live_scan(0);
    for (uint32_t die = 0, w = 0, n = 1; n <= all; n++) {
        uint32_t counted = hal_live_mask(), here_die = die, here = w, left = g->blocks - 32 * w;
        w = w + 1 == words ? 0 : w + 1;
        if (w == 0) die++;
        if (n < all) hal_live_scan(ftl_block_id(g, die, 32 * w));
        if (left < 32) counted &= (1u << left) - 1u;
        if (counted == 0) continue;
        *word_of(f, first, here_die, here) |= counted;
        if (second != first) *word_of(f, second, here_die, here) |= counted;
    }
}

void ftl_blocks_counted_busy(struct ftl *f) { put_counted(f, SET_BUSY, SET_BUSY); }

void ftl_blocks_counted_data(struct ftl *f) { put_counted(f, SET_LIVE, SET_DATA); }

void ftl_blocks_live_is_busy(struct ftl *f) {
    for (uint32_t die = 0; die < f->geometry.dies; die++)
        for (uint32_t w = 0; w < f->blocks.words; w++) *word_of(f, SET_LIVE, die, w) = *word_of(f, SET_BUSY, die, w);
}

void ftl_blocks_none_live(struct ftl *f) {
    f->blocks.last_live = FTL_NO_BLOCK;
    clear(f, SET_LIVE);
}

/* Counts the free blocks and marks those of a die in a walk: each word of a set is an access to far memory. */
static void count_free(struct ftl *f, bool mark) {
    struct ftl_blocks *b = &f->blocks;
    b->total = 0;
    for (uint32_t die = 0; die < f->geometry.dies; die++) {
        b->free[die] = 0;
        for (uint32_t w = 0; w < b->words; w++) {
            uint32_t free = ~closed(f, die, w);
            b->free[die] += count_ones(free);
            if (mark && free != 0) *word_of(f, SET_DATA, die, w) |= free;
        }
        b->total += b->free[die];
    }
}

void ftl_blocks_close(struct ftl *f, uint32_t block_id) {
    put(f, SET_DATA, block_id);
    ftl_age_close(f, block_id);
}

uint32_t ftl_blocks_live_open_word(struct ftl *f, uint32_t die, uint32_t word) {
    return *word_of(f, SET_LIVE, die, word) & ~*word_of(f, SET_DATA, die, word);
}

void ftl_blocks_none_data(struct ftl *f) { clear(f, SET_DATA); }

uint32_t ftl_blocks_open_word(struct ftl *f, uint32_t die, uint32_t word) { return *word_of(f, SET_DATA, die, word); }

bool ftl_blocks_is_data(struct ftl *f, uint32_t block_id) {
    return has(f, SET_DATA, block_id) && has(f, SET_LIVE, block_id);
}

void ftl_blocks_set_aside(struct ftl *f, uint32_t block_id) { drop(f, SET_DATA, block_id); }

void ftl_blocks_release(struct ftl *f, uint32_t block_id) {
    uint32_t die = ftl_die_of(&f->geometry, block_id), block = ftl_block_of(&f->geometry, block_id);
    drop(f, SET_DATA, block_id);
    drop(f, SET_LIVE, block_id);
    if (block_id == f->blocks.last_live) f->blocks.last_live = FTL_NO_BLOCK;
    if (!(closed(f, die, block / 32) >> block % 32 & 1u)) f->blocks.free[die]++, f->blocks.total++;
}

uint32_t ftl_blocks_data_word(struct ftl *f, uint32_t die, uint32_t word) {
    uint32_t bits =
        *word_of(f, SET_DATA, die, word) & *word_of(f, SET_LIVE, die, word) & ~*word_of(f, SET_BAD, die, word);
    return word == 0 ? bits & ~kept_bits(&f->geometry, die) : bits;
}

uint32_t ftl_blocks_new_word(struct ftl *f, uint32_t die, uint32_t word) {
    uint32_t bits = *word_of(f, SET_BUSY, die, word) & ~*word_of(f, SET_LIVE, die, word);
    return word == 0 ? bits & ~kept_bits(&f->geometry, die) : bits;
}

enum choice { LEAST_WORN, MIDDLE, MOST_WORN, MOST_WORN_UNNAMED };

/* How little a block is wanted. */
static uint32_t cost(enum choice choice, uint32_t erases, uint32_t middle) {
    if (choice == MIDDLE) return erases > middle ? erases - middle : middle - erases;
    return choice == LEAST_WORN ? erases : ~erases;
}

static uint32_t wanted(struct ftl *f, uint32_t die, uint32_t word, enum choice choice) {
    uint32_t free = ~closed(f, die, word);
    return choice == MOST_WORN_UNNAMED ? free & *word_of(f, SET_DATA, die, word) : free;
}

/* One of the next free blocks of a die. It is not taken yet. */
static uint32_t choose(struct ftl *f, uint32_t die, enum choice choice) {
    struct ftl_blocks *b = &f->blocks;
    uint32_t id[FTL_WEAR_WINDOW + 32], erases[FTL_WEAR_WINDOW + 32], seen = 0, sum = 0, w = b->cursor[die];
    const uint32_t first = ftl_block_id(&f->geometry, die, 0), *counts = ftl_erases(f, die, 0);
    for (uint32_t n = 0; n < b->words && seen < FTL_WEAR_WINDOW; n++, w = w + 1 == b->words ? 0 : w + 1)
        for (uint32_t bits = wanted(f, die, w, choice), block = 32 * w; bits != 0; bits >>= 1, block++) {
            if (!(bits & 1u)) continue;
            id[seen] = first + block;
            sum += erases[seen] = FTL_ERASES(counts[block]);
            seen++;
        }
    if (seen == 0) return FTL_NO_BLOCK;
    uint32_t best = 0, middle = sum / seen;
    for (uint32_t i = 1; i < seen; i++)
        if (cost(choice, erases[i], middle) < cost(choice, erases[best], middle)) best = i;
    return id[best];
}

/* The search of this die goes on behind the block. */
static uint32_t take_chosen(struct ftl *f, uint32_t die, uint32_t id) {
    struct ftl_blocks *b = &f->blocks;
    uint32_t w = ftl_block_of(&f->geometry, id) / 32;
    put(f, SET_LIVE, id);
    drop(f, SET_DATA, id);
    b->free[die]--, b->total--;
    b->cursor[die] = w + 1 == b->words ? 0 : w + 1;
    return id;
}

bool ftl_blocks_of_old_generation(struct ftl *f, uint32_t block_id) {
    struct hal_nand_op o = {.op = HAL_READ_OOB, .ppn = ftl_first_ppn(&f->geometry, block_id)};
    struct hal_nand_done d;
    if (f->old_root.generation == 0) return false;
    ftl_io_one(&f->io, &o, &d);
    return d.status == FTL_PAGE_OK && d.generation == f->old_root.generation;
}

/* Keeps free blocks for the next mount, of all dies in turn: worn ones, for they rest. */
static void keep_reserve(struct ftl *f, bool (*clean)(struct ftl *f, uint32_t block_id)) {
    uint32_t left = ftl_blocks_mount_reserve(&f->geometry);
    for (bool any = true; any && left > 0;) {
        any = false;
        for (uint32_t die = 0; die < f->geometry.dies && left > 0; die++) {
            uint32_t id = f->blocks.free[die] == 0 ? FTL_NO_BLOCK : choose(f, die, MOST_WORN);
            if (id == FTL_NO_BLOCK) continue;
            (void)take_chosen(f, die, id);
            drop(f, SET_LIVE, id);
            any = true;
            if (!clean(f, id)) continue;
            put(f, SET_BUSY, id);
            left--;
        }
    }
}

static void mark_free(struct ftl *f, uint64_t head) {
    count_free(f, true);
    f->blocks.marked = head;
    f->blocks.unnamed_missing = false;
}

void ftl_blocks_mark_free(struct ftl *f, uint64_t head) {
    if (f->blocks.unnamed_missing && f->old_root.log_first >= f->blocks.marked) mark_free(f, head);
}

void ftl_blocks_settle(struct ftl *f, bool (*clean)(struct ftl *f, uint32_t block_id)) {
    clear(f, SET_BUSY);
    f->blocks.settled = true;
    count_free(f, false);
    keep_reserve(f, clean);
    mark_free(f, f->old_root.log_first);
}

uint32_t ftl_blocks_borrow(struct ftl *f) {
    const struct ftl_geometry *g = &f->geometry;
    if (f->blocks.borrowed == FTL_BORROW) return FTL_NO_BLOCK;
    for (uint32_t die = 0; die < g->dies; die++)
        for (uint32_t w = 0; w < f->blocks.words; w++) {
            uint32_t bits = ftl_blocks_new_word(f, die, w) & ~*word_of(f, SET_BAD, die, w), b = 0;
            if (bits == 0) continue;
            while (!(bits >> b & 1u)) b++;
            uint32_t id = ftl_block_id(g, die, 32 * w + b);
            put(f, SET_LIVE, id);
            drop(f, SET_BUSY, id);
            f->blocks.borrowed++;
            return id;
        }
    return FTL_NO_BLOCK;
}

void ftl_blocks_give_back(struct ftl *f, uint32_t block_id) {
    put(f, SET_BUSY, block_id);
    drop(f, SET_LIVE, block_id);
    if (block_id == f->blocks.last_live) f->blocks.last_live = FTL_NO_BLOCK;
    f->blocks.borrowed--;
}

uint32_t ftl_blocks_rested(struct ftl *f) {
    uint32_t best = FTL_NO_BLOCK;
    for (uint32_t die = 0; die < f->geometry.dies; die++)
        for (uint32_t w = 0; w < f->blocks.words; w++) {
            uint32_t id = ftl_block_id(&f->geometry, die, 32 * w);
            for (uint32_t bits = ftl_blocks_new_word(f, die, w); bits != 0; bits >>= 1, id++)
                if (bits & 1u && !has(f, SET_BAD, id) &&
                    (best == FTL_NO_BLOCK || ftl_erases_of(f, id) < ftl_erases_of(f, best)))
                    best = id;
        }
    return best;
}

void ftl_blocks_relieve(struct ftl *f, uint32_t rested, uint32_t worn) {
    put(f, SET_BUSY, worn);
    drop(f, SET_LIVE, worn);
    drop(f, SET_BUSY, rested);
    put(f, SET_DATA, rested);
    f->blocks.last_live = f->blocks.last_busy = FTL_NO_BLOCK;
    f->blocks.free[ftl_die_of(&f->geometry, rested)]++, f->blocks.total++;
}

static uint32_t take_of(struct ftl *f, uint64_t dies, enum choice choice) {
    uint32_t best = FTL_NO_BLOCK, best_die = 0, best_erases = 0;
    bool worn = choice != LEAST_WORN;
    for (uint32_t die = 0; die < f->geometry.dies; die++) {
        if (f->blocks.free[die] == 0 || !ftl_dies_has(dies, die)) continue;
        uint32_t id = choose(f, die, choice);
        if (id == FTL_NO_BLOCK) continue;
        uint32_t erases = ftl_erases_of(f, id);
        if (best != FTL_NO_BLOCK && (worn ? erases <= best_erases : erases >= best_erases)) continue;
        best = id;
        best_die = die;
        best_erases = erases;
    }
    return best == FTL_NO_BLOCK ? best : take_chosen(f, best_die, best);
}

uint32_t ftl_blocks_take_any(struct ftl *f, uint64_t dies, bool worn) {
    return take_of(f, dies, worn ? MOST_WORN : LEAST_WORN);
}

uint32_t ftl_blocks_take_unnamed(struct ftl *f, uint64_t dies) {
    if (f->old_root.log_first < f->blocks.marked) return FTL_NO_BLOCK;
    uint32_t id = take_of(f, dies, MOST_WORN_UNNAMED);
    if (id == FTL_NO_BLOCK) f->blocks.unnamed_missing = true;
    return id;
}

static uint32_t take(struct ftl *f, uint32_t die, enum choice choice) {
    struct ftl_blocks *b = &f->blocks;
    if (b->settled) return b->free[die] == 0 ? FTL_NO_BLOCK : take_chosen(f, die, choose(f, die, choice));
    for (;;) {
        uint32_t id = choose(f, die, choice);
        if (id == FTL_NO_BLOCK) return id;
        put(f, SET_BUSY, id);
        if (ftl_blocks_of_old_generation(f, id)) continue;
        put(f, SET_LIVE, id);
        b->cursor[die] = ftl_block_of(&f->geometry, id) / 32;
        return id;
    }
}

uint32_t ftl_blocks_take(struct ftl *f, uint32_t die) { return take(f, die, LEAST_WORN); }

uint32_t ftl_blocks_take_held(struct ftl *f, uint32_t die) { return take(f, die, MIDDLE); }

uint32_t ftl_blocks_take_near(struct ftl *f, uint32_t channel) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t first = channel * g->ways % g->dies, best = first, least = FTL_NO_BLOCK;
    for (uint32_t die = first; die < first + g->ways; die++) {
        uint32_t id = choose(f, die, MIDDLE);
        if (id == FTL_NO_BLOCK || ftl_erases_of(f, id) >= least) continue;
        least = ftl_erases_of(f, id);
        best = die;
    }
    for (uint32_t n = 0; n < g->dies; n++) {
        uint32_t id = ftl_blocks_take_held(f, (best + n) % g->dies);
        if (id != FTL_NO_BLOCK) return id;
    }
    return FTL_NO_BLOCK;
}

uint32_t ftl_checkpoint_blocks(const struct ftl_geometry *g) {
    uint32_t map = g->map_pages + g->directories;
    return (map + ftl_erases_pages(g) + g->pages - 1) / g->pages + (map + g->pages - 1) / g->pages;
}

uint32_t ftl_mount_map_blocks(const struct ftl_geometry *g) {
    uint32_t pages = FTL_MAP_COPIES * (g->map_pages + g->directories) + ftl_erases_pages(g);
    uint32_t map_blocks = ftl_mount_blocks(g, pages);
    if (map_blocks < ftl_checkpoint_blocks(g)) map_blocks = ftl_checkpoint_blocks(g);
    uint32_t room = map_blocks * g->pages, all = pages + ftl_prepared_pages(g); /* those share the map's blocks */
    if (all > room) map_blocks += (all - room + g->pages - 1) / g->pages;
    return map_blocks;
}

uint32_t ftl_blocks_mount_reserve(const struct ftl_geometry *g) {
    uint32_t copies = (ftl_copies_pages(g) + g->pages - 1) / g->pages;
    return ftl_mount_map_blocks(g) + copies + 2 * g->lanes + FTL_MOUNT_SPARE;
}
