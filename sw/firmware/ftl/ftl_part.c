/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_part.h"

#define MICRON 0x2cu /* JEDEC ID of the maker */
#define ID(a, b, c, d, e) \
    ((uint64_t)(a) | (uint64_t)(b) << 8 | (uint64_t)(c) << 16 | (uint64_t)(d) << 24 | (uint64_t)(e) << 32)

/* Modes: those whose times are not shorter than the part's own in any place, as far as its times are known
 * (docs/boards.md); mode 0 is for all.
 * K9F8G08U0M: tCLS, tALS and tDS of 12 ns are more than mode 3 keeps. IDs and sizes of the others: Linux,
 * drivers/mtd/nand/raw/nand_ids.c. */
static const struct ftl_part table[] = {
    {.id = ID(0xec, 0xd3, 0x10, 0xa6, 0x64),
     .name = "Samsung K9F8G08U0M",
     .page_bytes = 4096,
     .spare_bytes = 128,
     .pages = 64,
     .blocks = 4096,
     .luns = 1,
     .modes = 7,
     .capabilities = FTL_CAN_MULTI_PLANE},
    {.id = ID(0x98, 0xdc, 0x90, 0x26, 0x76),
     .name = "Toshiba TC58NVG2S0F",
     .page_bytes = 4096,
     .spare_bytes = 224,
     .pages = 64,
     .blocks = 2048,
     .luns = 1,
     .modes = 1},
    {.id = ID(0x98, 0xd3, 0x90, 0x26, 0x76),
     .name = "Toshiba TC58NVG3S0F",
     .page_bytes = 4096,
     .spare_bytes = 232,
     .pages = 64,
     .blocks = 4096,
     .luns = 1,
     .modes = 1},
};

bool ftl_part_of_id(uint64_t id, struct ftl_part *part) {
    for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].id == id) {
            *part = table[i];
            return true;
        }
    return false;
}

static uint32_t byte_at(const uint32_t *words, uint32_t at) { return words[at / 4] >> 8 * (at % 4) & 0xffu; }

static uint32_t number(const uint32_t *words, uint32_t at, uint32_t bytes) {
    uint32_t n = 0;
    while (bytes-- > 0) n = n << 8 | byte_at(words, at + bytes);
    return n;
}

/* ONFI 4.0 section 5.7.1: polynomial 8005h, initial value 4F4Eh, over the first 254 bytes; four bits at a time. */
static bool whole(const uint32_t *copy) {
    static const uint16_t step[16] = {0x0000, 0x8005, 0x800f, 0x000a, 0x801b, 0x001e, 0x0014, 0x8011,
                                      0x8033, 0x0036, 0x003c, 0x8039, 0x0028, 0x802d, 0x8027, 0x0022};
    uint32_t crc = 0x4f4e;
    for (uint32_t i = 0; i < FTL_PARAM_BYTES - 2; i++) {
        uint32_t byte = byte_at(copy, i);
        crc = (crc << 4 & 0xffffu) ^ step[crc >> 12 ^ byte >> 4];
        crc = (crc << 4 & 0xffffu) ^ step[crc >> 12 ^ (byte & 15u)];
    }
    return crc == number(copy, FTL_PARAM_BYTES - 2, 2) && copy[0] == (uint32_t)FTL_ONFI;
}

/* Text of a field without the spaces at its end; returns where the next one goes. */
static uint32_t text(char *to, uint32_t at, const uint32_t *copy, uint32_t from, uint32_t bytes) {
    uint32_t end = at;
    for (uint32_t i = 0; i < bytes; i++) {
        uint32_t c = byte_at(copy, from + i);
        to[at++] = c >= ' ' && c <= '~' ? (char)c : ' ';
        if (to[at - 1] != ' ') end = at;
    }
    return end;
}

/* Read levels beyond level 0. The vendor's block of the page, which starts at byte 164 with its revision, is known of
 * one maker; byte 180 counts all levels (Linux, drivers/mtd/nand/raw/nand_micron.c). */
static uint32_t retries(const uint32_t *copy) {
    uint32_t levels = byte_at(copy, 180);
    if (byte_at(copy, 64) != MICRON || number(copy, 164, 2) == 0 || levels == 0) return 0;
    return levels - 1;
}

static void parse(const uint32_t *copy, struct ftl_part *part) {
    uint32_t features = number(copy, 6, 2), optional = number(copy, 8, 2), at;
    at = text(part->name, 0, copy, 32, 12);
    if (at != 0) part->name[at++] = ' ';
    part->name[text(part->name, at, copy, 44, 20)] = 0;
    part->onfi = true;
    part->page_bytes = number(copy, 80, 4);
    part->spare_bytes = (uint16_t)number(copy, 84, 2);
    part->pages = number(copy, 92, 4);
    part->blocks = number(copy, 96, 4);
    part->luns = number(copy, 100, 1);
    part->modes = (number(copy, 129, 2) & 0x3fu) | 1u;
    part->capabilities = (optional & 4 ? FTL_CAN_SET_FEATURES : 0u) | (optional & 2 ? FTL_CAN_CACHE_READ : 0u) |
                         (optional & 1 ? FTL_CAN_CACHE_PROGRAM : 0u) | (optional & 8 ? FTL_CAN_STATUS_ENHANCED : 0u) |
                         (features & 8 ? FTL_CAN_MULTI_PLANE : 0u) | (features & 64 ? FTL_CAN_MULTI_PLANE_READ : 0u);
    part->planes = part->capabilities & FTL_CAN_MULTI_PLANE ? 1u << (byte_at(copy, 113) & 15u) : 1u;
    part->retries = part->capabilities & FTL_CAN_SET_FEATURES ? retries(copy) : 0;
    if (part->retries != 0) part->capabilities |= FTL_CAN_READ_RETRY;
    if (features & 1) part->page_bytes = 0; /* 16 data lines: no page of this drive */
}

bool ftl_part_of_page(uint32_t *words, struct ftl_part *part) {
    const uint32_t n = FTL_PARAM_BYTES / 4;
    for (uint32_t c = 0; c < FTL_PARAM_COPIES; c++)
        if (whole(words + c * n)) {
            part->copy = (uint8_t)c;
            parse(words + c * n, part);
            return true;
        }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = words[i], b = words[n + i], c = words[2 * n + i];
        words[i] = (a & b) | (a & c) | (b & c);
    }
    if (!whole(words)) return false;
    part->copy = FTL_PARAM_COPIES;
    parse(words, part);
    return true;
}

uint32_t ftl_part_use(const struct ftl_part *p, const struct ftl_geometry *g) {
    bool cache_ops = g->cache_ops != 0;
    uint32_t levels = p->retries < g->read_retries ? p->retries : g->read_retries;
    if (!p->onfi) return 0;
    return (p->capabilities & FTL_CAN_CACHE_PROGRAM && cache_ops ? 1u : 0u) |
           (p->capabilities & FTL_CAN_CACHE_READ && cache_ops ? 2u : 0u) |
           (g->planes > 1 && p->planes == g->planes ? 4u : 0u) | (p->capabilities & FTL_CAN_STATUS_ENHANCED ? 8u : 0u) |
           levels << 4;
}

bool ftl_part_same(const struct ftl_part *a, const struct ftl_part *b) {
    return a->id == b->id && a->page_bytes == b->page_bytes && a->spare_bytes == b->spare_bytes &&
           a->pages == b->pages && a->blocks == b->blocks && a->luns == b->luns && a->modes == b->modes &&
           a->capabilities == b->capabilities && a->planes == b->planes && a->retries == b->retries;
}
