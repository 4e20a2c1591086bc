/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#define IDENTIFY(...) admin(.opcode = NVME_IDENTIFY, __VA_ARGS__)

static void controller(void) {
    enabled();
    CHECK(IDENTIFY(.dw10 = 1) == 0);
    CHECK(memcmp(at(BASE + 0x1000 + 4), "OTX1234abcd         ", 20) == 0);
    CHECK(memcmp(at(BASE + 0x1000 + 24), "OpenTxSSD test                          ", 40) == 0);
    CHECK(got(77, 1) == 5 && got(80, 4) == 0x00010400 && got(512, 2) == 0x4466 && got(516, 4) == 1);
    CHECK(got(526, 2) == 31 && got(528, 2) == 31 && got(525, 1) == 7 && got(536, 4) == 0);
    CHECK(strcmp((char *)at(BASE + 0x1000 + 768),
                 "nqn.2014-08.org.nvmexpress:uuid:6f747873-7364-806e-8076-6d651234abcd") == 0);
    CHECK(memcmp(at(BASE + 0x1000 + 3072), "OTXTXSSD", 8) == 0 && got(3084, 4) == OTX_TXIDS && got(3088, 4) == 48);
    CHECK(got(4092, 4) == 0);
    CHECK(*at(BASE + 0x2000) == 0xa5);
}

static void namespaces(void) {
    enabled();
    CHECK(IDENTIFY(.nsid = 1, .dw10 = 0) == 0);
    CHECK(got(0, 8) == 1000 && got(8, 8) == 1000 && got(24, 1) == 2 && got(34, 2) == 31 && got(36, 2) == 31);
    CHECK(got(25, 1) == 0 && got(26, 1) == 0 && got(33, 1) == 9 && got(128, 4) == 12u << 16);
    CHECK(IDENTIFY(.nsid = 0, .dw10 = 0) == NVME_STATUS_INVALID_NAMESPACE);
    CHECK(IDENTIFY(.nsid = 2, .dw10 = 0) == NVME_STATUS_INVALID_NAMESPACE);
    CHECK(IDENTIFY(.nsid = 0xffffffff, .dw10 = 0) == NVME_STATUS_INVALID_NAMESPACE);
    CHECK(IDENTIFY(.nsid = 0, .dw10 = 2) == 0 && got(0, 8) == 1);
    CHECK(IDENTIFY(.nsid = 1, .dw10 = 2) == 0 && got(0, 8) == 0);
    CHECK(IDENTIFY(.nsid = 0xffffffff, .dw10 = 2) == NVME_STATUS_INVALID_NAMESPACE);
    CHECK(IDENTIFY(.nsid = 1, .dw10 = 3) == 0 && got(0, 2) == 0x1003 && got(16, 4) == 0xcdab3412 && got(20, 8) == 0);
    CHECK(IDENTIFY(.nsid = 1, .dw10 = 0x99) == NVME_STATUS_INVALID_FIELD);
}

/* Identify Controller over these PRPs, compared with what one page gave. */
static void over(uint64_t prp1, uint64_t prp2) {
    static uint8_t whole[4096];
    CHECK(IDENTIFY(.dw10 = 1) == 0);
    memcpy(whole, at(BASE + 0x1000), 4096);
    memset(fake.memory, 0xa5, MEMORY);
    CHECK(admin_at((struct fields){.opcode = NVME_IDENTIFY, .dw10 = 1, .prp1 = prp1, .prp2 = prp2}) == 0);
    uint32_t first = 4096 - (uint32_t)(prp1 % 4096), touched = 0;
    CHECK(memcmp(at(prp1), whole, first) == 0);
    CHECK(first == 4096 || memcmp(at(prp2), whole + first, 4096 - first) == 0);
    for (uint32_t i = 0; i < MEMORY; i++) touched += fake.memory[i] != 0xa5;
    CHECK(touched <= 4096);
}

static void prps(void) {
    enabled();
    over(BASE + 0x3000, 0);
    over(BASE + 0x3004, BASE + 0x8000);
    over(BASE + 0x3ffc, BASE + 0x8000);
    CHECK(admin_at((struct fields){.opcode = NVME_IDENTIFY, .dw10 = 1, .prp1 = BASE + 2}) == NVME_STATUS_PRP_OFFSET);
    CHECK(admin_at((struct fields){.opcode = NVME_IDENTIFY, .dw10 = 1, .prp1 = BASE + 4, .prp2 = BASE + 8}) ==
          NVME_STATUS_PRP_OFFSET);
}

static void malformed(void) {
    enabled();
    CHECK(IDENTIFY(.dw10 = 1, .flags = 0x4000) == NVME_STATUS_INVALID_FIELD);
    CHECK(IDENTIFY(.dw10 = 1, .flags = 0x100) == NVME_STATUS_INVALID_FIELD);
    static const uint8_t none[] = {0x03, 0x07, 0x0b, 0x0d, 0x10, 0x11, 0x14, 0x15,
                                   0x18, 0x1c, 0x7c, 0x81, 0x82, 0x84, 0xc0, 0xff};
    for (uint32_t i = 0; i < sizeof none; i++) CHECK(admin(.opcode = none[i]) == NVME_STATUS_INVALID_OPCODE);
    CHECK(IDENTIFY(.dw10 = 1) == 0);
}

const struct test identify_tests[] = {
    {"Identify Controller says what the drive is and can", controller},
    {"Identify of namespace 1, of others, and the lists", namespaces},
    {"data goes where PRPs at any multiple of 4 say, and nowhere else", prps},
    {"a command that is fused, has SGLs or is not there is refused", malformed},
    {0},
};
