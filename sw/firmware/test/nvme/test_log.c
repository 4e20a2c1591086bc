/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

static uint32_t get(uint32_t log, uint32_t bytes, uint32_t from) {
    return admin(.opcode = NVME_GET_LOG_PAGE, .nsid = 0xffffffff, .dw10 = (bytes / 4 - 1) << 16 | log, .dw12 = from);
}

static void smart(void) {
    enabled();
    fake.traffic = (struct nvme_traffic){.blocks_read = 0x80000001, .blocks_written = 125, .reads = 40, .writes = 50};
    rounds(1);
    fake.traffic.writes = 0xfffffff0; /* they wrap */
    rounds(1);
    fake.traffic.writes = 10;
    rounds(1);
    CHECK(get(NVME_LOG_SMART, 512, 0) == 0);
    CHECK(got(0, 1) == 0 && got(3, 1) == 93 && got(4, 1) == 10 && got(5, 1) == 0);
    CHECK(got(32, 8) == 17179870 && got(48, 8) == 1 && got(64, 8) == 40 && got(80, 8) == 0x10000000aull);
    CHECK(got(112, 8) == 3 && got(144, 8) == 1);
    CHECK(*at(BASE + 0x1000 + 512) == 0xa5);
    drive.spare = 1, drive.bad = 30;
    CHECK(get(NVME_LOG_SMART, 512, 0) == 0 && got(0, 1) == NVME_WARNING_SPARE && got(3, 1) == 3);
    drive.failed = true;
    CHECK(get(NVME_LOG_SMART, 512, 0) == 0 && got(0, 1) == 13);
}

static void errors(void) {
    enabled();
    CHECK(admin(.opcode = 0x7f) == NVME_STATUS_INVALID_OPCODE);
    fake.failed = (struct nvme_failed){.queue = 3, .cid = 77, .status = NVME_STATUS_LBA_RANGE};
    fake.has_failed = true;
    rounds(1);
    CHECK(get(NVME_LOG_ERRORS, 256, 0) == 0);
    CHECK(got(0, 8) == 2 && got(8, 2) == 3 && got(10, 2) == 77 && got(12, 2) == NVME_STATUS_LBA_RANGE << 1);
    CHECK(got(64, 8) == 1 && got(72, 2) == 0 && got(76, 2) == NVME_STATUS_INVALID_OPCODE << 1 && got(128, 8) == 0);
    for (uint32_t i = 0; i < 9; i++) CHECK(admin(.opcode = 0x7f) == NVME_STATUS_INVALID_OPCODE);
    CHECK(get(NVME_LOG_ERRORS, 256, 0) == 0 && got(0, 8) == 11 && got(192, 8) == 8);
    CHECK(get(NVME_LOG_SMART, 512, 0) == 0 && got(176, 8) == 11);
}

static void others(void) {
    enabled();
    CHECK(get(NVME_LOG_FIRMWARE, 512, 0) == 0 && got(0, 1) == 1 && memcmp(at(BASE + 0x1008), "1.0     ", 8) == 0);
    CHECK(get(NVME_LOG_EFFECTS, 4096, 0) == 0);
    CHECK(got(4 * NVME_IDENTIFY, 4) == 1 && got(4 * NVME_FORMAT, 4) == 0x10003 && got(4 * 0x7f, 4) == 0);
    CHECK(got(1024 + 4 * NVME_OP_TX_WRITE, 4) == 3 && got(1024 + 4 * NVME_OP_READ, 4) == 1);
    for (uint32_t i = 0; i < NVME_LATENCIES; i++) fake.latency[i] = 7 * i + 1;
    CHECK(get(NVME_LOG_DRIVE, 4096, 0) == 0 && got(512, 4) == NVME_LATENCIES && got(516 + 4 * NVME_LATENCIES, 4) == 0);
    for (uint32_t i = 0; i < NVME_LATENCIES; i++) CHECK(got(516 + 4 * i, 4) == 7 * i + 1);
    CHECK(memcmp(at(BASE + 0x1000), "OTXDRIVE", 8) == 0 && got(12, 4) == 1 && got(16, 4) == 3 && got(40, 4) == 2);
    CHECK(got(44, 4) == 5 && got(48, 4) == 6 && got(52, 4) == 0xffffffff);
    CHECK(get(0x7f, 512, 0) == NVME_STATUS_LOG_PAGE_INVALID && get(0, 512, 0) == NVME_STATUS_LOG_PAGE_INVALID);
}

static void windows(void) {
    enabled();
    CHECK(get(NVME_LOG_DRIVE, 8, 16) == 0 && got(0, 4) == 3 && got(4, 4) == 1 && *at(BASE + 0x1008) == 0xa5);
    CHECK(get(NVME_LOG_DRIVE, 16, 4092) == 0 && got(0, 8) == 0 && got(8, 8) == 0);
    CHECK(get(NVME_LOG_DRIVE, 16, 4100) == NVME_STATUS_INVALID_FIELD);
    CHECK(get(NVME_LOG_DRIVE, 16, 2) == NVME_STATUS_INVALID_FIELD);
    CHECK(admin(.opcode = NVME_GET_LOG_PAGE, .dw10 = 0x7fu << 16 | NVME_LOG_SMART, .nsid = 2) ==
          NVME_STATUS_INVALID_NAMESPACE);
    CHECK(admin(.opcode = NVME_GET_LOG_PAGE, .dw10 = 0xffffu << 16 | NVME_LOG_SMART) == NVME_STATUS_INVALID_FIELD);
}

