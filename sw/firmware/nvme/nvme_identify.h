/* SPDX-License-Identifier: Apache-2.0 */
/* Identify (section 5.15): controller, namespace 1, lists of namespaces, its descriptors. */
#ifndef NVME_IDENTIFY_H
#define NVME_IDENTIFY_H

#include "nvme.h"

struct nvme_answer nvme_identify(const struct nvme *n, const struct nvme_command *c);

#endif
