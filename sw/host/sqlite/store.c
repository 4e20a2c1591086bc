// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "otx.h"

static void put(uint8_t *to, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *from, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;) value = value << 8 | from[i];
    return value;
}

static uint64_t room(const struct store *s) { return (uint64_t)(s->blocks - 1) * OTX_BLOCK; }

static uint32_t lba_of(const struct store *s, uint32_t block) { return s->first + 1 + block; }

static int txid_of(const struct store *s) { return s->open ? s->txid : -1; }

static void forget(struct store *s) {
    s->open = false;
    s->run_blocks = 0;
    s->size = s->kept;
}

static int say(struct store *s, int error, const char *words) {
    snprintf(s->message, sizeof s->message, "%s", words);
    return error;
}

// Whether calls may go on.
static int usable(struct store *s) {
    if (s->lost) return say(s, STORE_LOST, "nobody knows what became of the last commit: open the database again");
    return s->dropped ? STORE_DROPPED : 0;
}

// Drops the open transaction on the drive too.
static int drop(struct store *s) {
    if (!s->open) return 0;
    forget(s);
    s->counts.aborts++;
    const int error = s->port.methods->abort(s->port.context, s->txid);
    if (error) s->lost = true;
    return error;
}

int store_abort(struct store *s) {
    if (s->lost) return usable(s);
    s->dropped = false;
    const int error = drop(s);
    return error ? say(s, error, s->port.methods->words(s->port.context, error)) : 0;
}

// A change failed.
static int failed(struct store *s, int error, const char *words) {
    say(s, error, words);
    if (error < 0) {
        forget(s);
        s->lost = true;
        return error;
    }
    s->dropped = s->open;
    drop(s);
    return error;
}

static int checked(struct store *s, int error) {
    return error ? failed(s, error, s->port.methods->words(s->port.context, error)) : 0;
}

int store_refuse(struct store *s, const char *words) { return failed(s, STORE_REFUSED, words); }

static int send(struct store *s, uint32_t lba, uint32_t count, const void *data, unsigned flags) {
    s->counts.writes++;
    s->counts.blocks_written += count;
    return checked(s, s->port.methods->write(s->port.context, lba, count, data, txid_of(s), flags));
}

static int send_run(struct store *s, unsigned flags) {
    const uint32_t count = s->run_blocks;
    s->run_blocks = 0;
    return count ? send(s, lba_of(s, s->run), count, s->run_data, flags) : 0;
}

static int begin(struct store *s) {
    if (s->open) return 0;
    s->counts.begins++;
    const int error = checked(s, s->port.methods->begin(s->port.context, s->txid));
    if (!error) s->open = true;
    return error;
}

static void head(const struct store *s, uint8_t block[OTX_BLOCK]) {
    memset(block, 0, OTX_BLOCK);
    memcpy(block, STORE_MAGIC, 8);
    put(block + 8, STORE_VERSION, 4);
    put(block + 12, OTX_BLOCK, 4);
    put(block + 16, s->size, 8);
}

int store_open(struct store *s, const struct otx_port *port, uint32_t first, uint32_t blocks, uint8_t txid) {
    static const uint8_t zeroes[OTX_BLOCK];
    uint8_t block[OTX_BLOCK];
    *s = (struct store){.port = *port, .first = first, .blocks = blocks, .txid = txid};
    s->run_data = malloc((size_t)OTX_MAX_BLOCKS * OTX_BLOCK);
    if (!s->run_data) return say(s, OTX_ERROR_MEMORY, "no memory");
    // what a process that has died left open; TX_INVALID: nothing
    int error = port->methods->abort(port->context, txid);
    if (error && error != OTX_STATUS_TX_INVALID) return checked(s, error);
    s->counts.reads++;
    error = checked(s, port->methods->read(port->context, first, 1, block, -1));
    if (error || !memcmp(block, zeroes, sizeof block)) return error;
    if (memcmp(block, STORE_MAGIC, 8)) return say(s, STORE_FOREIGN, "its first block is not that of a database");
    if (get(block + 8, 4) != STORE_VERSION || get(block + 12, 4) != OTX_BLOCK)
        return say(s, STORE_FOREIGN, "the database is of another version of this VFS");
    s->size = s->kept = get(block + 16, 8);
    s->exists = true;
    if (s->size > room(s)) return say(s, STORE_FOREIGN, "the database is longer than its area: give it more blocks");
    return 0;
}

void store_close(struct store *s) {
    if (s->open && !s->lost) store_abort(s);
    free(s->run_data);
    s->run_data = NULL;
    s->port.methods->close(s->port.context);
}

// Whole blocks of the file, 32 at most.
static int read_blocks(struct store *s, uint32_t block, uint32_t count, uint8_t *to) {
    s->counts.reads++;
    const int error = s->port.methods->read(s->port.context, lba_of(s, block), count, to, txid_of(s));
    if (error) return checked(s, error);
    for (uint32_t i = 0; i < s->run_blocks; i++) {  // what has not been sent is newer
        const uint32_t at = s->run + i - block;
        if (at < count) memcpy(to + (size_t)at * OTX_BLOCK, s->run_data + (size_t)i * OTX_BLOCK, OTX_BLOCK);
    }
    return 0;
}

