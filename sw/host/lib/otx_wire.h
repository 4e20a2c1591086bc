// SPDX-License-Identifier: Apache-2.0
// Frames of the drive's command socket: what both ends of it know (docs/interfaces/command-socket.md has the tables).
//
// A frame is packed into bytes here and taken out of them again, little endian, whatever the machine is. Only the drive
// (sim/command_socket.cpp) and libotx (wire.c) include this; a program includes otx.h. C11 and C++.
#ifndef OTX_WIRE_H
#define OTX_WIRE_H

#include <stdint.h>
#include <string.h>

enum {
    OTX_WIRE_VERSION = 1,
    OTX_WIRE_HELLO = 64,          // bytes of the drive's greeting
    OTX_WIRE_GREETING = 16,       // of the client's
    OTX_WIRE_HEADER = 32,         // of a command before its data
    OTX_WIRE_ANSWER_HEADER = 40,  // of an answer
    OTX_WIRE_BLOCK = 4096,        // of a block of data
    OTX_WIRE_MAX_BLOCKS = 32,     // of a frame
    OTX_WIRE_UNDER_WAY = 32,      // commands of one client
    OTX_WIRE_MAX_WORDS = 200,     // bytes of last words
    OTX_WIRE_PRESET_BYTES = 24    // of the preset's name, 0 behind it
};
#define OTX_WIRE_DRIVE_MAGIC "OTXDRIVE"
#define OTX_WIRE_CLIENT_MAGIC "OTXHOST1"

// Flags of a client's greeting.
enum { OTX_WIRE_KEEP = 1 };  // its transactions stay open when it goes

// Flags of a command.
enum {
    OTX_WIRE_HAS_TX = 1,
    OTX_WIRE_FUA = 2,
    OTX_WIRE_COMMIT = 4,
    OTX_WIRE_RELAXED = 8,
    OTX_WIRE_BARRIER = 16,
    OTX_WIRE_ORDERLESS = 32,
    OTX_WIRE_FLAGS = 63  // all of them
};

// Kinds of an answer.
enum { OTX_WIRE_ANSWER = 0, OTX_WIRE_LAST_WORDS = 1 };

struct otx_wire_hello {
    uint32_t version, lbas, tx_entries, clock_ps, under_way;
    uint64_t clock;
    char preset[OTX_WIRE_PRESET_BYTES + 1];
};

struct otx_wire_command {
    uint32_t bytes;  // of the frame
    uint8_t opcode, txid, flags, order, priority, rest;
    uint64_t id;
    uint32_t lba, arg;
    uint16_t count, stream;
};

struct otx_wire_answer {
    uint32_t bytes;  // of the frame
    uint8_t kind, status;
    uint64_t id, clock, begun;
    uint32_t result, blocks;
};

static inline void otx_wire_put(uint8_t *to, uint64_t number, int bytes) {
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(number >> (8 * i));
}

static inline uint64_t otx_wire_get(const uint8_t *from, int bytes) {
    uint64_t number = 0;
    for (int i = 0; i < bytes; i++) number |= (uint64_t)from[i] << (8 * i);
    return number;
}

static inline void otx_wire_put_hello(uint8_t *to, const struct otx_wire_hello *h) {
    memset(to, 0, OTX_WIRE_HELLO);
    memcpy(to, OTX_WIRE_DRIVE_MAGIC, 8);
    otx_wire_put(to + 8, h->version, 4);
    otx_wire_put(to + 12, h->lbas, 4);
    otx_wire_put(to + 16, h->tx_entries, 4);
    otx_wire_put(to + 20, h->clock_ps, 4);
    otx_wire_put(to + 24, h->under_way, 4);
    otx_wire_put(to + 32, h->clock, 8);
    memcpy(to + 40, h->preset, strnlen(h->preset, OTX_WIRE_PRESET_BYTES));
}

// 0, or -1: this is no drive.
static inline int otx_wire_get_hello(const uint8_t *from, struct otx_wire_hello *h) {
    h->version = (uint32_t)otx_wire_get(from + 8, 4);
    h->lbas = (uint32_t)otx_wire_get(from + 12, 4);
    h->tx_entries = (uint32_t)otx_wire_get(from + 16, 4);
    h->clock_ps = (uint32_t)otx_wire_get(from + 20, 4);
    h->under_way = (uint32_t)otx_wire_get(from + 24, 4);
    h->clock = otx_wire_get(from + 32, 8);
    memcpy(h->preset, from + 40, OTX_WIRE_PRESET_BYTES);
    h->preset[OTX_WIRE_PRESET_BYTES] = 0;
    return memcmp(from, OTX_WIRE_DRIVE_MAGIC, 8) ? -1 : 0;
}

static inline void otx_wire_put_greeting(uint8_t *to, uint32_t version, uint32_t flags) {
    memcpy(to, OTX_WIRE_CLIENT_MAGIC, 8);
    otx_wire_put(to + 8, version, 4);
    otx_wire_put(to + 12, flags, 4);
}

static inline void otx_wire_put_command(uint8_t *to, const struct otx_wire_command *c) {
    otx_wire_put(to, c->bytes, 4);
    to[4] = c->opcode;
    to[5] = c->txid;
    to[6] = c->flags;
    to[7] = c->order;
    otx_wire_put(to + 8, c->id, 8);
    otx_wire_put(to + 16, c->lba, 4);
    otx_wire_put(to + 20, c->count, 2);
    otx_wire_put(to + 22, c->stream, 2);
    otx_wire_put(to + 24, c->arg, 4);
    otx_wire_put(to + 28, c->priority, 4);
}

// `rest`: 0 if the bytes that mean nothing are 0.
static inline void otx_wire_get_command(const uint8_t *from, struct otx_wire_command *c) {
    c->bytes = (uint32_t)otx_wire_get(from, 4);
    c->opcode = from[4];
    c->txid = from[5];
    c->flags = from[6];
    c->order = from[7];
    c->id = otx_wire_get(from + 8, 8);
    c->lba = (uint32_t)otx_wire_get(from + 16, 4);
    c->count = (uint16_t)otx_wire_get(from + 20, 2);
    c->stream = (uint16_t)otx_wire_get(from + 22, 2);
    c->arg = (uint32_t)otx_wire_get(from + 24, 4);
    c->priority = from[28];
    c->rest = from[29] | from[30] | from[31];
}

static inline void otx_wire_put_answer(uint8_t *to, const struct otx_wire_answer *a) {
    otx_wire_put(to, a->bytes, 4);
    to[4] = a->kind;
    to[5] = a->status;
    otx_wire_put(to + 6, 0, 2);
    otx_wire_put(to + 8, a->id, 8);
    otx_wire_put(to + 16, a->result, 4);
    otx_wire_put(to + 20, a->blocks, 4);
    otx_wire_put(to + 24, a->clock, 8);
    otx_wire_put(to + 32, a->begun, 8);
}

static inline void otx_wire_get_answer(const uint8_t *from, struct otx_wire_answer *a) {
    a->bytes = (uint32_t)otx_wire_get(from, 4);
    a->kind = from[4];
    a->status = from[5];
    a->id = otx_wire_get(from + 8, 8);
    a->result = (uint32_t)otx_wire_get(from + 16, 4);
    a->blocks = (uint32_t)otx_wire_get(from + 20, 4);
    a->clock = otx_wire_get(from + 24, 8);
    a->begun = otx_wire_get(from + 32, 8);
}

#endif
