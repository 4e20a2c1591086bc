/* SPDX-License-Identifier: Apache-2.0 */
/* Administration of the NVMe front end: what the specification leaves to the controller beside I/O. Not in the path of
 * any I/O command.
 *
 * nvme_step() is called again and again, from the round of the main loop, once the drive is mounted: it never waits for
 * NAND or for a host. A command that takes longer (deletion of a queue, Format NVM) stays in hand, and the next one
 * waits. Errors are the specification's status; none ends the controller but a configuration that it cannot have (CFS).
 */
#ifndef NVME_CONTROL_H
#define NVME_CONTROL_H

#include "nvme.h"

/* Power on. `drive` may change between two steps. */
void nvme_begin(struct nvme *n, const struct nvme_drive *drive);
/* One round. */
void nvme_step(struct nvme *n);

#endif
