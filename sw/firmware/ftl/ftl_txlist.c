/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_txlist.h"

#include "ftl_map.h"

/* Puts an LPN into the hash table of `slots` words (a power of two, at most half full); false: it is there already. LPN
 * + 1 is stored, 0 is empty. */
static bool hash_put(uint32_t *table, uint32_t slots, uint32_t lpn) {
    uint32_t at = lpn * 2654435761u >> 7;
    for (at &= slots - 1u; table[at] != 0; at = (at + 1u) & (slots - 1u))
        if (table[at] == lpn + 1u) return false;
    table[at] = lpn + 1u;
    return true;
}

/* Keeps the last item of each LPN, in order: from the end to the front, items that stay move to the end; then all move
 * to the front. */
static uint32_t compact(const struct ftl *f, uint32_t *list, uint32_t items) {
    uint32_t slots = f->geometry.tx_slots * 2, *table = hal_tx_area(0) + slots, to = items;
    for (uint32_t i = 0; i < slots; i++) table[i] = 0;
    for (uint32_t i = items; i-- > 0;) {
        if (!hash_put(table, slots, list[2 * i])) continue;
        to--;
        list[2 * to] = list[2 * i];
        list[2 * to + 1] = list[2 * i + 1];
    }
    for (uint32_t i = to; i < items; i++) {
        list[2 * (i - to)] = list[2 * i];
        list[2 * (i - to) + 1] = list[2 * i + 1];
    }
    return items - to;
}

enum ftl_error ftl_txlist_add(const struct ftl *f, struct ftl_txlist *t, uint32_t txid, uint32_t lpn, uint32_t word) {
    uint32_t *list = hal_tx_area(txid);
    if (t->items[txid] == f->geometry.tx_slots) t->items[txid] = compact(f, list, t->items[txid]);
    if (t->items[txid] == f->geometry.tx_slots) return FTL_ERR_LOG;
    uint32_t *item = list + 2 * t->items[txid]++;
    item[0] = lpn;
    item[1] = word;
    return FTL_OK;
}

enum ftl_error ftl_txlist_trim(const struct ftl *f, struct ftl_txlist *t, uint32_t txid, uint32_t lpn, uint32_t n) {
    enum ftl_error error = FTL_OK;
    while (n > 0 && error == FTL_OK) {
        uint32_t room = f->geometry.tx_slots - t->items[txid], now = n < room ? n : room;
        uint32_t *item = hal_tx_area(txid) + 2 * t->items[txid];
        t->items[txid] += now;
        n -= now;
        for (; now > 0; now--, item += 2) {
            item[0] = lpn++;
            item[1] = FTL_WORD_NONE;
        }
        if (n == 0) break;
        error = ftl_txlist_add(f, t, txid, lpn++, FTL_WORD_NONE); /* finds room */
        n--;
    }
    return error;
}

void ftl_txlist_compact(const struct ftl *f, struct ftl_txlist *t, uint32_t txid) {
    t->items[txid] = compact(f, hal_tx_area(txid), t->items[txid]);
}

void ftl_txlist_apply(const struct ftl_txlist *t, uint32_t txid) {
    const uint32_t *item = hal_tx_area(txid);
    for (uint32_t n = t->items[txid]; n > 0; n--, item += 2) ftl_map_set(item[0], ftl_word_of_log(item[1]));
}

void ftl_txlist_relocate(struct ftl_txlist *t, uint32_t lpn, uint32_t from, uint32_t to) {
    for (uint32_t txid = 0; txid < FTL_TXIDS; txid++) {
        uint32_t *item = hal_tx_area(txid);
        for (uint32_t n = t->items[txid]; n > 0; n--, item += 2)
            if (item[0] == lpn && item[1] == from) item[1] = to;
    }
}
