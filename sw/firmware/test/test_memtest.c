/* SPDX-License-Identifier: Apache-2.0 */
/* The memory test of the board's firmware over a modelled DRAM with one fault at a time. */
#include <string.h>

#include "memtest.h"
#include "tests.h"

#define TABLE 0x40000000u
#define FRAME 0x60000000u
#define HALF (1u << 20)

static const struct memtest_window windows[] = {{"table", TABLE, HALF}, {"frame", FRAME, 3u * HALF / 4}};

static struct {
    uint32_t words[2 * HALF / 4];
    uint32_t stuck_low, stuck_high; /* data lines of the whole memory */
    uint32_t no_address;            /* address bits of the memory that are not connected */
    uint32_t dead;                  /* byte address of a word that always reads as 0, or ~0 */
    bool no_mask;                   /* a write reaches all four words of a 16-byte burst */
    bool silent;                    /* reads give what was last on the lines */
    uint32_t lines;
    uint32_t accesses;
} dram;

static uint32_t place(uint32_t address) {
    uint32_t offset = (address & (HALF - 1)) | (address >= FRAME ? HALF : 0);
    return (offset & ~dram.no_address) / 4;
}

uint32_t mem_peek(uint32_t address) {
    CHECK((address & 3u) == 0 && (address - TABLE < HALF || address - FRAME < windows[1].bytes));
    dram.accesses++;
    if (dram.silent) return dram.lines;
    if (place(address) * 4 == dram.dead) return 0;
    return (dram.words[place(address)] & ~dram.stuck_low) | dram.stuck_high;
}

void mem_poke(uint32_t address, uint32_t word) {
    CHECK((address & 3u) == 0 && (address - TABLE < HALF || address - FRAME < windows[1].bytes));
    dram.accesses++;
    dram.lines = word;
    for (uint32_t i = 0; i < 4; i++)
        if (dram.no_mask || (place(address) & 3u) == i) dram.words[(place(address) & ~3u) + i] = word;
}

static struct memtest_fault fault;

static bool good(void) { return memtest(windows, 2, &fault); }

static void new_dram(void) {
    memset(&dram, 0, sizeof dram);
    dram.dead = ~0u;
}

static void memory_that_works_passes_quickly(void) {
    new_dram();
    CHECK(good());
    CHECK(dram.accesses < 20000);
}

static void a_stuck_data_line_is_found(void) {
    for (uint32_t line = 0; line < 32; line++) {
        new_dram();
        dram.stuck_low = 1u << line;
        CHECK(!good() && (fault.wrote ^ fault.read) == 1u << line);
        new_dram();
        dram.stuck_high = 1u << line;
        CHECK(!good() && (fault.wrote ^ fault.read) == 1u << line);
    }
}

static void an_open_address_line_is_found(void) {
    for (uint32_t line = 2; line < 20; line++) {
        new_dram();
        dram.no_address = 1u << line;
        CHECK(!good());
    }
}

static void two_windows_on_one_place_are_found(void) {
    new_dram();
    dram.no_address = HALF;
    CHECK(!good() && fault.window == 0);
}

static void writes_without_byte_masks_are_found(void) {
    new_dram();
    dram.no_mask = true;
    CHECK(!good());
}

static void lines_that_only_keep_their_charge_are_found(void) {
    new_dram();
    dram.silent = true;
    CHECK(!good());
}

static void a_dead_word_of_the_first_blocks_is_found_and_named(void) {
    for (uint32_t offset = 4; offset < MEMTEST_BLOCK_BYTES; offset += 916) {
        new_dram();
        dram.dead = HALF + offset;
        CHECK(!good() && fault.window == 1 && fault.address == FRAME + offset && fault.read == 0 && fault.wrote != 0);
    }
}

const struct test memtest_tests[] = {
    {"memory that works passes quickly", memory_that_works_passes_quickly},
    {"a stuck data line is found", a_stuck_data_line_is_found},
    {"an open address line is found", an_open_address_line_is_found},
    {"two windows on one place are found", two_windows_on_one_place_are_found},
    {"writes without byte masks are found", writes_without_byte_masks_are_found},
    {"lines that only keep their charge are found", lines_that_only_keep_their_charge_are_found},
    {"a dead word of the first blocks is found and named", a_dead_word_of_the_first_blocks_is_found_and_named},
    {NULL, NULL},
};
