/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_log.h"

#include "nvme_buffer.h"
#include "nvme_events.h"
#include "nvme_log_pages.h"
#include "nvme_transfer.h"

#define MOST (4096u << NVME_MDTS)

void nvme_log_error(struct nvme *n, const struct nvme_failed *failed) {
    for (uint32_t i = 0; i + 1 < NVME_ERRORS; i++) n->error[i] = n->error[i + 1];
    n->error[NVME_ERRORS - 1] = *failed;
    n->errors++;
}

static uint64_t more(uint32_t *seen, uint32_t now) {
    uint32_t n = now - *seen;
    *seen = now;
    return n;
}

void nvme_log_count(struct nvme *n) {
    struct nvme_traffic now = nvme_hal_traffic();
    n->blocks_read += more(&n->seen.blocks_read, now.blocks_read);
    n->blocks_written += more(&n->seen.blocks_written, now.blocks_written);
    n->reads += more(&n->seen.reads, now.reads);
    n->writes += more(&n->seen.writes, now.writes);
}

/* Into the buffer; false: there is no such page. */
static bool compose(const struct nvme *n, uint32_t log) {
    nvme_clear();
    switch (log) {
        case NVME_LOG_ERRORS: nvme_page_errors(n); return true;
        case NVME_LOG_SMART: nvme_page_smart(n); return true;
        case NVME_LOG_FIRMWARE: nvme_page_firmware(); return true;
        case NVME_LOG_EFFECTS: nvme_page_effects(); return true;
        case NVME_LOG_DRIVE: nvme_page_drive(n->drive); return true;
        default: return false;
    }
}

struct nvme_answer nvme_get_log(struct nvme *n, const struct nvme_command *c) {
    uint32_t log = c->dw10 & 0xff;
    uint64_t dwords = ((uint64_t)(c->dw11 & 0xffff) << 16 | c->dw10 >> 16) + 1;
    if (c->nsid > 1 && c->nsid != NVME_ALL_NAMESPACES)
        return (struct nvme_answer){.status = NVME_STATUS_INVALID_NAMESPACE};
    if (c->dw13 || c->dw12 & 3 || c->dw12 > 4096 || dwords * 4 > MOST)
        return (struct nvme_answer){.status = NVME_STATUS_INVALID_FIELD};
    if (!compose(n, log)) return (struct nvme_answer){.status = NVME_STATUS_LOG_PAGE_INVALID};
    uint32_t status = nvme_send(c, c->dw12, (uint32_t)dwords * 4);
    if (!status && !(c->dw10 >> 15 & 1)) nvme_event_read(n, log); /* RAE is 0 */
    return (struct nvme_answer){.status = status};
}
