/* SPDX-License-Identifier: Apache-2.0 */
/* hal/mmio.h of the host test: every register and memory access goes to model.c. */
#ifndef MMIO_H
#define MMIO_H

#define CSR_ACCESSORS_DEFINED

void csr_write_simple(unsigned long value, unsigned long address);
unsigned long csr_read_simple(unsigned long address);

#endif
