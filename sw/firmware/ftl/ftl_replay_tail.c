/* SPDX-License-Identifier: Apache-2.0 */
/* The tail (ftl_replay.h, step 2), in walks. Which pages are complete; copies of those that may fade. Then the
 * judgement: which failed pages a RELOCATE replaces, from the end to the front so that chains need no recursion; which
 * blocks are doubtful; which groups and COMMITs count. */
#include "ftl_replay_state.h"
#include "ftl_root.h"

/* failed pages with a complete replacement; more than there can be entries past a watermark */
#define RESCUES FTL_PAGE_WORDS

/* What a VERIFY in flight must find. */
struct expected {
    uint64_t index, sequence;
    uint32_t lpn, ppn;
    bool map;
};

static const uint32_t *entry_at(const uint32_t *page, uint32_t entry) {
    return page + FTL_LOG_ENTRY + entry * FTL_ENTRY_WORDS;
}

static bool names_page(const struct ftl_entry *e) { return e->kind == FTL_MAP || e->kind == FTL_RELOCATE; }

static void collect(struct ftl *f, struct ftl_replay *r, const struct expected *want) {
    struct hal_nand_done d;
    const struct expected *w = &want[f->io.got % HAL_NAND_DEPTH];
    ftl_io_get(&f->io, &d);
    bool complete = d.status == FTL_PAGE_OK && d.kind == FTL_KIND_DATA && d.lpn == w->lpn &&
                    d.sequence == w->sequence && d.generation == f->old_root.generation;
    if (!complete) ftl_set_out(r, w->index, true);
    if (d.status == FTL_PAGE_BLANK) return;
    ftl_set_bit(r->begun, w->index, !complete);
    struct ftl_suspect page = {
        .index = w->index, .sequence = w->sequence, .lpn = w->lpn, .ppn = w->ppn, .whole = complete};
    if (w->map) ftl_copies_begun(f, r->copies, &page);
}

enum ftl_error ftl_tail_verify(struct ftl *f, struct ftl_replay *r) {
    struct expected want[HAL_NAND_DEPTH];
    for (uint32_t k = r->tail_page, entry = r->tail_entry; k < r->log->pages; k++, entry = 0) {
        const uint32_t *page;
        while (!ftl_log_has(f, r->log, k) && !ftl_io_empty(&f->io)) collect(f, r, want);
        enum ftl_error error = ftl_log_page(f, r->log, k, &page);
        if (error != FTL_OK) return error;
        uint64_t first = ftl_get48(page, FTL_LOG_FIRST);
        for (uint32_t count = ftl_log_count(page); entry < count; entry++) {
            struct ftl_entry e;
            ftl_entry_unpack(entry_at(page, entry), &e);
            error = ftl_check_entry(f, &e);
            if (error != FTL_OK) return error;
            if (!names_page(&e) || first + entry < r->log->watermark) continue;
            r->relocates = r->relocates || e.kind == FTL_RELOCATE;
            if (!ftl_io_room(&f->io)) collect(f, r, want);
            want[f->io.put % HAL_NAND_DEPTH] = (struct expected){.index = first + entry,
                                                                 .sequence = e.sequence,
                                                                 .lpn = e.lpn,
                                                                 .ppn = FTL_WORD_VALUE(e.location),
                                                                 .map = e.kind == FTL_MAP};
            struct hal_nand_op o = {.op = HAL_VERIFY, .ppn = FTL_WORD_VALUE(e.location)};
            ftl_io_put(&f->io, &o);
        }
    }
    while (!ftl_io_empty(&f->io)) collect(f, r, want);
    return FTL_OK;
}

/* The old PPNs of complete RELOCATEs, seen from the end, are in the directory frame: it is free during the replay. */
static enum ftl_error rescue(struct ftl *f, struct ftl_replay *r) {
    uint32_t *saved = hal_frame(FTL_FRAME_DIRECTORY), n = 0;
    for (uint32_t k = r->log->pages; k-- > r->tail_page;) {
        const uint32_t *page;
        enum ftl_error error = ftl_log_page(f, r->log, k, &page);
        if (error != FTL_OK) return error;
        uint64_t first = ftl_get48(page, FTL_LOG_FIRST);
        for (uint32_t entry = ftl_log_count(page); entry-- > 0;) {
            struct ftl_entry e;
            ftl_entry_unpack(entry_at(page, entry), &e);
            if (!names_page(&e) || first + entry < r->log->watermark) continue;
            for (uint32_t i = 0; i < n && ftl_is_out(r, first + entry); i++)
                if (saved[i] == FTL_WORD_VALUE(e.location)) ftl_set_out(r, first + entry, false);
            if (e.kind != FTL_RELOCATE || ftl_is_out(r, first + entry)) continue;
            if (n == RESCUES) return FTL_ERR_LOG;
            saved[n++] = FTL_WORD_VALUE(e.arg);
        }
    }
    return FTL_OK;
}

enum ftl_error ftl_tail_rewrite(struct ftl *f, struct ftl_replay *r) {
    ftl_root_alone(f);
    enum ftl_error error = ftl_copies_make(f, r->copies);
    for (uint32_t die = 0; die < f->geometry.dies; die++)
        for (uint32_t i = 0; i < r->copies->count[die]; i++) {
            const struct ftl_suspect *s = &r->copies->last[die][i];
            if (s->whole) continue;
            ftl_set_out(r, s->index, true);
            ftl_set_bit(r->begun, s->index, true);
        }
    return error;
}

