/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_prepared.h"

#include "ftl_blocks.h"
#include "ftl_map_blocks.h"

#define COPIES FTL_PREPARED_COPIES

/* Reads page `number` of either copy into FTL_FRAME_DIRECTORY. */
static bool read_page(struct ftl *f, uint32_t number, const uint32_t *ppns) {
    for (uint32_t c = 0; c < COPIES; c++) {
        struct hal_nand_op o = {.op = HAL_READ, .ppn = ppns[c], .frame = FTL_FRAME_DIRECTORY};
        struct hal_nand_done d;
        if (!ftl_block_exists(&f->geometry, ppns[c] >> f->geometry.page_bits)) continue;
        ftl_io_one(&f->io, &o, &d);
        if (d.status == FTL_PAGE_OK && d.kind == FTL_KIND_PREPARED && d.lpn == number &&
            d.generation == f->old_root.generation)
            return true;
    }
    return false;
}

/* As what the map names: in LIVE, too, until that begins anew. It was not erased since the root. */
static void busy_and_live(struct ftl *f, uint32_t block_id) {
    ftl_blocks_busy(f, block_id);
    ftl_blocks_live(f, block_id);
}

/* One record; *txid is the transaction that the last record has named. */
static enum ftl_error take_record(struct ftl *f, struct ftl_replay *r, const uint32_t *record, uint32_t *txid) {
    if (record[0] & FTL_PREPARED_TX) {
        *txid = record[0] & ~FTL_PREPARED_TX;
        if (*txid >= FTL_TXIDS) return FTL_ERR_MAP;
        r->tx[*txid] =
            (struct ftl_tx_seen){.serial = FTL_FIRST_USE(*txid), .seen = record[1], .whole = true, .prepared = true};
        return FTL_OK;
    }
    uint32_t kind = FTL_WORD_KIND(record[1]), block = FTL_WORD_VALUE(record[1]) >> f->geometry.page_bits;
    bool nand = kind == FTL_WORD_KIND_NAND && ftl_block_exists(&f->geometry, block);
    if (*txid == FTL_TXIDS || record[0] >= f->geometry.lbas || !(nand || record[1] == FTL_WORD_NONE))
        return FTL_ERR_MAP;
    if (nand) busy_and_live(f, block);
    return ftl_txlist_add(f, &r->lists, *txid, record[0], record[1]);
}

enum ftl_error ftl_prepared_load(struct ftl *f, struct ftl_replay *r) {
    uint32_t ppns[COPIES] = {f->old_root.prepared[0] - 1, f->old_root.prepared[1] - 1}, txid = FTL_TXIDS;
    if (f->old_root.prepared[0] == 0) return FTL_OK;
    for (uint32_t page = 0; ppns[0] != FTL_NO_PPN; page++) {
        for (uint32_t c = 0; c < COPIES; c++)
            if (ftl_block_exists(&f->geometry, ppns[c] >> f->geometry.page_bits))
                busy_and_live(f, ppns[c] >> f->geometry.page_bits);
        if (!read_page(f, page, ppns)) return FTL_ERR_MAP;
        const uint32_t *w = hal_frame(FTL_FRAME_DIRECTORY);
        if (w[0] > FTL_PREPARED_RECORDS) return FTL_ERR_MAP;
        for (uint32_t i = 0; i < w[0]; i++) {
            enum ftl_error error = take_record(f, r, w + FTL_PREPARED_RECORD + 2 * i, &txid);
            if (error != FTL_OK) return error;
        }
        for (uint32_t c = 0; c < COPIES; c++) ppns[c] = w[1 + c];
    }
    return FTL_OK;
}

void ftl_prepared_keep(struct ftl *f, struct ftl_replay *r) {
    f->prepared.txids = 0;
    for (uint32_t t = 0; t < FTL_TXIDS; t++) {
        f->prepared.items[t] = 0;
        if (!r->tx[t].prepared) continue;
        ftl_txlist_compact(f, &r->lists, t);
        f->prepared.txids |= 1u << t;
        f->prepared.items[t] = r->lists.items[t];
    }
}

/* A place among the records of all transactions. */
struct place {
    uint32_t txid, i; /* i 0: the record that names the transaction */
};

static bool is_prepared(const struct ftl *f, uint32_t txid) { return (f->prepared.txids >> txid & 1u) != 0; }

