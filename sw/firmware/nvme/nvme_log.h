/* SPDX-License-Identifier: Apache-2.0 */
/* Get Log Page (section 5.14): errors, SMART, firmware slot, commands and effects, and what this drive has beside these
 * (C0h: the report of its last start). Each is at most 4 KiB; behind its end come zeroes. */
#ifndef NVME_LOG_H
#define NVME_LOG_H

#include "nvme.h"

struct nvme_answer nvme_get_log(struct nvme *n, const struct nvme_command *c);

/* The error log gets an entry; it keeps the last ones. */
void nvme_log_error(struct nvme *n, const struct nvme_failed *failed);
/* Numbers of 64 bits from those of hardware: once in a round. */
void nvme_log_count(struct nvme *n);

#endif
