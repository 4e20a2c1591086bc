/* SPDX-License-Identifier: Apache-2.0 */
#include "memtest.h"

/* No two addresses have the same word: the multiplier is odd. */
static uint32_t word_of(uint32_t address) { return (address >> 2) * 2654435761u; }

static bool same(uint32_t window, uint32_t address, uint32_t wrote, struct memtest_fault *fault) {
    uint32_t read = mem_peek(address);
    if (read == wrote) return true;
    *fault = (struct memtest_fault){window, address, wrote, read};
    return false;
}

/* The first word and the ones at 4, 8, 16 ... bytes: all are written in all memories before the first is read. */
static bool address_lines(const struct memtest_window *windows, uint32_t count, struct memtest_fault *fault) {
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t offset = 0; offset < windows[i].bytes; offset = offset == 0 ? 4 : offset << 1) {
                uint32_t address = windows[i].base + offset, word = word_of(address);
                if (pass == 0) mem_poke(address, word);
                else if (!same(i, address, word, fault)) return false;
            }
    return true;
}

static bool block(const struct memtest_window *windows, uint32_t count, struct memtest_fault *fault) {
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t offset = 0; offset < windows[i].bytes && offset < MEMTEST_BLOCK_BYTES; offset += 4) {
                uint32_t address = windows[i].base + offset, word = word_of(address);
                if (pass == 0) mem_poke(address, word);
                else if (!same(i, address, word, fault)) return false;
            }
    return true;
}

bool memtest(const struct memtest_window *windows, uint32_t count, struct memtest_fault *fault) {
    return address_lines(windows, count, fault) && block(windows, count, fault);
}
