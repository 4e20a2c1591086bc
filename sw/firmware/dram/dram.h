/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the board's DRAM usable: LiteDRAM's own initialisation and read levelling (liblitedram of the installed LiteX),
 * then a memory test.
 *
 * A SoC without LiteDRAM (CSR module `sdram`), such as the simulation's, has memories that need none of this. */
#ifndef DRAM_H
#define DRAM_H

#include <stdbool.h>

#include "mmio.h"

#include <generated/csr.h>

#ifdef CSR_SDRAM_BASE
/* Once, before table or frame memory is used. Says on the UART what it found; false: the memories cannot be used, and
 * why was said. */
bool dram_start(void);
#else
static inline bool dram_start(void) { return true; }
#endif

#endif
