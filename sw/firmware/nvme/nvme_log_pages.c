/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_log_pages.h"

#include "nvme_buffer.h"
#include "nvme_events.h"

/* Effects: supported; changes blocks; changes what a namespace can hold; alone. */
#define CSUPP 1u
#define LBCC 2u
#define ALONE (1u << 16)

#define RATED_ERASES 100000u /* of a block: SLC parts, docs/boards.md */

void nvme_page_errors(const struct nvme *n) {
    for (uint32_t i = 0; i < NVME_ERRORS && i < n->errors; i++) { /* the newest first */
        const struct nvme_failed *e = &n->error[NVME_ERRORS - 1 - i];
        nvme_put(64 * i, 8, n->errors - i);
        nvme_put(64 * i + 8, 2, e->queue);
        nvme_put(64 * i + 10, 2, e->cid);
        nvme_put(64 * i + 12, 2, (uint32_t)e->status << 1);
        nvme_put(64 * i + 14, 2, 0xffff);                                /* which field was wrong is not known */
        nvme_put(64 * i + 24, 4, e->queue && e->queue != NVME_NO_QUEUE); /* namespace */
    }
}

/* Thousands of 512 bytes; a long division, for the target has none of 64 bits. */
static uint64_t data_units(uint64_t blocks) {
    uint64_t bytes = blocks * 8 + 999, units = 0;
    uint32_t rest = 0;
    uint32_t digit[4] = {(uint32_t)(bytes >> 48), (uint32_t)(bytes >> 32) & 0xffff, (uint32_t)bytes >> 16,
                         (uint32_t)bytes & 0xffff};
    for (uint32_t i = 0; i < 4; i++) {
        rest = rest << 16 | digit[i];
        units = units << 16 | rest / 1000;
        rest %= 1000;
    }
    return units;
}

void nvme_page_smart(const struct nvme *n) {
    const struct nvme_drive *d = n->drive;
    uint32_t all = d->spare + d->bad, used = d->mean_erases / (RATED_ERASES / 100);
    nvme_put(0, 1, nvme_warnings(d));
    nvme_put(3, 1, all ? 100 * d->spare / all : 0);
    nvme_put(4, 1, NVME_SPARE_LEAST);
    nvme_put(5, 1, used < 255 ? used : 255);
    nvme_put(32, 8, data_units(n->blocks_read));
    nvme_put(48, 8, data_units(n->blocks_written));
    nvme_put(64, 8, n->reads);
    nvme_put(80, 8, n->writes);
    nvme_put(112, 8, d->starts);
    nvme_put(128, 8, d->seconds / 3600);
    nvme_put(144, 8, d->power_cuts);
    nvme_put(160, 8, d->doubtful);
    nvme_put(176, 8, n->errors);
}

void nvme_page_firmware(void) {
    nvme_put(0, 1, 1); /* slot 1 runs */
    nvme_text(8, 8, "1.0");
}

void nvme_page_effects(void) {
    static const uint8_t admin[] = {NVME_DELETE_SQ,    NVME_CREATE_SQ,   NVME_GET_LOG_PAGE,   NVME_DELETE_CQ,
                                    NVME_CREATE_CQ,    NVME_IDENTIFY,    NVME_ABORT,          NVME_SET_FEATURES,
                                    NVME_GET_FEATURES, NVME_ASYNC_EVENT, NVME_DIRECTIVE_SEND, NVME_DIRECTIVE_RECEIVE};
    static const uint8_t reads[] = {NVME_OP_FLUSH,      NVME_OP_READ,        NVME_OP_COMPARE,  NVME_OP_TX_BEGIN,
                                    NVME_OP_TX_READ,    NVME_OP_FLUSH_RANGE, NVME_OP_BARRIER,  NVME_OP_QUERY,
                                    NVME_OP_TX_PREPARE, NVME_OP_CHECKPOINT,  NVME_OP_TX_ABORT, NVME_OP_RECOVER};
    static const uint8_t writes[] = {NVME_OP_WRITE,    NVME_OP_WRITE_ZEROES, NVME_OP_DATASET_MANAGEMENT,
                                     NVME_OP_TX_WRITE, NVME_OP_TX_COMMIT,    NVME_OP_TX_ZEROES};
    for (uint32_t i = 0; i < sizeof admin; i++) nvme_put(4u * admin[i], 4, CSUPP);
    nvme_put(4u * NVME_FORMAT, 4, CSUPP | LBCC | ALONE);
    for (uint32_t i = 0; i < sizeof reads; i++) nvme_put(1024 + 4u * reads[i], 4, CSUPP);
    for (uint32_t i = 0; i < sizeof writes; i++) nvme_put(1024 + 4u * writes[i], 4, CSUPP | LBCC);
}

/* docs/reference/nvme-admin.md */
void nvme_page_drive(const struct nvme_drive *d) {
    nvme_text(0, 8, "OTXDRIVE");
    nvme_put(8, 4, 1);
    nvme_put(12, 4, d->orderly);
    nvme_put(16, 4, d->starts);
    nvme_put(20, 4, d->power_cuts);
    nvme_put(24, 4, d->start_clocks);
    nvme_put(28, 4, d->dropped);
    nvme_put(32, 4, d->lost_log_pages);
    nvme_put(36, 4, d->foreign);
    nvme_put(40, 4, d->doubtful);
    for (uint32_t i = 0; i < NVME_DOUBTFUL; i++)
        nvme_put(44 + 4 * i, 4, i < d->doubtful ? d->doubtful_lpn[i] : 0xffffffffu);
    nvme_put(128, 8, d->host_pages);
    nvme_put(136, 8, d->nand_pages);
    nvme_put(144, 8, d->moved_pages);
    nvme_put(152, 4, d->corrected_reads);
    nvme_put(156, 4, d->weak_reads);
    nvme_put(160, 4, d->mean_erases);
    nvme_put(164, 4, d->spare);
    nvme_put(168, 4, d->bad);
    nvme_put(512, 4, NVME_LATENCIES);
    for (uint32_t i = 0; i < NVME_LATENCIES; i++) nvme_put(516 + 4 * i, 4, nvme_hal_latency(i));
}
