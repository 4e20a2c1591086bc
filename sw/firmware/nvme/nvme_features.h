/* SPDX-License-Identifier: Apache-2.0 */
/* Get Features and Set Features (sections 5.13, 5.21). None can be saved; a controller reset brings the defaults. */
#ifndef NVME_FEATURES_H
#define NVME_FEATURES_H

#include "nvme.h"

struct nvme_answer nvme_get_features(struct nvme *n, const struct nvme_command *c);
struct nvme_answer nvme_set_features(struct nvme *n, const struct nvme_command *c);

/* The defaults, here and in hardware. */
void nvme_features_reset(struct nvme *n);

#endif
