// SPDX-License-Identifier: Apache-2.0
// The drive by the passthrough of Linux' nvme driver: /dev/nvme0n1 or /dev/ng0n1, with the commands of
// docs/reference/nvme.md. Needs root: the kernel lets nobody else send opcodes that it does not know.
//
// A block device is opened for nobody else (O_EXCL): one that is mounted is refused. The character device has no such
// guard. The kernel knows nothing of transactions: a process that ends leaves its own open, and whoever comes next with
// its txid aborts it.
#include <errno.h>
#include <fcntl.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "otx_facts.h"
#include "otx.h"
#include "otx_port.h"

enum { ADMIN_IDENTIFY = 0x06 };
enum { RELAXED = 1 << 6, COMMIT = 1 << 7 };                         // attributes, CDW14
enum { DEALLOCATE = 1 << 2, NAMESPACE = 0, CONTROLLER = 1 };        // Dataset Management CDW11 AD, Identify CNS
enum { OUR_BYTES = 3072, TX_ENTRIES = 3088, STATUS_BITS = 0x7ff };  // of Identify Controller; of a status without DNR

struct device {
    int fd;
    uint32_t nsid;
    char words[160];
};

static const struct {
    int nvme, status;
} statuses[] = {
    {NVME_STATUS_INVALID_OPCODE, OTX_STATUS_INVALID_OPCODE},
    {NVME_STATUS_INVALID_FIELD, OTX_STATUS_INVALID_FIELD},
    {NVME_STATUS_LBA_RANGE, OTX_STATUS_LBA_RANGE},
    {NVME_STATUS_TX_INVALID, OTX_STATUS_TX_INVALID},
    {NVME_STATUS_TX_BUSY, OTX_STATUS_TX_BUSY},
    {NVME_STATUS_TX_FULL, OTX_STATUS_TX_FULL},
    {NVME_STATUS_TX_CONFLICT, OTX_STATUS_TX_CONFLICT},
    {NVME_STATUS_READ_ERROR, OTX_STATUS_MEDIA_ERROR},
    {NVME_STATUS_WRITE_FAULT, OTX_STATUS_WRITE_FAULT},
    {NVME_STATUS_CAPACITY, OTX_STATUS_CAPACITY},
    {NVME_STATUS_READ_ONLY, OTX_STATUS_READ_ONLY},
    {NVME_STATUS_NAMESPACE_NOT_READY, OTX_STATUS_NOT_READY},
};

// Of a status that this drive does not give there may be no more to say than that the command failed.
static int status_of(struct device *d, int nvme) {
    snprintf(d->words, sizeof d->words, "NVMe status %03xh", (unsigned)nvme & STATUS_BITS);
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].nvme == (nvme & STATUS_BITS)) return statuses[i].status;
    return OTX_STATUS_ABORTED;
}

static int send(struct device *d, struct nvme_passthru_cmd command) {
    command.nsid = d->nsid;
    const int said = ioctl(d->fd, NVME_IOCTL_IO_CMD, &command);
    if (said > 0) return status_of(d, said);
    if (!said) return 0;
    snprintf(d->words, sizeof d->words, "the nvme driver says: %s", strerror(errno));
    return OTX_ERROR_CLOSED;
}

static struct nvme_passthru_cmd blocks(uint8_t opcode, uint32_t lba, uint32_t count, const void *data, int txid) {
    return (struct nvme_passthru_cmd){.opcode = opcode,
                                      .cdw2 = (uint32_t)(txid < 0 ? 0 : txid),
                                      .cdw10 = lba,
                                      .cdw12 = count - 1,
                                      .addr = (uint64_t)(uintptr_t)data,
                                      .data_len = count * OTX_BLOCK};
}

static struct nvme_passthru_cmd transaction(uint8_t opcode, int txid, unsigned flags) {
    return (struct nvme_passthru_cmd){
        .opcode = opcode, .cdw2 = (uint32_t)txid, .cdw14 = flags & OTX_PORT_RELAXED ? RELAXED : 0};
}

static int nvme_read(void *context, uint32_t lba, uint32_t count, void *data, int txid) {
    return send(context, blocks(txid < 0 ? NVME_OP_READ : NVME_OP_TX_READ, lba, count, data, txid));
}