int store_read(struct store *s, void *data, uint32_t bytes, uint64_t offset) {
    uint8_t *to = data, block[OTX_BLOCK];
    int error = usable(s);
    if (error) return error;
    const uint64_t there = offset < s->size ? s->size - offset : 0;
    if (there < bytes) {
        memset(to + there, 0, bytes - (size_t)there);
        bytes = (uint32_t)there;
    }
    while (bytes) {
        const uint32_t at = (uint32_t)(offset % OTX_BLOCK), number = (uint32_t)(offset / OTX_BLOCK);
        const uint32_t most = OTX_MAX_BLOCKS * OTX_BLOCK, whole = at ? 0 : (bytes < most ? bytes : most) / OTX_BLOCK;
        uint32_t n = whole * OTX_BLOCK;
        if (whole) {
            error = read_blocks(s, number, whole, to);
        } else {
            n = bytes < OTX_BLOCK - at ? bytes : OTX_BLOCK - at;
            error = read_blocks(s, number, 1, block);
            if (!error) memcpy(to, block + at, n);
        }
        if (error) return error;
        to += n, offset += n, bytes -= n;
    }
    return 0;
}

// Where the bytes of a block of the file go until they are sent; what is in them is anything if the block is new there.
static int in_run(struct store *s, uint32_t block, uint8_t **place, bool *new_there) {
    const uint32_t at = block - s->run;
    *new_there = !s->run_blocks || block < s->run || at >= s->run_blocks;
    if (*new_there && s->run_blocks && (block < s->run || at != s->run_blocks || at == OTX_MAX_BLOCKS)) {
        const int error = send_run(s, 0);
        if (error) return error;
    }
    if (!s->run_blocks) s->run = block;
    if (*new_there) s->run_blocks++;
    *place = s->run_data + (size_t)(block - s->run) * OTX_BLOCK;
    return 0;
}

// Puts part of a block over what the block has.
static int write_part(struct store *s, const uint8_t *data, uint32_t bytes, uint32_t at, uint32_t block) {
    uint8_t old[OTX_BLOCK] = {0}, *place;
    bool new_there;
    int error = 0;
    if (bytes < OTX_BLOCK && (uint64_t)block * OTX_BLOCK < s->size) error = read_blocks(s, block, 1, old);
    if (!error) error = in_run(s, block, &place, &new_there);
    if (error) return error;
    if (bytes < OTX_BLOCK) memcpy(place, old, OTX_BLOCK);
    memcpy(place + at, data, bytes);
    return 0;
}

int store_write(struct store *s, const void *data, uint32_t bytes, uint64_t offset) {
    const uint8_t *from = data;
    int error = usable(s);
    if (error) return error;
    if (offset > room(s) || bytes > room(s) - offset) return failed(s, STORE_FULL, "the area of the database is full");
    error = begin(s);
    while (!error && bytes) {
        const uint32_t at = (uint32_t)(offset % OTX_BLOCK), left = OTX_BLOCK - at, n = bytes < left ? bytes : left;
        error = write_part(s, from, n, at, (uint32_t)(offset / OTX_BLOCK));
        from += n, offset += n, bytes -= n;
        if (!error && offset > s->size) s->size = offset;
    }
    return error;
}

int store_truncate(struct store *s, uint64_t size) {
    int error = usable(s);
    if (error || size == s->size) return error;
    if (size > room(s)) return failed(s, STORE_FULL, "the area of the database is full");
    const uint64_t old = s->size;
    const bool alone = !s->open;
    error = begin(s);
    if (error) return error;
    s->size = size;
    if (!alone) return 0;
    error = store_commit(s);
    const uint32_t end = (uint32_t)((old + OTX_BLOCK - 1) / OTX_BLOCK);
    // behind a relaxed commit they might be lost without it
    for (uint32_t b = (uint32_t)((size + OTX_BLOCK - 1) / OTX_BLOCK); !error && !s->relaxed && b < end;) {
        const uint32_t n = end - b < OTX_MAX_BLOCKS ? end - b : OTX_MAX_BLOCKS;
        s->counts.trims++;
        error = checked(s, s->port.methods->trim(s->port.context, lba_of(s, b), n));
        b += n;
    }
    return error;
}

int store_commit(struct store *s) {
    uint8_t block[OTX_BLOCK];
    const unsigned relaxed = s->relaxed ? OTX_PORT_RELAXED : 0, flags = OTX_PORT_COMMIT | relaxed;
    int error = usable(s);
    if (error || !s->open) return error;
    const bool resized = s->size != s->kept || !s->exists;
    if (resized) error = send_run(s, 0);
    if (error) return error;
    s->counts.commits++;
    if (resized) {
        head(s, block);
        error = send(s, s->first, 1, block, flags);
    } else if (s->run_blocks) {
        error = send_run(s, flags);
    } else {
        error = checked(s, s->port.methods->commit(s->port.context, s->txid, relaxed));
    }
    if (error) return error;
    s->open = false;
    s->exists = true;
    s->kept = s->size;
    return 0;
}

int store_flush(struct store *s) {
    const int error = usable(s);
    if (error) return error;
    s->counts.flushes++;
    return checked(s, s->port.methods->flush(s->port.context));
}
