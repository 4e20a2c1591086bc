/* SPDX-License-Identifier: Apache-2.0 */
/* The controller's states, and a command at a time. */
#include "nvme_control.h"

#include "nvme_directives.h"
#include "nvme_events.h"
#include "nvme_features.h"
#include "nvme_format.h"
#include "nvme_identify.h"
#include "nvme_log.h"
#include "nvme_power.h"
#include "nvme_queues.h"

static void set_csts(struct nvme *n, uint32_t csts) {
    if (csts != n->csts) nvme_hal_csts(csts);
    n->csts = csts;
}

/* Nothing of a host is left: as after power on. */
static void forget(struct nvme *n) {
    n->shutdown = 0;
    n->sqs = n->cqs = 0;
    n->waiting = false;
    nvme_events_reset(n);
    nvme_features_reset(n);
}

void nvme_begin(struct nvme *n, const struct nvme_drive *drive) {
    *n = (struct nvme){.drive = drive};
    forget(n);
    n->seen = nvme_hal_traffic();
    nvme_hal_csts(0);
}

static void enable(struct nvme *n, uint32_t cc) {
    n->shutdown = 0; /* one that ended, or had begun, while the controller was disabled */
    bool possible = NVME_CC_CSS(cc) == 0 && NVME_CC_MPS(cc) == 0 && NVME_CC_AMS(cc) <= 1 && nvme_admin_queue();
    n->state = possible ? NVME_ENABLED : NVME_FAILED;
    set_csts(n, possible ? NVME_CSTS_RDY : NVME_CSTS_CFS);
}

static struct nvme_answer execute(struct nvme *n, const struct nvme_command *c) {
    switch (c->opcode) {
        case NVME_DELETE_SQ: return nvme_delete_sq(n, c);
        case NVME_CREATE_SQ: return nvme_create_sq(n, c);
        case NVME_GET_LOG_PAGE: return nvme_get_log(n, c);
        case NVME_DELETE_CQ: return nvme_delete_cq(n, c);
        case NVME_CREATE_CQ: return nvme_create_cq(n, c);
        case NVME_IDENTIFY: return nvme_identify(n, c);
        case NVME_ABORT: return nvme_abort(c);
        case NVME_SET_FEATURES: return nvme_set_features(n, c);
        case NVME_GET_FEATURES: return nvme_get_features(n, c);
        case NVME_ASYNC_EVENT: return nvme_event_request(n, c);
        case NVME_DIRECTIVE_SEND: return nvme_directive_send(n, c);
        case NVME_DIRECTIVE_RECEIVE: return nvme_directive_receive(n, c);
        case NVME_FORMAT: return nvme_format(n, c);
        default: return (struct nvme_answer){.status = NVME_STATUS_INVALID_OPCODE};
    }
}

/* Takes a command; false: there is none. */
static bool take(struct nvme *n) {
    uint32_t w[16];
    if (!nvme_hal_command(w)) return false;
    n->at = 0;
    n->command = (struct nvme_command){.opcode = w[0] & 0xff,
                                       .cid = w[0] >> 16,
                                       .nsid = w[1],
                                       .prp1 = w[6] | (uint64_t)w[7] << 32,
                                       .prp2 = w[8] | (uint64_t)w[9] << 32,
                                       .dw10 = w[10],
                                       .dw11 = w[11],
                                       .dw12 = w[12],
                                       .dw13 = w[13],
                                       .dw14 = w[14],
                                       .dw15 = w[15]};
    n->malformed = w[0] & 0xc300; /* fused, or with SGLs */
    return true;
}

static void command(struct nvme *n) {
    if (!n->waiting && !take(n)) return;
    const struct nvme_command *c = &n->command;
    struct nvme_answer a = n->malformed ? (struct nvme_answer){.status = NVME_STATUS_INVALID_FIELD} : execute(n, c);
    n->waiting = a.waits;
    if (a.waits || a.silent) return;
    if (a.status) {
        nvme_log_error(n, &(struct nvme_failed){.cid = (uint16_t)c->cid, .status = (uint16_t)a.status});
        if (a.status != NVME_STATUS_TRANSFER_ERROR) a.status |= NVME_DO_NOT_RETRY;
    }
    nvme_hal_complete(c->cid, a.status, a.dw0);
}

/* Hardware goes no further: an entry of a submission queue could not be read, and nobody knows whose command it is. */
static void unread(struct nvme *n) {
    nvme_log_error(
        n, &(struct nvme_failed){.queue = NVME_NO_QUEUE, .cid = NVME_NO_COMMAND, .status = NVME_STATUS_TRANSFER_ERROR});
    nvme_event_unread(n);
    set_csts(n, n->csts | NVME_CSTS_CFS);
}

/* A command of the firmware's own that has ended is forgotten. */
static bool own_runs(struct nvme *n) {
    uint32_t status, result;
    if (n->own && nvme_hal_own_done(&status, &result)) n->own = false;
    return n->own;
}

/* Nothing of the host's commands, and of the firmware's own, is under way. */
static bool stopped(struct nvme *n) { return !own_runs(n) && !nvme_hal_queue_busy() && nvme_hal_quiet(); }

/* A shutdown begins behind an admin command that is under way. Behind the end of a queue it does not when an entry
 * could not be read: what has been fetched behind that never ends. */
static bool holds_up(const struct nvme *n) {
    return n->waiting && (n->command.opcode == NVME_FORMAT || !(n->csts & NVME_CSTS_CFS));
}

static void one_round(struct nvme *n) {
    uint32_t cc = nvme_hal_cc(), events = nvme_hal_events();
    struct nvme_failed failed;
    nvme_log_count(n);
    for (uint32_t i = 0; i < NVME_ERRORS && nvme_hal_failed(&failed); i++) nvme_log_error(n, &failed);
    if (events >> NVME_EVENT_DISABLED & 1 || !NVME_CC_EN(cc)) {
        if (n->state != NVME_DISABLED) n->state = NVME_STOPPING;
    }
    switch (n->state) {
        case NVME_DISABLED:
            if (NVME_CC_EN(cc)) {
                if (!own_runs(n)) enable(n, cc);
            } else if (!NVME_CC_SHN(cc) && n->csts & NVME_CSTS_SHUTTING && !own_runs(n)) {
                n->shutdown = 0; /* it is taken back, by a reset of the function */
                set_csts(n, 0);
            }
            break;
        case NVME_STOPPING:
            if (!stopped(n)) break;
            forget(n);
            n->state = NVME_DISABLED;
            set_csts(n, 0);
            break;
        case NVME_ENABLED:
            nvme_event_doorbell(n, events);
            if (events >> NVME_EVENT_SQE_UNREAD & 1) unread(n);
            if (nvme_hal_room()) nvme_events_step(n);
            if (nvme_hal_room() && !(n->csts & NVME_CSTS_SHUTTING)) command(n);
            break;
        case NVME_FAILED: break;
    }
    if (n->state == NVME_STOPPING || (n->state == NVME_DISABLED && NVME_CC_EN(cc)) || !NVME_CC_SHN(cc) || holds_up(n) ||
        n->csts & NVME_CSTS_SHUT)
        return;
    set_csts(n, n->csts | NVME_CSTS_SHUTTING);
    if (nvme_power_down(n)) set_csts(n, (n->csts & ~NVME_CSTS_SHUTTING) | NVME_CSTS_SHUT);
}

void nvme_step(struct nvme *n) {
    one_round(n);
    bool working = n->waiting || n->own || n->state == NVME_STOPPING || n->csts & NVME_CSTS_SHUTTING;
    if (working != n->working) nvme_hal_working(working);
    n->working = working;
}
