/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_format.h"

static uint32_t check(const struct nvme *n, const struct nvme_command *c) {
    if (c->nsid != 1 && c->nsid != NVME_ALL_NAMESPACES) return NVME_STATUS_INVALID_NAMESPACE;
    if (c->dw10 & 0x1f0) return c->dw10 & 0xe0 ? NVME_STATUS_FORMAT_INVALID : NVME_STATUS_INVALID_FIELD; /* metadata */
    if (c->dw10 & 0xf) return NVME_STATUS_FORMAT_INVALID;
    if (c->dw10 >> 9 & 7) return NVME_STATUS_INVALID_FIELD; /* secure erase */
    return n->drive->read_only ? NVME_STATUS_READ_ONLY : NVME_STATUS_SUCCESS;
}

struct nvme_answer nvme_format(struct nvme *n, const struct nvme_command *c) {
    uint32_t status = n->at == 0 ? check(n, c) : NVME_STATUS_SUCCESS, result;
    if (status) return (struct nvme_answer){.status = status};
    if (n->own) {
        if (!nvme_hal_own_done(&status, &result)) return (struct nvme_answer){.waits = true};
        n->own = false;
        if (status) return (struct nvme_answer){.status = NVME_STATUS_INTERNAL_ERROR};
        if (n->at > n->drive->blocks) return (struct nvme_answer){.status = NVME_STATUS_SUCCESS};
    }
    uint32_t left = n->at < n->drive->blocks ? n->drive->blocks - n->at : 0;
    struct nvme_own own = {.opcode = OTX_OP_FLUSH};
    if (left) own = (struct nvme_own){.opcode = OTX_OP_TRIM, .lba = n->at, .count = OTX_MAX_BLOCKS};
    if (left && left < OTX_MAX_BLOCKS) own.count = (uint16_t)left;
    n->own = nvme_hal_own_start(&own);
    if (n->own) n->at += left ? own.count : 1;
    return (struct nvme_answer){.waits = true};
}
