/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_replay.h"

#include "ftl_blocks.h"
#include "ftl_map.h"
#include "ftl_prepared.h"
#include "ftl_replay_state.h"

#define MANY 8u /* pages that are not applied yet: no more wait in frames */

enum ftl_error ftl_check_entry(struct ftl *f, const struct ftl_entry *e) {
    const struct ftl_geometry *g = &f->geometry;
    uint32_t block = FTL_WORD_VALUE(e->location) >> g->page_bits;
    switch (e->kind) {
        case FTL_RELOCATE:
            if (!ftl_block_exists(g, FTL_WORD_VALUE(e->arg) >> g->page_bits)) return FTL_ERR_LOG;
            ftl_blocks_busy(f, FTL_WORD_VALUE(e->arg) >> g->page_bits);
            /* fall through */
        case FTL_MAP:
            if (e->lpn >= g->lbas || FTL_WORD_KIND(e->location) != FTL_WORD_KIND_NAND || !ftl_block_exists(g, block))
                return FTL_ERR_LOG;
            ftl_blocks_busy(f, block);
            return FTL_OK;
        case FTL_TRIM: return e->lpn < g->lbas && e->arg <= g->lbas - e->lpn ? FTL_OK : FTL_ERR_LOG;
        case FTL_COMMIT:
        case FTL_ABORT:
        case FTL_PREPARE:
        case FTL_NOTE: return FTL_OK;
        default: return FTL_ERR_LOG; /* of a later version of this format */
    }
}

static bool is_grouped(const struct ftl_entry *e) {
    return e->kind == FTL_MAP && e->n > 1 && !(e->flags & FTL_ENTRY_IN_TX);
}

/* The map word of a MAP entry: its page, or the copy of it. */
static uint32_t word_of(const struct ftl *f, const struct ftl_replay *r, const struct ftl_entry *e, uint64_t index) {
    return FTL_WORD_NAND(ftl_copies_place(f, r->copies, index, FTL_WORD_VALUE(e->location)));
}

static enum ftl_error apply_in_tx(struct ftl *f, struct ftl_replay *r, const struct ftl_entry *e, uint64_t index) {
    uint32_t txid = e->serial % FTL_TXIDS;
    bool fresh;
    if (ftl_tx_shut(r->tx, e->serial)) return FTL_OK;
    struct ftl_tx_seen *t = ftl_tx_of(r->tx, e->serial, &fresh);
    if (fresh) r->lists.items[txid] = 0;
    t->seen++;
    return e->kind == FTL_TRIM ? ftl_txlist_trim(f, &r->lists, txid, e->lpn, e->arg)
                               : ftl_txlist_add(f, &r->lists, txid, e->lpn, word_of(f, r, e, index));
}

static void forget(struct ftl_replay *r, uint32_t txid) {
    r->tx[txid].seen = 0;
    r->tx[txid].prepared = false;
    r->lists.items[txid] = 0;
}

static void apply_commit(struct ftl_replay *r, const struct ftl_entry *e, uint64_t index, uint64_t map_first) {
    uint32_t txid = e->serial % FTL_TXIDS;
    bool shut = ftl_tx_shut(r->tx, e->serial),
         counts = !ftl_is_out(r, index) && !r->commits_broken && !ftl_epoch_lost(r, e->epoch) && !shut;
    if (counts && r->tx[txid].serial == e->serial && index >= map_first) ftl_txlist_apply(&r->lists, txid);
    if (!counts) r->commits_broken = true;
    if (!counts && !ftl_is_out(r, index)) r->lost->dropped++;
    if (!counts && r->tx[txid].prepared) return; /* the prepared one stays */
    forget(r, txid);
}

static void apply_prepare(struct ftl_replay *r, const struct ftl_entry *e, uint64_t index) {
    struct ftl_tx_seen *t = &r->tx[e->serial % FTL_TXIDS];
    bool fresh, shut = ftl_tx_shut(r->tx, e->serial);
    if (!shut && !ftl_is_out(r, index)) {
        t = ftl_tx_of(r->tx, e->serial, &fresh);
        if (fresh) r->lists.items[e->serial % FTL_TXIDS] = 0;
        t->prepared = t->seen == e->arg;
        if (t->prepared) return;
    }
    if (!ftl_is_out(r, index)) r->lost->dropped++;
}

