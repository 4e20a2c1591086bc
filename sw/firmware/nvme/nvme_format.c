/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_format.h"

static uint32_t check(const struct nvme *n, const struct nvme_command *c) {
    if (c->nsid != 1 && c->nsid != NVME_ALL_NAMESPACES) return NVME_STATUS_INVALID_NAMESPACE;
    if (c->dw10 & 0x1f0) return c->dw10 & 0xe0 ? NVME_STATUS_FORMAT_INVALID : NVME_STATUS_INVALID_FIELD; /* metadata */
    if (c->dw10 & 0xf) return NVME_STATUS_FORMAT_INVALID;
    if (c->dw10 >> 9 & 7) return NVME_STATUS_INVALID_FIELD; /* secure erase */
    return n->drive->read_only ? NVME_STATUS_READ_ONLY : NVME_STATUS_SUCCESS;
}

/* At 0 the transactions that are open end, then each that is prepared (RECOVER leaves those), then `blocks` are
 * deallocated, and at the end all is made durable. */
#define BLOCKS (1u + OTX_TXIDS)

static struct nvme_own step(const struct nvme *n) {
    if (n->at == 0) return (struct nvme_own){.opcode = OTX_OP_RECOVER};
    if (n->at < BLOCKS) return (struct nvme_own){.opcode = OTX_OP_ABORT, .txid = (uint8_t)(NVME_OWN_TX | (n->at - 1))};
    uint32_t lba = n->at - BLOCKS, left = lba < n->drive->blocks ? n->drive->blocks - lba : 0;
    if (left == 0) return (struct nvme_own){.opcode = OTX_OP_FLUSH};
    uint16_t count = (uint16_t)(left < OTX_MAX_BLOCKS ? left : OTX_MAX_BLOCKS);
    return (struct nvme_own){.opcode = OTX_OP_TRIM, .lba = lba, .count = count};
}

struct nvme_answer nvme_format(struct nvme *n, const struct nvme_command *c) {
    uint32_t status = n->at == 0 ? check(n, c) : NVME_STATUS_SUCCESS, result;
    if (status) return (struct nvme_answer){.status = status};
    if (n->own) {
        if (!nvme_hal_own_done(&status, &result)) return (struct nvme_answer){.waits = true};
        n->own = false;
        bool none = n->at > 1 && n->at <= BLOCKS && status == OTX_STATUS_TX_INVALID; /* of that txid */
        if (status && !none) return (struct nvme_answer){.status = NVME_STATUS_INTERNAL_ERROR};
        if (n->at > BLOCKS + n->drive->blocks) return (struct nvme_answer){.status = NVME_STATUS_SUCCESS};
    }
    struct nvme_own own = step(n);
    n->own = nvme_hal_own_start(&own);
    if (n->own) n->at += own.opcode == OTX_OP_TRIM ? own.count : 1;
    return (struct nvme_answer){.waits = true};
}
