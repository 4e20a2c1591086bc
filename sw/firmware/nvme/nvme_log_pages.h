/* SPDX-License-Identifier: Apache-2.0 */
/* What is in each log page, from the numbers that there are; the buffer is clear before. */
#ifndef NVME_LOG_PAGES_H
#define NVME_LOG_PAGES_H

#include "nvme.h"

void nvme_page_errors(const struct nvme *n);
void nvme_page_smart(const struct nvme *n);
void nvme_page_firmware(void);
void nvme_page_effects(void);
void nvme_page_drive(const struct nvme_drive *d);

#endif