/* Who holds `from` gets the new page. A word of the map may be newer than this entry, and name the old page in a later
 * use: an entry before the map page's position changes no word that the log has not set. */
static void relocate(const struct ftl *f, const struct ftl_entry *e, uint32_t from, uint64_t index) {
    uint32_t word = hal_map()[e->lpn];
    bool in_page = index - f->old_root.map_first < *ftl_map_position(f, e->lpn / FTL_PAGE_WORDS);
    if (word == from && !in_page) ftl_map_set(e->lpn, e->location);
    if (word == ftl_word_of_log(from)) ftl_map_set(e->lpn, ftl_word_of_log(e->location));
}

/* Applies one entry. */
static enum ftl_error apply(struct ftl *f, struct ftl_replay *r, const struct ftl_entry *e, uint64_t index) {
    bool too_late = e->flags & FTL_ENTRY_ORDERED && ftl_epoch_lost(r, e->epoch),
         mapped = e->kind == FTL_MAP || e->kind == FTL_TRIM;
    bool in_map = index < f->old_root.map_first; /* a checkpoint has it */
    if (mapped && e->flags & FTL_ENTRY_IN_TX) return apply_in_tx(f, r, e, index);
    if (mapped && in_map) return FTL_OK;
    switch (e->kind) {
        case FTL_MAP:
            if (ftl_is_out(r, index)) return FTL_OK;
            if (too_late) {
                if (e->i == 0) r->lost->dropped++;
                return FTL_OK;
            }
            ftl_map_set(e->lpn, ftl_word_of_log(word_of(f, r, e, index)));
            return FTL_OK;
        case FTL_TRIM:
            if (too_late) r->lost->dropped++;
            else
                for (uint32_t i = 0; i < e->arg; i++) ftl_map_set(e->lpn + i, ftl_word_of_log(FTL_WORD_NONE));
            return FTL_OK;
        case FTL_RELOCATE: {
            uint32_t from = FTL_WORD_NAND(FTL_WORD_VALUE(e->arg));
            if (ftl_is_out(r, index)) return FTL_OK;
            if (!in_map) relocate(f, e, from, index);
            ftl_txlist_relocate(&r->lists, e->lpn, from, e->location);
            return FTL_OK;
        }
        case FTL_COMMIT: apply_commit(r, e, index, f->old_root.map_first); return FTL_OK;
        case FTL_NOTE: return FTL_OK;
        case FTL_PREPARE: apply_prepare(r, e, index); return FTL_OK;
        default: /* ABORT */
            if (!ftl_tx_shut(r->tx, e->serial)) forget(r, e->serial % FTL_TXIDS);
            return FTL_OK;
    }
}

/* How many entries of a page are below the watermark, less those of a group that reaches past it. */
static uint32_t entries_of_head(const struct ftl_replay *r, const uint32_t *page, uint32_t count) {
    uint64_t first = ftl_get48(page, FTL_LOG_FIRST);
    if (r->log->watermark <= first) return 0;
    if (first + count <= r->log->watermark) return count;
    uint32_t end = (uint32_t)(r->log->watermark - first);
    struct ftl_entry e;
    ftl_entry_unpack(page + FTL_LOG_ENTRY + end * FTL_ENTRY_WORDS, &e);
    return is_grouped(&e) && e.i <= end ? end - e.i : end;
}

/* A MAP entry outside of a transaction and not in the map yet, and the ones like it behind it, up to `end`: hardware
 * begins to apply them. Until end_run() neither the map nor the page may be looked at. False: the entry is another. */