static int nvme_write(void *context, uint32_t lba, uint32_t count, const void *data, int txid, unsigned flags) {
    struct nvme_passthru_cmd command = blocks(txid < 0 ? NVME_OP_WRITE : NVME_OP_TX_WRITE, lba, count, data, txid);
    if (flags & OTX_PORT_COMMIT) command.cdw14 = COMMIT | (flags & OTX_PORT_RELAXED ? RELAXED : 0u);
    return send(context, command);
}

static int nvme_begin(void *context, int txid) { return send(context, transaction(NVME_OP_TX_BEGIN, txid, 0)); }

static int nvme_commit(void *context, int txid, unsigned flags) {
    return send(context, transaction(NVME_OP_TX_COMMIT, txid, flags));
}

static int nvme_abort(void *context, int txid) { return send(context, transaction(NVME_OP_TX_ABORT, txid, 0)); }

static int nvme_flush(void *context) { return send(context, (struct nvme_passthru_cmd){.opcode = NVME_OP_FLUSH}); }

static int nvme_trim(void *context, uint32_t lba, uint32_t count) {
    const uint32_t range[4] = {0, count, lba, 0};  // attributes, length, start in 64 bits
    return send(context, (struct nvme_passthru_cmd){.opcode = NVME_OP_DATASET_MANAGEMENT,
                                                    .cdw11 = DEALLOCATE,
                                                    .addr = (uint64_t)(uintptr_t)range,
                                                    .data_len = sizeof range});
}

static const char *nvme_words(void *context, int error) {
    struct device *d = context;
    return error > 0 && error != OTX_STATUS_ABORTED ? otx_words(error) : d->words;
}

static void nvme_close(void *context) {
    struct device *d = context;
    close(d->fd);
    free(d);
}

static const struct otx_port_methods methods = {nvme_read,  nvme_write, nvme_begin, nvme_commit, nvme_abort,
                                                nvme_flush, nvme_trim,  nvme_words, nvme_close};

static uint32_t get32(const uint8_t *bytes) {
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static int identify(struct device *d, uint32_t what, uint8_t page[OTX_BLOCK]) {
    struct nvme_admin_cmd command = {.opcode = ADMIN_IDENTIFY,
                                     .nsid = what == NAMESPACE ? d->nsid : 0,
                                     .addr = (uint64_t)(uintptr_t)page,
                                     .data_len = OTX_BLOCK,
                                     .cdw10 = what};
    return ioctl(d->fd, NVME_IOCTL_ADMIN_CMD, &command);
}

// What is wrong with it; NULL: it is a drive of ours, and *port has what it says of itself.
static const char *look(struct device *d, struct otx_port *port) {
    _Alignas(OTX_BLOCK) uint8_t page[OTX_BLOCK];
    const int nsid = ioctl(d->fd, NVME_IOCTL_ID);
    if (nsid <= 0) return "no namespace of an NVMe drive";
    d->nsid = (uint32_t)nsid;
    if (identify(d, CONTROLLER, page)) return "it does not say what it is; only root may ask";
    if (memcmp(page + OUR_BYTES, "OTXTXSSD", 8)) return "no drive with these transactions";
    port->tx_entries = get32(page + TX_ENTRIES);
    if (identify(d, NAMESPACE, page)) return "it does not say how large it is";
    port->lbas = get32(page + 4) ? UINT32_MAX : get32(page);
    return NULL;
}

int otx_port_open_nvme(const char *path, struct otx_port *port, char *why, size_t size) {
    struct stat is = {0};
    struct device *d = calloc(1, sizeof *d);
    if (!d) return OTX_ERROR_MEMORY;
    const int block = !stat(path, &is) && S_ISBLK(is.st_mode);
    *port = (struct otx_port){.methods = &methods, .context = d};
    d->fd = open(path, O_RDWR | O_CLOEXEC | (block ? O_EXCL : 0));
    const char *wrong = d->fd < 0 ? strerror(errno) : look(d, port);
    if (!wrong) return 0;
    snprintf(why, size, "%s: %s", path, wrong);
    if (d->fd >= 0) close(d->fd);
    free(d);
    return OTX_ERROR_CONNECT;
}
