/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the replay share: ftl_replay.c (walk, apply), ftl_judge.c (the tail). */
#ifndef FTL_REPLAY_STATE_H
#define FTL_REPLAY_STATE_H

#include "ftl_replay.h"
#include "ftl_txlist.h"

/* Entries of a transaction seen so far. A txid whose serial changed has lost its old transaction. */
struct ftl_tx_seen {
    uint32_t serial, seen;
    bool whole; /* all of them are complete */
};

struct ftl_replay {
    struct ftl_log *log;
    struct ftl_tx_seen tx[FTL_TXIDS];
    struct ftl_txlist lists;
    uint32_t out[FTL_WATERMARK_RING / 32]; /* by index: incomplete or dropped entries of the tail */
    uint32_t bad_epoch;
    bool commits_broken; /* a COMMIT did not count: no later one does */
    uint32_t dropped;
    uint32_t tail_page, tail_entry; /* where the tail begins */
};

static inline bool ftl_is_out(const struct ftl_replay *r, uint64_t index) {
    uint32_t i = (uint32_t)index % FTL_WATERMARK_RING;
    return (r->out[i / 32] >> i % 32 & 1u) != 0;
}

static inline void ftl_set_out(struct ftl_replay *r, uint64_t index, bool out) {
    uint32_t i = (uint32_t)index % FTL_WATERMARK_RING;
    r->out[i / 32] = (r->out[i / 32] & ~(1u << i % 32)) | (uint32_t)out << i % 32;
}

/* Counts an entry of a transaction; returns the state of its txid. */
static inline struct ftl_tx_seen *ftl_tx_of(struct ftl_tx_seen *tx, uint32_t serial, bool *fresh) {
    struct ftl_tx_seen *t = &tx[serial % FTL_TXIDS];
    *fresh = t->seen == 0 || t->serial != serial;
    if (*fresh) *t = (struct ftl_tx_seen){.serial = serial, .whole = true};
    return t;
}

/* Judges the tail: sets `out`, `bad_epoch` and counts what it drops. */
FTL_MUST_CHECK enum ftl_error ftl_judge(struct ftl *f, struct ftl_replay *r);

#endif