/* 40 KiB by a list whose first page has room for two entries. */
static void lists(void) {
    enabled();
    uint64_t list = BASE + 0x20000 - 24, next = BASE + 0x30000;
    for (uint32_t i = 0; i < 2; i++) memcpy(at(list + 8 * i), &(uint64_t){BASE + 0x40000 + 0x2000 * i}, 8);
    memcpy(at(list + 16), &next, 8);
    for (uint32_t i = 0; i < 8; i++) memcpy(at(next + 8 * i), &(uint64_t){BASE + 0x50000 + 0x2000 * i}, 8);
    CHECK(admin_at((struct fields){.opcode = NVME_GET_LOG_PAGE,
                                   .dw10 = (40960 / 4 - 1) << 16 | NVME_LOG_DRIVE,
                                   .prp1 = BASE + 0x1800,
                                   .prp2 = list}) == 0);
    CHECK(memcmp(at(BASE + 0x1800), "OTXDRIVE", 8) == 0);
    static const uint8_t zeroes[4096];
    for (uint32_t i = 0; i < 2; i++) CHECK(memcmp(at(BASE + 0x40000 + 0x2000 * i), zeroes, 4096) == 0);
    for (uint32_t i = 0; i < 7; i++) CHECK(memcmp(at(BASE + 0x50000 + 0x2000 * i), zeroes, 4096) == 0);
    CHECK(memcmp(at(BASE + 0x5e000), zeroes, 2048) == 0 && *at(BASE + 0x5e800) == 0xa5);
    memcpy(at(next + 8), &(uint64_t){BASE + 0x50004}, 8);
    CHECK(admin_at((struct fields){.opcode = NVME_GET_LOG_PAGE,
                                   .dw10 = (40960 / 4 - 1) << 16 | NVME_LOG_DRIVE,
                                   .prp1 = BASE + 0x1800,
                                   .prp2 = list}) == NVME_STATUS_PRP_OFFSET);
    for (uint32_t i = 0; i < 8; i++) memcpy(at(next + 4 + 8 * i), &(uint64_t){BASE + 0x50000 + 0x2000 * i}, 8);
    memcpy(at(list + 16), &(uint64_t){next + 4}, 8); /* the next page of the list */
    CHECK(admin_at((struct fields){.opcode = NVME_GET_LOG_PAGE,
                                   .dw10 = (40960 / 4 - 1) << 16 | NVME_LOG_DRIVE,
                                   .prp1 = BASE + 0x1800,
                                   .prp2 = list}) == NVME_STATUS_PRP_OFFSET);
}

/* Neither an entry that names a page nor the one that names the next page of the list; and what is read then is not
 * what was left of it. */
static void lists_that_cannot_be_read(void) {
    enabled();
    uint64_t list = BASE + 0x20000 - 16, next = BASE + 0x30000;
    memcpy(at(list), &(uint64_t){BASE + 0x40000}, 8);
    memcpy(at(list + 8), &next, 8);
    for (uint32_t i = 0; i < 2; i++) memcpy(at(next + 8 * i), &(uint64_t){BASE + 0x50000 + 0x2000 * i}, 8);
    struct fields f = {.opcode = NVME_GET_LOG_PAGE,
                       .dw10 = (14336 / 4 - 1) << 16 | NVME_LOG_DRIVE,
                       .prp1 = BASE + 0x1800,
                       .prp2 = list};
    for (uint32_t i = 0; i < 3; i++) {
        fake.unreadable = i < 2 ? list + 8 * i : next;
        CHECK(admin_at(f) == NVME_STATUS_TRANSFER_ERROR);
        fake.unreadable = 0;
        CHECK(admin_at(f) == 0 && memcmp(at(BASE + 0x1800), "OTXDRIVE", 8) == 0);
        static const uint8_t zeroes[4096];
        CHECK(memcmp(at(BASE + 0x50000), zeroes, 4096) == 0);
    }
    CHECK(nvme.errors == 3 && nvme.error[NVME_ERRORS - 1].status == NVME_STATUS_TRANSFER_ERROR);
}

const struct test log_tests[] = {
    {"SMART has the drive's health and the hosts' traffic, also when counters wrap", smart},
    {"the error log has the last failures of all queues, the newest first", errors},
    {"firmware slot, effects, the report of the start; no others", others},
    {"a log page is read from any multiple of 4, with zeroes behind its end", windows},
    {"a long read goes by a list of PRPs over two pages", lists},
    {"a list that cannot be read is a transfer error, and the next command goes", lists_that_cannot_be_read},
    {0},
};
