/* SPDX-License-Identifier: Apache-2.0 */
/* A short test of the memories that share one DRAM: data lines, address lines, that no memory lies over the other, byte
 * masks, a block over all banks.
 *
 * Destroys what is there. Reads and writes through mem_peek and mem_poke, which the program around it supplies: the
 * target's are in dram.c. */
#ifndef MEMTEST_H
#define MEMTEST_H

#include <stdbool.h>
#include <stdint.h>

#define MEMTEST_BLOCK_BYTES 16384u /* of each memory: eight rows of 2 KiB, one in each bank of a DDR3 part */

struct memtest_window {
    const char *name;
    uint32_t base, bytes; /* multiples of 4 */
};

struct memtest_fault {
    uint32_t window; /* index */
    uint32_t address, wrote, read;
};

uint32_t mem_peek(uint32_t address);
void mem_poke(uint32_t address, uint32_t word);

/* True: every word came back. False: the first one that did not is in `fault`. */
bool memtest(const struct memtest_window *windows, uint32_t count, struct memtest_fault *fault);

#endif
