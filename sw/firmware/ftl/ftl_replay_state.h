/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the replay share: ftl_replay.c (walk, apply), ftl_replay_tail.c (the tail). */
#ifndef FTL_REPLAY_STATE_H
#define FTL_REPLAY_STATE_H

#include "ftl_copies.h"
#include "ftl_log.h"
#include "ftl_txlist.h"

/* Entries of a transaction seen so far. A txid whose serial changed has lost its old transaction. */
struct ftl_tx_seen {
    uint32_t serial, seen;
    bool whole;    /* all of them are complete */
    bool prepared; /* its PREPARE counts, and no end does yet */
};

struct ftl_replay {
    struct ftl_log *log;
    struct ftl_tx_seen tx[FTL_TXIDS];
    struct ftl_txlist lists;
    uint32_t out[FTL_WATERMARK_RING / 32];   /* by index: incomplete or dropped entries of the tail */
    uint32_t begun[FTL_WATERMARK_RING / 32]; /* by index: its page was begun, and cannot be read */
    bool bad;            /* something of bad_epoch was dropped, so what keeps order in later ones is */
    uint32_t bad_epoch;  /* modulo 2^32: epochs of the tail are fewer apart than it has entries */
    bool commits_broken; /* a COMMIT did not count: no later one does */
    bool relocates;      /* the tail has RELOCATEs */
    bool counted;        /* hardware has applied entries, and has counted the pages of the log among those of the map */
    bool runs;           /* hardware applies entries of page tail_page, from tail_entry on */
    struct ftl_lost *lost;
    uint32_t tail_page, tail_entry; /* where the tail begins */
    struct ftl_copies *copies;
};

static inline bool ftl_bit(const uint32_t *bits, uint64_t index) {
    return (bits[(uint32_t)index % FTL_WATERMARK_RING / 32] >> (uint32_t)index % 32 & 1u) != 0;
}

static inline void ftl_set_bit(uint32_t *bits, uint64_t index, bool set) {
    uint32_t *word = &bits[(uint32_t)index % FTL_WATERMARK_RING / 32], shift = (uint32_t)index % 32;
    *word = (*word & ~(1u << shift)) | (uint32_t)set << shift;
}

static inline bool ftl_is_out(const struct ftl_replay *r, uint64_t index) { return ftl_bit(r->out, index); }

static inline void ftl_set_out(struct ftl_replay *r, uint64_t index, bool out) { ftl_set_bit(r->out, index, out); }

static inline void ftl_epoch_broken(struct ftl_replay *r, uint32_t epoch) {
    if (r->bad && (int32_t)(epoch - r->bad_epoch) >= 0) return;
    r->bad = true;
    r->bad_epoch = epoch;
}

/* An order-preserving entry of the tail, or a COMMIT, is behind a barrier that something before did not survive. */
static inline bool ftl_epoch_lost(const struct ftl_replay *r, uint32_t epoch) {
    return r->bad && (int32_t)(epoch - r->bad_epoch) > 0;
}

/* An entry or record of the serial means nothing: the txid belongs to another transaction, prepared before it, whose
 * COMMIT did not count. */
static inline bool ftl_tx_shut(const struct ftl_tx_seen *tx, uint32_t serial) {
    return tx[serial % FTL_TXIDS].prepared && tx[serial % FTL_TXIDS].serial != serial;
}

/* Counts an entry of a transaction; returns the state of its txid. */
static inline struct ftl_tx_seen *ftl_tx_of(struct ftl_tx_seen *tx, uint32_t serial, bool *fresh) {
    struct ftl_tx_seen *t = &tx[serial % FTL_TXIDS];
    *fresh = t->seen == 0 || t->serial != serial;
    if (*fresh) *t = (struct ftl_tx_seen){.serial = serial, .whole = true};
    return t;
}

/* Checks that an entry names only what this drive has; its blocks become BUSY. */
FTL_MUST_CHECK enum ftl_error ftl_check_entry(struct ftl *f, const struct ftl_entry *e);

/* Which pages of the tail are complete: sets `out` and `begun`, and finds what may fade. */
FTL_MUST_CHECK enum ftl_error ftl_tail_verify(struct ftl *f, struct ftl_replay *r);

/* Leaves the old root alone among the anchors (ftl_root_alone), then copies pages that may fade; those that cannot be
 * read again are `out`. */
FTL_MUST_CHECK enum ftl_error ftl_tail_rewrite(struct ftl *f, struct ftl_replay *r);

/* Judges the tail: what more is `out`, `bad_epoch`; counts what it drops and what is doubtful. */
FTL_MUST_CHECK enum ftl_error ftl_tail_judge(struct ftl *f, struct ftl_replay *r);

#endif
