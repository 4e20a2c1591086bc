/* SPDX-License-Identifier: Apache-2.0 */
/* Commit-remap as firmware does it (TxSSD, section III: COMMIT remaps the entries of the tx table to those of the
 * mapping table; footnote 5: the remap function copies them in memory): for each entry of a transaction, oldest first,
 * the map word of its LPN becomes its location. One loop, compiled once per set of compiler options. */
#ifndef REMAP_LOOP_H
#define REMAP_LOOP_H

#include <stdint.h>

/* A tx table entry as it lies in table memory (docs/interfaces.md, "Geometry and numbers"). */
struct remap_entry {
    uint32_t lpn, location, next, flags;
};

typedef void remap_loop(uint32_t *map, const struct remap_entry *entry, uint32_t count);

/* -O2 (-O3 gives the same code), and -O3 -funroll-loops */
remap_loop remap_O2, remap_unrolled;

#endif