static bool begin_run(struct ftl *f, struct ftl_replay *r, const uint32_t *page, uint32_t end) {
    const uint32_t *words = page + FTL_LOG_ENTRY + r->tail_entry * FTL_ENTRY_WORDS;
    uint64_t first = ftl_get48(page, FTL_LOG_FIRST);
    struct ftl_entry e = {.kind = words[FTL_ENTRY_KIND] >> FTL_ENTRY_KIND_SHIFT & 0xffu,
                          .flags = words[FTL_ENTRY_FLAGS] >> FTL_ENTRY_FLAGS_SHIFT & 0xffu};
    if (e.kind != FTL_MAP || e.flags & FTL_ENTRY_IN_TX || first + r->tail_entry < f->old_root.map_first) return false;
    uint32_t frame = (uint32_t)(page - hal_frame(0)) / FTL_PAGE_WORDS;
    struct hal_map_task t = {.op = HAL_MAP_APPLY, .frame = frame, .first = r->tail_entry, .end = end};
    hal_map_start(&t);
    return r->counted = r->runs = true;
}

/* They are applied, up to the first that is not like them. */
static enum ftl_error end_run(struct ftl_replay *r) {
    struct hal_map_state state = hal_map_wait();
    r->tail_entry = state.stop;
    r->runs = false;
    return state.bad ? FTL_ERR_MEMORY : FTL_OK;
}

/* Entry `words` of the head, if it is a MAP or TRIM entry of a transaction that is known, and the ones of the same
 * transaction behind it, at most `n`, are put into its list: as many as are right and have room. Returns how many. */
static uint32_t list_run(struct ftl *f, struct ftl_replay *r, const uint32_t *words, uint32_t n) {
    uint32_t serial = words[FTL_ENTRY_SERIAL], txid = serial % FTL_TXIDS, lbas = f->geometry.lbas, done = 0,
             seen[16] = {0}; /* one more than the blocks seen last: pages of a transaction lie on many dies */
    struct ftl_tx_seen *t = &r->tx[txid];
    _Static_assert(FTL_ENTRY_KIND == FTL_ENTRY_FLAGS && FTL_ENTRY_KIND_SHIFT == 0, "kind and flags are in one word");
    if (t->serial != serial || t->seen == 0) return 0; /* its first one opens the list */
    uint32_t *item = hal_tx_area(txid) + 2 * r->lists.items[txid], *end = hal_tx_area(txid) + 2 * f->geometry.tx_slots;
    for (; done < n && words[FTL_ENTRY_SERIAL] == serial; done++, words += FTL_ENTRY_WORDS) {
        uint32_t kind = words[FTL_ENTRY_KIND] & (0xffu | FTL_ENTRY_IN_TX << FTL_ENTRY_FLAGS_SHIFT),
                 lpn = words[FTL_ENTRY_LPN], word = FTL_WORD_NONE, blocks = 1;
        if (kind == (FTL_TRIM | FTL_ENTRY_IN_TX << FTL_ENTRY_FLAGS_SHIFT)) {
            blocks = words[FTL_ENTRY_ARG];
            if (lpn >= lbas || blocks > lbas - lpn) break;
        } else if (kind == (FTL_MAP | FTL_ENTRY_IN_TX << FTL_ENTRY_FLAGS_SHIFT)) {
            word = words[FTL_ENTRY_LOCATION];
            uint32_t block = FTL_WORD_VALUE(word) >> f->geometry.page_bits,
                     *last = &seen[(block >> f->geometry.block_bits) % 16];
            if (lpn >= lbas || FTL_WORD_KIND(word) != FTL_WORD_KIND_NAND) break;
            if (block + 1 != *last && !ftl_block_exists(&f->geometry, block)) break;
            if (block + 1 != *last) ftl_blocks_busy(f, FTL_WORD_VALUE(word) >> f->geometry.page_bits);
            *last = block + 1;
        } else break;
        if ((uint32_t)(end - item) / 2 < blocks) break;
        for (; blocks > 0; blocks--, item += 2) {
            item[0] = lpn++;
            item[1] = word;
        }
    }
    t->seen += done;
    r->lists.items[txid] = (uint32_t)(item - hal_tx_area(txid)) / 2;
    return done;
}

