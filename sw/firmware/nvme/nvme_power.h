/* SPDX-License-Identifier: Apache-2.0 */
/* Shutdown (section 7.6.2): as an orderly power-down of the drive. Open transactions are aborted, all is durable, and a
 * checkpoint is written after which the next start has nothing to replay. A drive that takes no writes is ready at
 * once.
 */
#ifndef NVME_POWER_H
#define NVME_POWER_H

#include "nvme.h"

/* One round of it; true: it is done. n->shutdown is 0 at its beginning. */
bool nvme_power_down(struct nvme *n);

#endif
