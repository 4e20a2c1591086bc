/* SPDX-License-Identifier: Apache-2.0 */
/* Data of an administration command to the host, by its PRP entries (section 4.3), also a list of them. */
#ifndef NVME_TRANSFER_H
#define NVME_TRANSFER_H

#include "nvme.h"

/* Sends bytes `from` to `from` + `bytes` - 1 of what is in the buffer and of the zeroes behind it: a multiple of 4, at
 * most 128 KiB. The last eight bytes of the buffer must be zero: entries of a list are read there. A status: an address
 * that is not a multiple of 4, a second page or list that does not begin where it must, a list that cannot be read. */
uint32_t nvme_send(const struct nvme_command *c, uint32_t from, uint32_t bytes);

#endif
