/* SPDX-License-Identifier: Apache-2.0 */
/* Create and Delete I/O Submission and Completion Queue (sections 5.3 to 5.6), and the admin queue's contexts.
 *
 * A deletion is over when nothing of the queue is under way in hardware; until then it waits. */
#ifndef NVME_QUEUES_H
#define NVME_QUEUES_H

#include "nvme.h"

struct nvme_answer nvme_create_cq(struct nvme *n, const struct nvme_command *c);
struct nvme_answer nvme_create_sq(struct nvme *n, const struct nvme_command *c);
struct nvme_answer nvme_delete_cq(struct nvme *n, const struct nvme_command *c);
struct nvme_answer nvme_delete_sq(struct nvme *n, const struct nvme_command *c);

/* The admin queue as AQA, ASQ and ACQ say; false: they cannot be so. */
bool nvme_admin_queue(void);

#endif
