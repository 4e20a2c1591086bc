/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_identify.h"

#include "nvme_buffer.h"
#include "nvme_transfer.h"

#define VERSION 0x00010400u
#define VENDOR 0x10eeu              /* as LitePCIe's endpoint */
#define ATOMIC (OTX_MAX_BLOCKS - 1) /* blocks of a command are one, also over a power cut; 0's based */

/* A UUID of the drive's number (RFC 4122 layout, version 8: ours). */
static void uuid(uint32_t at, uint32_t id) {
    static const uint8_t bytes[16] = {0x6f, 0x74, 0x78, 0x73, 0x73, 0x64, 0x80, 0x6e,
                                      0x80, 0x76, 0x6d, 0x65, 0x00, 0x00, 0x00, 0x00};
    for (uint32_t i = 0; i < 12; i++) nvme_put(at + i, 1, bytes[i]);
    for (uint32_t i = 0; i < 4; i++) nvme_put(at + 12 + i, 1, id >> (24 - 8 * i) & 0xff);
}

/* What the standard has no place for: docs/reference/nvme-admin.md. */
static void vendor(const struct nvme_drive *d) {
    nvme_text(3072, 8, "OTXTXSSD");
    nvme_put(3080, 4, 1); /* of this table */
    nvme_put(3084, 4, OTX_TXIDS);
    nvme_put(3088, 4, d->tx_entries);
    nvme_put(3092, 4, OTX_MAX_BLOCKS);
    nvme_put(3096, 4, d->clock_ps);
    nvme_put(3100, 4, d->id);
}

static void controller(const struct nvme *n) {
    const struct nvme_drive *d = n->drive;
    nvme_put(0, 2, VENDOR);
    nvme_put(2, 2, VENDOR);
    nvme_text(4, 20, "");
    nvme_text(4, 3, "OTX");
    nvme_hex(7, d->id);
    nvme_text(24, 40, d->model);
    nvme_text(64, 8, "1.0");
    nvme_put(77, 1, NVME_MDTS);
    nvme_put(80, 4, VERSION);
    nvme_put(111, 1, 1);                                       /* CNTRLTYPE: an I/O controller */
    nvme_put(256, 2, 0x22);                                    /* OACS: Format NVM, directives */
    nvme_put(258, 1, 3);                                       /* ACL: four Aborts at once */
    nvme_put(259, 1, NVME_EVENTS - 1);                         /* AERL */
    nvme_put(260, 1, 3);                                       /* FRMW: one slot, read-only */
    nvme_put(261, 1, 6);                                       /* LPA: effects, offsets */
    nvme_put(262, 1, NVME_ERRORS - 1);                         /* ELPE */
    nvme_put(280, 8, (uint64_t)d->blocks << NVME_BLOCK_SHIFT); /* TNVMCAP */
    nvme_put(512, 1, 0x66);
    nvme_put(513, 1, 0x44);
    nvme_put(516, 4, 1);    /* NN */
    nvme_put(520, 2, 0x1d); /* ONCS: Compare, Dataset Management, Write Zeroes, select of features */
    nvme_put(524, 1, 1);    /* FNA: Format is of all namespaces */
    nvme_put(525, 1, 7);    /* VWC: there is one; Flush of all namespaces too */
    nvme_put(526, 2, ATOMIC);
    nvme_put(528, 2, ATOMIC);
    nvme_text(768, 60, "nqn.2014-08.org.nvmexpress:uuid:6f747873-7364-806e-8076-6d65");
    nvme_hex(828, d->id);
    vendor(d);
}

static void namespace(const struct nvme_drive *d) {
    nvme_put(0, 8, d->blocks);
    nvme_put(8, 8, d->blocks);
    nvme_put(16, 8, d->blocks);
    nvme_put(24, 1, 2); /* NSFEAT: atomic writes as below */
    nvme_put(33, 1, 9); /* DLFEAT: zeroes after deallocation, also by Write Zeroes */
    nvme_put(34, 2, ATOMIC);
    nvme_put(36, 2, ATOMIC);
    nvme_put(48, 8, (uint64_t)d->blocks << NVME_BLOCK_SHIFT); /* NVMCAP */
    nvme_put(130, 1, NVME_BLOCK_SHIFT);                       /* LBAF 0 */
}

static void descriptors(const struct nvme_drive *d) {
    nvme_put(0, 2, 0x1003); /* a UUID, 16 bytes */
    uuid(4, d->id);
}

/* Whether that is the one namespace; else the status. */
static uint32_t one(uint32_t nsid) { return nsid == 1 ? NVME_STATUS_SUCCESS : NVME_STATUS_INVALID_NAMESPACE; }

struct nvme_answer nvme_identify(const struct nvme *n, const struct nvme_command *c) {
    uint32_t cns = c->dw10 & 0xff, status = NVME_STATUS_SUCCESS;
    nvme_clear();
    switch (cns) {
        case NVME_CNS_NAMESPACE:
            status = one(c->nsid);
            if (!status) namespace(n->drive);
            break;
        case NVME_CNS_CONTROLLER: controller(n); break;
        case NVME_CNS_ACTIVE:
            if (c->nsid >= 0xfffffffeu) status = NVME_STATUS_INVALID_NAMESPACE;
            else nvme_put(0, 4, c->nsid == 0);
            break;
        case NVME_CNS_DESCRIPTORS:
            status = one(c->nsid);
            if (!status) descriptors(n->drive);
            break;
        default: status = NVME_STATUS_INVALID_FIELD;
    }
    return (struct nvme_answer){.status = status ? status : nvme_send(c, 0, 4096)};
}
