// SPDX-License-Identifier: Apache-2.0
#include "model_drive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otx.h"

enum kind { PLAIN, RELAXED, DURABLE };

struct block {  // a version of a block; in a list of a transaction, or of what has completed
    struct block *next;
    uint32_t lba;
    enum kind kind;
    int command;  // those of one command live and die together
    uint8_t data[OTX_BLOCK];
};

struct model_drive model;
static uint8_t base[MODEL_LBAS][OTX_BLOCK], seen[MODEL_LBAS][OTX_BLOCK];  // durable; visible
static struct block *done, *tx[OTX_TXIDS];                                // newest first
static bool open_tx[OTX_TXIDS];
static uint32_t entries[OTX_TXIDS];

static void drop(struct block **list) {
    while (*list) {
        struct block *b = *list;
        *list = b->next;
        free(b);
    }
}

static void add(struct block **list, uint32_t lba, const void *data, enum kind kind, int command) {
    struct block *b = malloc(sizeof *b);
    if (!b) abort();
    *b = (struct block){.next = *list, .lba = lba, .kind = kind, .command = command};
    memcpy(b->data, data, OTX_BLOCK);
    *list = b;
}

static struct block *reversed(struct block *list) {
    struct block *out = NULL;
    while (list) {
        struct block *next = list->next;
        list->next = out;
        out = list;
        list = next;
    }
    return out;
}

static void forget_transactions(void) {
    for (int t = 0; t < OTX_TXIDS; t++) {
        drop(&tx[t]);
        open_tx[t] = false;
        entries[t] = 0;
    }
}

void model_new(uint32_t most) {
    drop(&done);
    forget_transactions();
    memset(base, 0, sizeof base);
    memset(seen, 0, sizeof seen);
    model = (struct model_drive){.entries = most, .identity = ""};
}

void model_restart(unsigned seed) {
    struct block *events = reversed(done);
    int relaxed = 0, kept = 0, last = 0, count = 0;
    for (const struct block *b = events; b; b = b->next) {
        if (b->kind != PLAIN && b->command != last) relaxed++, last = b->command;
        if (b->kind == DURABLE) kept = relaxed;
    }
    kept += relaxed > kept ? (int)(seed % (unsigned)(relaxed - kept + 1)) : 0;
    last = 0;
    while (events) {
        struct block *b = events;
        if (b->kind != PLAIN && b->command != last) count++, last = b->command;
        const unsigned coin = (unsigned)b->command * 2654435761u ^ seed * 40503u;
        if (b->kind == PLAIN ? coin >> 7 & 1 : count <= kept) memcpy(base[b->lba], b->data, OTX_BLOCK);
        events = b->next;
        free(b);
    }
    done = NULL;
    forget_transactions();
    memcpy(seen, base, sizeof seen);
    model.off = false;
    model.cut_at = model.fail_at = 0;
}

const uint8_t *model_block(uint32_t lba) { return seen[lba]; }

int model_open_transactions(void) {
    int n = 0;
    for (int t = 0; t < OTX_TXIDS; t++) n += open_tx[t];
    return n;
}

// What the command must return at once; 0: it is carried out, and `leave` says what it returns then.
static int enter(bool read) {
    if (model.off) return OTX_ERROR_CLOSED;
    if (read && !model.reads_count) return 0;
    model.commands++;
    if (model.after) return 0;
    if (model.commands == model.cut_at) {
        model.off = true;
        return OTX_ERROR_CLOSED;
    }
    return model.commands == model.fail_at ? model.status : 0;
}

static int leave(int status, bool commit) {
    if (model.after && model.commands == model.cut_at) {
        model.off = true;
        return OTX_ERROR_CLOSED;
    }
    return model.after && commit && model.commands == model.fail_at ? model.status : status;
}

static int end(int txid, bool commit, enum kind kind) {
    if (!open_tx[txid]) return OTX_STATUS_TX_INVALID;
    tx[txid] = reversed(tx[txid]);
    for (const struct block *b = tx[txid]; b && commit; b = b->next) {
        memcpy(seen[b->lba], b->data, OTX_BLOCK);
        add(&done, b->lba, b->data, kind, model.commands);
    }
    drop(&tx[txid]);
    open_tx[txid] = false;
    entries[txid] = 0;
    return 0;
}

