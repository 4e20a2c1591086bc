/* SPDX-License-Identifier: Apache-2.0 */
/* Format NVM (section 5.23): all blocks are deallocated and read as zeroes, durably when it completes. A power cut on
 * the way leaves some of them as they were. Data stays on NAND until its block is erased, so there is no secure erase.
 */
#ifndef NVME_FORMAT_H
#define NVME_FORMAT_H

#include "nvme.h"

struct nvme_answer nvme_format(struct nvme *n, const struct nvme_command *c);

#endif
