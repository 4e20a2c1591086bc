/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_events.h"

struct nvme_answer nvme_event_request(struct nvme *n, const struct nvme_command *c) {
    if (c->nsid) return (struct nvme_answer){.status = NVME_STATUS_INVALID_FIELD};
    if (n->requests == NVME_EVENTS) return (struct nvme_answer){.status = NVME_STATUS_EVENT_LIMIT};
    n->request[n->requests++] = c->cid;
    return (struct nvme_answer){.silent = true};
}

struct nvme_answer nvme_abort(const struct nvme_command *c) {
    if (c->nsid) return (struct nvme_answer){.status = NVME_STATUS_INVALID_FIELD};
    return (struct nvme_answer){.dw0 = 1};
}

uint32_t nvme_warnings(const struct nvme_drive *d) {
    uint32_t warnings = 0;
    if (d->spare * 100 < NVME_SPARE_LEAST * (d->spare + d->bad)) warnings |= NVME_WARNING_SPARE;
    if (d->failed) warnings |= NVME_WARNING_RELIABILITY;
    if (d->read_only || d->failed) warnings |= NVME_WARNING_READ_ONLY;
    return warnings;
}

static void tell(struct nvme *n, uint32_t type, uint32_t information, uint32_t log) {
    if (n->masked >> type & 1 || n->due[type]) return;
    n->due[type] = true;
    n->event[type] = log << 16 | information << 8 | type;
}

void nvme_event_doorbell(struct nvme *n, uint32_t events) {
    if (events >> NVME_EVENT_DOORBELL_REGISTER & 1) tell(n, NVME_EVENT_ERROR, 0, NVME_LOG_ERRORS);
    else if (events >> NVME_EVENT_DOORBELL_VALUE & 1) tell(n, NVME_EVENT_ERROR, 1, NVME_LOG_ERRORS);
}

void nvme_event_unread(struct nvme *n) { tell(n, NVME_EVENT_ERROR, NVME_EVENT_PERSISTENT, NVME_LOG_ERRORS); }

void nvme_event_read(struct nvme *n, uint32_t log) {
    if (log == NVME_LOG_ERRORS) n->masked &= ~(1u << NVME_EVENT_ERROR);
    if (log == NVME_LOG_SMART) n->masked &= ~(1u << NVME_EVENT_SMART), n->told = 0;
}

void nvme_events_step(struct nvme *n) {
    uint32_t warnings = nvme_warnings(n->drive) & n->events & ~n->told;
    if (warnings && !(n->masked >> NVME_EVENT_SMART & 1)) {
        n->told |= warnings;
        tell(n, NVME_EVENT_SMART, warnings & NVME_WARNING_SPARE ? NVME_EVENT_SPARE : NVME_EVENT_RELIABILITY,
             NVME_LOG_SMART);
    }
    for (uint32_t type = 0; type < 2 && n->requests; type++) {
        if (!n->due[type]) continue;
        n->due[type] = false;
        n->masked |= 1u << type;
        nvme_hal_complete(n->request[0], NVME_STATUS_SUCCESS, n->event[type]);
        n->requests--;
        for (uint32_t i = 0; i < n->requests; i++) n->request[i] = n->request[i + 1];
        break; /* one in a round */
    }
}

void nvme_events_reset(struct nvme *n) {
    n->requests = n->masked = n->told = 0;
    n->due[0] = n->due[1] = false;
}
