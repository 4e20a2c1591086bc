/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_directives.h"

#include "nvme_buffer.h"
#include "nvme_transfer.h"

#define MOST (4096u << NVME_MDTS)
#define STREAMS 65535u

enum directive { IDENTIFY = 0, STREAM = 1 };

static uint32_t type(const struct nvme_command *c) { return c->dw11 >> 8 & 0xff; }
static uint32_t operation(const struct nvme_command *c) { return c->dw11 & 0xff; }

static uint32_t namespace(const struct nvme_command *c) {
    return c->nsid == 1 || c->nsid == NVME_ALL_NAMESPACES ? NVME_STATUS_SUCCESS : NVME_STATUS_INVALID_NAMESPACE;
}

struct nvme_answer nvme_directive_send(struct nvme *n, const struct nvme_command *c) {
    uint32_t status = namespace(c), which = c->dw12 >> 8 & 0xff;
    if (status) return (struct nvme_answer){.status = status};
    if (type(c) == IDENTIFY && operation(c) == 1 && which == STREAM) { /* enable or disable */
        n->streams = c->dw12 & 1;
        nvme_hal_modes(n->write_through, n->streams);
        return (struct nvme_answer){.status = NVME_STATUS_SUCCESS};
    }
    /* release of an identifier, of resources: there is nothing to do */
    bool release = type(c) == STREAM && n->streams && (operation(c) == 1 || operation(c) == 2);
    return (struct nvme_answer){.status = release ? NVME_STATUS_SUCCESS : NVME_STATUS_INVALID_FIELD};
}

struct nvme_answer nvme_directive_receive(struct nvme *n, const struct nvme_command *c) {
    uint32_t status = namespace(c), bytes = c->dw10 < MOST / 4 ? (c->dw10 + 1) * 4 : 0;
    if (!status && !bytes) status = NVME_STATUS_INVALID_FIELD;
    if (status) return (struct nvme_answer){.status = status};
    nvme_clear();
    if (type(c) == IDENTIFY && operation(c) == 1) { /* what there is, what is enabled */
        nvme_put(0, 1, 1u << IDENTIFY | 1u << STREAM);
        nvme_put(32, 1, 1u << IDENTIFY | (uint32_t)n->streams << STREAM);
    } else if (type(c) == STREAM && n->streams && operation(c) == 1) { /* parameters */
        nvme_put(0, 2, STREAMS);
        nvme_put(2, 2, STREAMS);
        nvme_put(16, 4, 1); /* a block is as good as many */
        nvme_put(20, 2, 1);
    } else if (type(c) == STREAM && n->streams && operation(c) == 3) { /* resources of a namespace: not needed */
        return (struct nvme_answer){.dw0 = 0};
    } else if (!(type(c) == STREAM && n->streams && operation(c) == 2)) { /* open ones: none is */
        return (struct nvme_answer){.status = NVME_STATUS_INVALID_FIELD};
    }
    return (struct nvme_answer){.status = nvme_send(c, 0, bytes)};
}
