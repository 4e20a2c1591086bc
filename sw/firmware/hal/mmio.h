/* SPDX-License-Identifier: Apache-2.0 */
/* Register access; the only volatile of the firmware. LiteX' generated csr.h uses these two. Table and frame memory
 * need none: they lie where the processor has no data cache, and the compiler assumes that a call of another
 * translation unit (the NAND operations) changes memory. */
#ifndef MMIO_H
#define MMIO_H

#include <stdint.h>

#define CSR_ACCESSORS_DEFINED

static inline void csr_write_simple(unsigned long value, unsigned long address) {
    *(volatile uint32_t *)address = (uint32_t)value;
}

static inline unsigned long csr_read_simple(unsigned long address) { return *(volatile uint32_t *)address; }

#endif
