/* SPDX-License-Identifier: Apache-2.0 */
/* Structures of the specification in the 4 KiB buffer: little-endian fields at byte offsets. */
#ifndef NVME_BUFFER_H
#define NVME_BUFFER_H

#include "nvme_hal.h"

/* All of it is zero. */
void nvme_clear(void);
/* A field of 1, 2, 4 or 8 bytes, within one or two words. */
void nvme_put(uint32_t at, uint32_t bytes, uint64_t value);
/* Text, with spaces up to `bytes`. */
void nvme_text(uint32_t at, uint32_t bytes, const char *text);
/* Eight hexadecimal digits. */
void nvme_hex(uint32_t at, uint32_t number);

#endif