static enum ftl_error apply_one(struct ftl *f, struct ftl_replay *r, const uint32_t *page, uint32_t entry) {
    struct ftl_entry e;
    ftl_entry_unpack(page + FTL_LOG_ENTRY + entry * FTL_ENTRY_WORDS, &e);
    enum ftl_error error = ftl_check_entry(f, &e);
    return error == FTL_OK ? apply(f, r, &e, ftl_get48(page, FTL_LOG_FIRST) + entry) : error;
}

/* Applies what is below the watermark, from where the tail began before; while the log is still read, of pages that are
 * there only, and hardware may go on with a page when it returns, unless there are many more. */
static enum ftl_error head(struct ftl *f, struct ftl_replay *r, bool reads) {
    if (r->runs && end_run(r) != FTL_OK) return FTL_ERR_MEMORY;
    for (; r->tail_page < r->log->pages; r->tail_page++, r->tail_entry = 0) {
        const uint32_t *page;
        if (reads && !ftl_log_has(f, r->log, r->tail_page)) return FTL_OK;
        enum ftl_error error = ftl_log_page(f, r->log, r->tail_page, &page);
        if (error != FTL_OK) return error;
        uint32_t count = ftl_log_count(page), end = entries_of_head(r, page, count);
        while (r->tail_entry < end) {
            if (begin_run(f, r, page, end)) {
                if (reads && r->log->pages - r->tail_page < MANY) return FTL_OK;
                if (end_run(r) != FTL_OK) return FTL_ERR_MEMORY;
            }
            uint32_t left = end - r->tail_entry;
            if (left != 0)
                r->tail_entry += list_run(f, r, page + FTL_LOG_ENTRY + r->tail_entry * FTL_ENTRY_WORDS, left);
            if (r->tail_entry < end) error = apply_one(f, r, page, r->tail_entry++);
            if (error != FTL_OK) return error;
        }
        if (end < count) return FTL_OK;
    }
    return FTL_OK;
}

/* Applies what counts of the tail. */
static enum ftl_error tail(struct ftl *f, struct ftl_replay *r) {
    for (uint32_t k = r->tail_page, entry = r->tail_entry; k < r->log->pages; k++, entry = 0) {
        const uint32_t *page;
        enum ftl_error error = ftl_log_page(f, r->log, k, &page);
        for (uint32_t count = error == FTL_OK ? ftl_log_count(page) : 0; entry < count && error == FTL_OK; entry++)
            error = apply_one(f, r, page, entry);
        if (error != FTL_OK) return error;
    }
    return FTL_OK;
}

static enum ftl_error taken(struct ftl *f, void *with) { return head(f, with, true); }

enum ftl_error ftl_replay(struct ftl *f, struct ftl_log *log, bool write, struct ftl_lost *lost) {
    static struct ftl_copies copies; /* large for a stack */
    struct ftl_replay r = {.log = log, .lost = lost, .copies = &copies};
    uint32_t begin = hal_clocks(), *clocks = &f->report.replay_clocks;
    copies = (struct ftl_copies){0};
    r.tail_page = f->old_root.log_page;
    enum ftl_error error = ftl_prepared_load(f, &r);
    if (error == FTL_OK) error = ftl_log_scan(f, log, taken, &r);
    if (r.runs && end_run(&r) != FTL_OK && error == FTL_OK) error = FTL_ERR_MEMORY;
    if (error == FTL_OK) error = head(f, &r, false);
    if (error == FTL_OK && r.counted) ftl_blocks_counted_busy(f);
    if (error == FTL_OK) error = ftl_tail_verify(f, &r);
    *clocks = hal_clocks() - begin;
    if (error == FTL_OK && write && !log->gap) error = ftl_tail_rewrite(f, &r);
    begin = hal_clocks();
    if (error == FTL_OK) error = ftl_tail_judge(f, &r);
    if (error == FTL_OK) error = tail(f, &r);
    if (error == FTL_OK) ftl_prepared_keep(f, &r);
    *clocks += hal_clocks() - begin;
    return error;
}
