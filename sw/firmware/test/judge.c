/* SPDX-License-Identifier: Apache-2.0 */
/* The contract's "Across a power cut" (docs/contract.md, guarantees 7 to 10), asked of the mounted map. Knows nothing
 * of logs. */
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
    for (uint32_t h = 0; h < drive.items; h++) {
        const struct drive_item *item = &drive.item[h];
        bool there = seen[h] || (item->kind == ITEM_COMMIT && (int)h <= last_commit); /* commits are a prefix */
        for (uint32_t i = 0; i < DRIVE_LPNS && there; i++) /* whole: each block holds this or something later */
            if (writes(item, drive_lpn(i), &v)) CHECK(show[i] >= (int)h);
    }
}
