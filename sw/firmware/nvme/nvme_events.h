/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous Event Request and Abort (sections 5.1, 5.2).
 *
 * A request waits until there is something to tell: a doorbell that a host has written wrongly, or a critical warning
 * that its configuration asks for. After that the type is silent until the host has read its log page. Abort takes no
 * command back: it says so. */
#ifndef NVME_EVENTS_H
#define NVME_EVENTS_H

#include "nvme.h"

#define NVME_SPARE_LEAST 10u /* percent of spare blocks, below which there is a warning */

/* Takes the request, which then has no completion yet; or refuses it. */
struct nvme_answer nvme_event_request(struct nvme *n, const struct nvme_command *c);
struct nvme_answer nvme_abort(const struct nvme_command *c);

/* A bit per warning: what SMART says now. */
uint32_t nvme_warnings(const struct nvme_drive *d);
/* The host has done something that is an error, by enum nvme_event. */
void nvme_event_doorbell(struct nvme *n, uint32_t events);
/* An entry of a submission queue could not be read. */
void nvme_event_unread(struct nvme *n);
/* A log page was read, and its events may come again. */
void nvme_event_read(struct nvme *n, uint32_t log);
/* One round: looks at the warnings, completes a request. */
void nvme_events_step(struct nvme *n);
/* The requests are forgotten, without completions. */
void nvme_events_reset(struct nvme *n);

#endif