static enum kind kind_of(unsigned flags) { return flags & OTX_PORT_RELAXED ? RELAXED : DURABLE; }

static int m_read(void *context, uint32_t lba, uint32_t count, void *data, int txid) {
    (void)context;
    const int error = enter(true);
    if (error) return error;
    model.reads++;
    if (!count || count > OTX_MAX_BLOCKS) return OTX_STATUS_INVALID_FIELD;
    if (lba + count > MODEL_LBAS) return OTX_STATUS_LBA_RANGE;
    memcpy(data, seen[lba], (size_t)count * OTX_BLOCK);
    for (uint32_t i = 0; i < count && txid >= 0; i++) {
        const struct block *b = tx[txid];
        while (b && b->lba != lba + i) b = b->next;
        if (b) memcpy((uint8_t *)data + (size_t)i * OTX_BLOCK, b->data, OTX_BLOCK);
    }
    return model.reads_count ? leave(0, false) : 0;
}

static int write_blocks(uint32_t lba, uint32_t count, const uint8_t *data, int txid, unsigned flags) {
    static const uint8_t zeroes[OTX_BLOCK];
    if (!count || count > OTX_MAX_BLOCKS) return OTX_STATUS_INVALID_FIELD;
    if (lba + count > MODEL_LBAS) return OTX_STATUS_LBA_RANGE;
    if (txid >= 0 && entries[txid] + count > model.entries) return OTX_STATUS_TX_FULL;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = data ? data + (size_t)i * OTX_BLOCK : zeroes;
        if (txid >= 0) {
            add(&tx[txid], lba + i, from, PLAIN, 0);
        } else {
            memcpy(seen[lba + i], from, OTX_BLOCK);
            add(&done, lba + i, from, PLAIN, model.commands);
        }
    }
    if (txid < 0) return 0;
    open_tx[txid] = true;
    entries[txid] += count;
    if (!(flags & OTX_PORT_COMMIT)) return 0;
    model.commits++;
    return end(txid, true, kind_of(flags));
}

static int m_write(void *context, uint32_t lba, uint32_t count, const void *data, int txid, unsigned flags) {
    (void)context;
    const int error = enter(false);
    if (error) return error;
    model.writes++;
    return leave(write_blocks(lba, count, data, txid, flags), flags & OTX_PORT_COMMIT);
}

static int m_begin(void *context, int txid) {
    (void)context;
    const int error = enter(false);
    if (error) return error;
    model.begins++;
    if (open_tx[txid]) return OTX_STATUS_TX_BUSY;
    open_tx[txid] = true;
    return leave(0, false);
}

static int m_commit(void *context, int txid, unsigned flags) {
    (void)context;
    const int error = enter(false);
    if (error) return error;
    model.commits++;
    return leave(end(txid, true, kind_of(flags)), true);
}

static int m_abort(void *context, int txid) {
    (void)context;
    const int error = enter(false);
    if (error) return error;
    model.aborts++;
    return leave(end(txid, false, PLAIN), false);
}

static int m_flush(void *context) {
    (void)context;
    const int error = enter(false);
    if (error) return error;
    model.flushes++;
    memcpy(base, seen, sizeof base);
    drop(&done);
    return leave(0, false);
}

static int m_trim(void *context, uint32_t lba, uint32_t count) {
    (void)context;
    const int error = enter(false);
    return error ? error : leave(write_blocks(lba, count, NULL, -1, 0), false);
}

static const char *m_words(void *context, int error) {
    (void)context;
    return otx_words(error);
}

static void m_close(void *context) { (void)context; }

int model_open(const char *path, struct otx_port *port, char *why, size_t size) {
    static const struct otx_port_methods methods = {m_read,  m_write, m_begin, m_commit, m_abort,
                                                    m_flush, m_trim,  m_words, m_close};
    if (model.off) return snprintf(why, size, "%s: power is off", path), OTX_ERROR_CONNECT;
    *port = (struct otx_port){.methods = &methods, .lbas = MODEL_LBAS, .tx_entries = model.entries};
    snprintf(port->identity, sizeof port->identity, "%s", model.identity);
    return 0;
}
