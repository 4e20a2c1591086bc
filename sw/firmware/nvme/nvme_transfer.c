/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_transfer.h"

#include "nvme_buffer.h"

#define PAGE 4096u
#define SCRATCH (PAGE - 8u)

/* Entry of a list; false: it could not be read. The buffer's last bytes are zero again. */
static bool entry(uint64_t address, uint64_t *value) {
    bool here = nvme_hal_from_host(address, SCRATCH, 8);
    *value = nvme_hal_get(SCRATCH / 4) | (uint64_t)nvme_hal_get(SCRATCH / 4 + 1) << 32;
    nvme_hal_put(SCRATCH / 4, 0);
    nvme_hal_put(SCRATCH / 4 + 1, 0);
    return here;
}

/* Within one page of the host's. Behind the buffer's end come zeroes. */
static void send(uint64_t address, uint32_t from, uint32_t bytes) {
    while (bytes) {
        if (from >= PAGE) nvme_clear();
        uint32_t at = from < PAGE ? from : 0;
        uint32_t n = bytes < PAGE - at ? bytes : PAGE - at;
        nvme_hal_to_host(address, at, n);
        address += n, from += n, bytes -= n;
    }
}

uint32_t nvme_send(const struct nvme_command *c, uint32_t from, uint32_t bytes) {
    if (c->prp1 & 3) return NVME_STATUS_PRP_OFFSET;
    uint32_t first = PAGE - (uint32_t)(c->prp1 % PAGE);
    if (first > bytes) first = bytes;
    uint32_t left = bytes - first;
    if (left > PAGE ? c->prp2 & 7 : left && c->prp2 % PAGE) return NVME_STATUS_PRP_OFFSET;
    send(c->prp1, from, first);
    uint64_t list = c->prp2;
    for (from += first; left;) {
        uint32_t n = left < PAGE ? left : PAGE;
        uint64_t page = c->prp2;
        if (bytes - first > PAGE) {
            if (left > PAGE && list % PAGE == SCRATCH) { /* the last entry of a page of the list names the next one */
                if (!entry(list, &list)) return NVME_STATUS_TRANSFER_ERROR;
                if (list & 7) return NVME_STATUS_PRP_OFFSET;
            }
            if (!entry(list, &page)) return NVME_STATUS_TRANSFER_ERROR;
            list += 8;
            if (page % PAGE) return NVME_STATUS_PRP_OFFSET;
        }
        send(page, from, n);
        from += n, left -= n;
    }
    return NVME_STATUS_SUCCESS;
}
