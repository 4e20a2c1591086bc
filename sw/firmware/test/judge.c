/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's "Across a power cut" (docs/contract.md, guarantees 7 to 10), asked of the mounted map and of the
 * transactions that the mount brought back. Knows nothing of logs. */
#include "drive.h"

static uint32_t value[DRIVE_LPNS];

static bool writes(const struct drive_item *h, uint32_t lpn, uint32_t *v) {
    for (uint32_t k = 0; k < h->n; k++)
        if (h->lpn[k] == lpn) {
            *v = h->value[k];
            return true;
        }
    return false;
}

/* The last item that put what block i holds now; -1: it holds what it held at the last mount. */
static int shown(uint32_t i) {
    uint32_t v;
    for (int h = (int)drive.items - 1; h >= 0; h--)
        if (writes(&drive.item[h], drive_lpn(i), &v) && v == value[i]) return h;
    CHECK(value[i] == drive.before[i]); /* else nobody wrote it, or only an uncommitted transaction did */
    return -1;
}

static bool same(const struct drive_tx *t, const uint32_t *lpn, const uint32_t *stamp, uint32_t n) {
    if (t->n != n) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = 0;
        while (k < n && t->lpn[k] != lpn[i]) k++;
        if (k == n || t->value[k] != stamp[i]) return false;
    }
    return true;
}

/* The last COMMIT of a prepared transaction of this txid; -1: there is none. */
static int last_of(uint32_t txid) {
    for (int h = (int)drive.items - 1; h >= 0; h--)
        if (drive.item[h].kind == ITEM_COMMIT && drive.item[h].prepared && drive.item[h].serial % FTL_TXIDS == txid)
            return h;
    return -1;
}

/* A prepared transaction is prepared as it was, committed or, when its PREPARE or its ABORT was not acknowledged,
 * either that or nothing. Puts a COMMIT that must count among those that are seen; returns the last COMMIT that counts.
 */
static int judge_prepared(uint32_t txid, bool *seen, int last_commit) {
    struct drive_tx back, *t = &drive.tx[txid];
    bool is_back = drive_restored(txid, &back), own = t->prepared || t->ending;
    int h = last_of(txid);
    const struct drive_item *end = h < 0 ? NULL : &drive.item[h];
    drive.kept += is_back;
    if (end && own && same(t, end->lpn, end->value, end->n)) return last_commit; /* they cannot be told apart */
    if (end && is_back && same(&back, end->lpn, end->value, end->n)) {
        CHECK(!seen[h] && h > last_commit); /* its COMMIT does not count */
        return last_commit;
    }
    if (end) seen[h] = true; /* the txid was used again, or is free: so it counts */
    if (is_back) CHECK(own && same(&back, t->lpn, t->value, t->n));
    else CHECK(!t->prepared || !t->sure);
    return end && h > last_commit ? h : last_commit;
}

void drive_judge(void) {
    int show[DRIVE_LPNS], last_commit = -1;
    uint32_t v;
    for (uint32_t i = 0; i < DRIVE_LPNS; i++) {
        value[i] = drive_value(drive_lpn(i));
        show[i] = shown(i);
    }
    bool seen[DRIVE_ITEMS] = {false};
    for (uint32_t h = 0; h < drive.items; h++) {
        const struct drive_item *item = &drive.item[h];
        for (uint32_t i = 0; i < DRIVE_LPNS; i++)
            if (writes(item, drive_lpn(i), &v) && v == value[i] && v != NOTHING) seen[h] = true;
        seen[h] = seen[h] || item->must;
        if (seen[h] && item->kind == ITEM_COMMIT) last_commit = (int)h;
    }
    for (uint32_t t = 0; t < FTL_TXIDS; t++) last_commit = judge_prepared(t, seen, last_commit);
    const struct drive_item *top = last_commit < 0 ? NULL : &drive.item[last_commit]; /* latest epoch that is there */
    for (uint32_t h = 0; h < drive.items; h++)
        if (seen[h] && drive.item[h].ordered && (top == NULL || (int32_t)(drive.item[h].epoch - top->epoch) > 0))
            top = &drive.item[h];
    for (uint32_t h = 0; h < drive.items; h++) {
        const struct drive_item *item = &drive.item[h];
        bool there = seen[h] || (item->kind == ITEM_COMMIT && (int)h <= last_commit); /* commits are a prefix */
        there = there || (top != NULL && item->ordered && (int32_t)(item->epoch - top->epoch) < 0); /* so are epochs */
        for (uint32_t i = 0; i < DRIVE_LPNS && there; i++) /* whole: each block holds this or something later */
            if (writes(item, drive_lpn(i), &v)) CHECK(show[i] >= (int)h);
    }
}