static struct place find(const struct ftl *f, uint32_t i) {
    uint32_t t = 0;
    for (; t < FTL_TXIDS; t++) {
        if (!is_prepared(f, t)) continue;
        if (i <= f->prepared.items[t]) break;
        i -= 1 + f->prepared.items[t];
    }
    return (struct place){.txid = t, .i = i};
}

/* The next record; false: there are no more. */
static bool take(const struct ftl *f, struct place *p, uint32_t *record) {
    while (p->txid < FTL_TXIDS && (!is_prepared(f, p->txid) || p->i > f->prepared.items[p->txid]))
        *p = (struct place){.txid = p->txid + 1};
    if (p->txid == FTL_TXIDS) return false;
    const uint32_t *item = hal_tx_area(p->txid) + 2 * (p->i == 0 ? 0 : p->i - 1);
    record[0] = p->i == 0 ? FTL_PREPARED_TX | p->txid : item[0];
    record[1] = p->i == 0 ? f->prepared.items[p->txid] : item[1];
    p->i++;
    return true;
}

static uint32_t pages(const struct ftl *f) {
    uint32_t records = 0;
    for (uint32_t t = 0; t < FTL_TXIDS; t++) records += is_prepared(f, t) ? 1 + f->prepared.items[t] : 0;
    return (records + FTL_PREPARED_RECORDS - 1) / FTL_PREPARED_RECORDS;
}

uint32_t ftl_prepared_pages_now(const struct ftl *f) { return COPIES * pages(f); }

enum ftl_error ftl_prepared_store(struct ftl *f, struct ftl_root *root, struct ftl_writer *writer) {
    uint32_t *w = hal_frame(FTL_FRAME_POOL), ppns[COPIES] = {FTL_NO_PPN, FTL_NO_PPN};
    root->prepared[0] = root->prepared[1] = 0;
    if (f->prepared.txids == 0) return FTL_OK;
    for (uint32_t t = 0; t < FTL_TXIDS; t++)
        for (uint32_t i = 0; i < f->prepared.items[t]; i++) {
            uint32_t word = hal_tx_area(t)[2 * i + 1];
            if (word != FTL_WORD_NONE) ftl_blocks_live(f, FTL_WORD_VALUE(word) >> f->geometry.page_bits);
        }
    /* from the last page to the first: each names the one behind it */
    for (uint32_t page = pages(f); page-- > 0;) {
        struct place at = find(f, page * FTL_PREPARED_RECORDS);
        uint32_t n = 0;
        while (n < FTL_PREPARED_RECORDS && take(f, &at, w + FTL_PREPARED_RECORD + 2 * n)) n++;
        for (uint32_t i = FTL_PREPARED_RECORD + 2 * n; i < FTL_PAGE_WORDS; i++) w[i] = 0;
        w[0] = n;
        w[3] = 0;
        for (uint32_t c = 0; c < COPIES; c++) w[1 + c] = ppns[c];
        struct ftl_write write = {.kind = FTL_KIND_PREPARED, .number = page, .frame = FTL_FRAME_POOL};
        enum ftl_error error = ftl_writer_put_twice(f, writer, write, ppns, 1);
        if (error == FTL_OK) error = ftl_writer_drain(f, writer);
        if (error != FTL_OK) return error;
        for (uint32_t c = 0; c < COPIES; c++) ftl_map_blocks_pin(f, ppns[c] >> f->geometry.page_bits);
    }
    for (uint32_t c = 0; c < COPIES; c++) root->prepared[c] = ppns[c] + 1;
    return FTL_OK;
}

/* A table entry is twice as long as an item: from the last one to the first no item is overwritten before it is read.
 */
static void open_one(uint32_t txid, uint32_t items) {
    uint32_t *area = hal_tx_area(txid), *map = hal_map();
    for (uint32_t i = items; i-- > 0;) {
        uint32_t lpn = area[2 * i], word = area[2 * i + 1], *entry = area + 4 * i;
        entry[0] = lpn;
        entry[1] = word;
        entry[2] = map[lpn];
        entry[3] = 0;
        map[lpn] = FTL_WORD(FTL_WORD_KIND_VER, txid << OTX_TX_STRIDE_BITS | i);
    }
    hal_tx_prepared(txid, items);
}

void ftl_prepared_open(struct ftl *f) {
    for (uint32_t t = 0; t < FTL_TXIDS; t++)
        if (is_prepared(f, t)) open_one(t, f->prepared.items[t]);
    f->report.prepared = f->prepared.txids;
}