/* What was begun and can neither be read nor is replaced (rule root-report). */
static enum ftl_error doubt(struct ftl *f, struct ftl_replay *r) {
    for (uint32_t k = r->tail_page, entry = r->tail_entry; k < r->log->pages; k++, entry = 0) {
        const uint32_t *page;
        enum ftl_error error = ftl_log_page(f, r->log, k, &page);
        if (error != FTL_OK) return error;
        uint64_t first = ftl_get48(page, FTL_LOG_FIRST);
        for (uint32_t count = ftl_log_count(page); entry < count; entry++) {
            struct ftl_entry e;
            ftl_entry_unpack(entry_at(page, entry), &e);
            if (first + entry < r->log->watermark || e.kind != FTL_MAP || !ftl_is_out(r, first + entry) ||
                !ftl_bit(r->begun, first + entry))
                continue;
            if (r->lost->doubtful < FTL_DOUBTFUL) r->lost->lpn[r->lost->doubtful] = e.lpn;
            r->lost->doubtful++;
        }
    }
    return FTL_OK;
}

/* The plain group that begins at `entry`: drops it whole unless all its members are there and complete. Returns how
 * many entries it has. */
static uint32_t judge_group(struct ftl_replay *r, const uint32_t *page, uint32_t entry, uint64_t index) {
    struct ftl_entry head, e;
    uint32_t count = ftl_log_count(page), n = 0;
    bool whole = true;
    ftl_entry_unpack(entry_at(page, entry), &head);
    do {
        whole = whole && !ftl_is_out(r, index + n);
        n++;
        if (entry + n >= count || n >= head.n) break;
        ftl_entry_unpack(entry_at(page, entry + n), &e);
    } while (e.kind == FTL_MAP && !(e.flags & FTL_ENTRY_IN_TX) && e.n == head.n && e.i == n);
    if (head.i == 0 && n == head.n && whole) return n;
    for (uint32_t i = 0; i < n; i++) ftl_set_out(r, index + i, true);
    r->lost->dropped++;
    if (head.flags & FTL_ENTRY_ORDERED) ftl_epoch_broken(r, head.epoch);
    return n;
}

static void judge_commit(struct ftl_replay *r, const struct ftl_tx_seen *tx, const struct ftl_entry *e,
                         uint64_t index) {
    const struct ftl_tx_seen *t = &tx[e->serial % FTL_TXIDS];
    bool ours = t->seen != 0 && t->serial == e->serial;
    if (t->prepared && t->serial == e->serial) return;
    if (e->arg == (ours ? t->seen : 0) && (!ours || t->whole)) return;
    ftl_set_out(r, index, true);
    r->lost->dropped++;
    ftl_epoch_broken(r, e->epoch);
}

/* It counts when its transaction's entries are there and complete. */
static void judge_prepare(struct ftl_replay *r, struct ftl_tx_seen *tx, const struct ftl_entry *e, uint64_t index) {
    bool fresh;
    struct ftl_tx_seen *t = ftl_tx_of(tx, e->serial, &fresh);
    t->prepared = e->arg == t->seen && t->whole;
    if (t->prepared) return;
    ftl_set_out(r, index, true);
    r->lost->dropped++;
}

static void end_tx(struct ftl_tx_seen *tx, uint32_t serial) {
    tx[serial % FTL_TXIDS].seen = 0;
    tx[serial % FTL_TXIDS].prepared = false;
}

enum ftl_error ftl_tail_judge(struct ftl *f, struct ftl_replay *r) {
    struct ftl_tx_seen tx[FTL_TXIDS];
    bool fresh;
    enum ftl_error error = r->relocates ? rescue(f, r) : FTL_OK;
    if (error == FTL_OK) error = doubt(f, r);
    if (error != FTL_OK) return error;
    for (uint32_t t = 0; t < FTL_TXIDS; t++) tx[t] = r->tx[t];
    for (uint32_t k = r->tail_page, entry = r->tail_entry; k < r->log->pages; k++, entry = 0) {
        const uint32_t *page;
        error = ftl_log_page(f, r->log, k, &page);
        if (error != FTL_OK) return error;
        uint64_t first = ftl_get48(page, FTL_LOG_FIRST);
        for (uint32_t count = ftl_log_count(page), n; entry < count; entry += n) {
            struct ftl_entry e;
            ftl_entry_unpack(entry_at(page, entry), &e);
            n = 1;
            if ((e.kind == FTL_MAP || e.kind == FTL_TRIM) && e.flags & FTL_ENTRY_IN_TX) {
                struct ftl_tx_seen *t = ftl_tx_of(tx, e.serial, &fresh);
                t->seen++;
                t->whole = t->whole && !ftl_is_out(r, first + entry);
            } else if (e.kind == FTL_MAP) {
                n = judge_group(r, page, entry, first + entry);
            } else if (e.kind == FTL_COMMIT) {
                judge_commit(r, tx, &e, first + entry);
                end_tx(tx, e.serial);
            } else if (e.kind == FTL_PREPARE) {
                judge_prepare(r, tx, &e, first + entry);
            } else if (e.kind == FTL_ABORT) {
                end_tx(tx, e.serial);
            }
        }
    }
    return FTL_OK;
}
