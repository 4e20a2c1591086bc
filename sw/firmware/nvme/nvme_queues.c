/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_queues.h"

static struct nvme_answer answer(uint32_t status) { return (struct nvme_answer){.status = status}; }

/* What is common to both kinds: number, entries and their size (a power of two), memory. */
static uint32_t check(const struct nvme_command *c, uint32_t taken, uint32_t bytes, uint32_t right) {
    uint32_t number = c->dw10 & 0xffff, size = c->dw10 >> 16;
    if (c->nsid) return NVME_STATUS_INVALID_FIELD;
    if (number == 0 || number > NVME_QUEUES || taken >> number & 1) return NVME_STATUS_QID_INVALID;
    if (size == 0 || size >= NVME_ENTRIES) return NVME_STATUS_QUEUE_SIZE;
    if (bytes != right) return NVME_STATUS_INVALID_FIELD;
    if (!(c->dw11 & 1)) return NVME_STATUS_INVALID_FIELD; /* CAP.CQR: they are contiguous */
    return c->prp1 & 0xfff ? NVME_STATUS_PRP_OFFSET : NVME_STATUS_SUCCESS;
}

/* Hardware has taken the context of the command's first round: a doorbell that comes behind the completion counts. */
static struct nvme_answer created(uint32_t *queues, uint32_t number) {
    if (nvme_hal_queue_busy()) return (struct nvme_answer){.waits = true};
    *queues |= 1u << number;
    return answer(NVME_STATUS_SUCCESS);
}

struct nvme_answer nvme_create_cq(struct nvme *n, const struct nvme_command *c) {
    uint32_t status = check(c, n->cqs, NVME_CC_IOCQES(nvme_hal_cc()), 4), vector = c->dw11 >> 16,
             number = c->dw10 & 0xffff;
    if (n->at != 0) return created(&n->cqs, number);
    if (status) return answer(status);
    if (vector >= NVME_VECTORS) return answer(NVME_STATUS_VECTOR_INVALID);
    nvme_hal_queue(&(struct nvme_queue){.base = c->prp1,
                                        .number = number,
                                        .entries = (c->dw10 >> 16) + 1,
                                        .vector = vector,
                                        .interrupts = c->dw11 >> 1 & 1,
                                        .completion = true,
                                        .valid = true});
    n->at = 1;
    return created(&n->cqs, number);
}

struct nvme_answer nvme_create_sq(struct nvme *n, const struct nvme_command *c) {
    uint32_t status = check(c, n->sqs, NVME_CC_IOSQES(nvme_hal_cc()), 6), cq = c->dw11 >> 16, number = c->dw10 & 0xffff;
    if (n->at != 0) return created(&n->sqs, number);
    if (status) return answer(status);
    if (cq == 0 || cq > NVME_QUEUES) return answer(NVME_STATUS_QID_INVALID);
    if (!(n->cqs >> cq & 1)) return answer(NVME_STATUS_CQ_INVALID);
    nvme_hal_queue(&(struct nvme_queue){.base = c->prp1,
                                        .number = number,
                                        .entries = (c->dw10 >> 16) + 1,
                                        .cq = cq,
                                        .priority = c->dw11 >> 1 & 3,
                                        .valid = true});
    n->cq_of[number] = (uint8_t)cq;
    n->at = 1;
    return created(&n->sqs, number);
}

/* Clears the context in the command's first round, and waits in the others. */
static struct nvme_answer clear(struct nvme *n, uint32_t number, bool completion) {
    if (n->at == 0) nvme_hal_queue(&(struct nvme_queue){.number = number, .completion = completion});
    n->at = 1;
    if (nvme_hal_queue_busy()) return (struct nvme_answer){.waits = true};
    *(completion ? &n->cqs : &n->sqs) &= ~(1u << number);
    return answer(NVME_STATUS_SUCCESS);
}

struct nvme_answer nvme_delete_sq(struct nvme *n, const struct nvme_command *c) {
    uint32_t number = c->dw10 & 0xffff;
    if (c->nsid) return answer(NVME_STATUS_INVALID_FIELD);
    if (number == 0 || number > NVME_QUEUES || !(n->sqs >> number & 1)) return answer(NVME_STATUS_QID_INVALID);
    return clear(n, number, false);
}

struct nvme_answer nvme_delete_cq(struct nvme *n, const struct nvme_command *c) {
    uint32_t number = c->dw10 & 0xffff;
    if (c->nsid) return answer(NVME_STATUS_INVALID_FIELD);
    if (number == 0 || number > NVME_QUEUES || !(n->cqs >> number & 1)) return answer(NVME_STATUS_QID_INVALID);
    for (uint32_t sq = 1; sq <= NVME_QUEUES; sq++)
        if (n->sqs >> sq & 1 && n->cq_of[sq] == number) return answer(NVME_STATUS_QUEUE_DELETION);
    return clear(n, number, true);
}

bool nvme_admin_queue(void) {
    uint32_t aqa = nvme_hal_aqa(), submission = aqa & 0xfff, completion = aqa >> 16 & 0xfff;
    uint64_t asq = nvme_hal_asq(), acq = nvme_hal_acq();
    if (submission == 0 || completion == 0 || asq & 0xfff || acq & 0xfff) return false;
    if (submission >= NVME_ENTRIES || completion >= NVME_ENTRIES) return false; /* contexts have no place for more */
    nvme_hal_queue(&(struct nvme_queue){
        .base = acq, .entries = completion + 1, .interrupts = true, .completion = true, .valid = true});
    nvme_hal_queue(&(struct nvme_queue){.base = asq, .entries = submission + 1, .valid = true});
    while (nvme_hal_queue_busy()) {} /* some clocks: no other queue is there */
    return true;
}
