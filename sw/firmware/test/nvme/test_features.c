/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

static uint32_t get(uint32_t feature, uint32_t dw11) {
    CHECK(admin(.opcode = NVME_GET_FEATURES, .dw10 = feature, .dw11 = dw11) == 0);
    return answer.dw0;
}
static uint32_t set(uint32_t feature, uint32_t dw11) {
    return admin(.opcode = NVME_SET_FEATURES, .dw10 = feature, .dw11 = dw11);
}

static void queues(void) {
    enabled();
    CHECK(set(NVME_FEATURE_QUEUES, 0x00000000) == 0 && answer.dw0 == 0x00070007);
    CHECK(set(NVME_FEATURE_QUEUES, 0x0000ffff) == NVME_STATUS_INVALID_FIELD);
    CHECK(get(NVME_FEATURE_QUEUES, 0) == 0x00070007);
    CHECK(admin(.opcode = NVME_CREATE_CQ, .dw10 = 15u << 16 | 1, .dw11 = 3) == 0);
    CHECK(set(NVME_FEATURE_QUEUES, 0x00010001) == NVME_STATUS_SEQUENCE_ERROR);
}

static void hardware(void) {
    enabled();
    CHECK(get(NVME_FEATURE_ARBITRATION, 0) == 0x0f070303 && fake.arbitration == 0x0f070303); /* high, medium, low */
    CHECK(set(NVME_FEATURE_ARBITRATION, 0x01020304) == 0 && fake.arbitration == 0x01020304);
    CHECK(set(NVME_FEATURE_COALESCING, 0x0507) == 0 && fake.threshold == 7 && fake.time == 5);
    CHECK(set(NVME_FEATURE_VECTOR, 0x10003) == 0 && fake.without == 8 && get(NVME_FEATURE_VECTOR, 3) == 0x10003);
    CHECK(set(NVME_FEATURE_VECTOR, 3) == 0 && fake.without == 0 && get(NVME_FEATURE_VECTOR, 3) == 3);
    CHECK(set(NVME_FEATURE_VECTOR, NVME_VECTORS) == NVME_STATUS_INVALID_FIELD);
    CHECK(set(NVME_FEATURE_WRITE_CACHE, 0) == 0 && fake.write_through && get(NVME_FEATURE_WRITE_CACHE, 0) == 0);
    CHECK(set(NVME_FEATURE_WRITE_CACHE, 1) == 0 && !fake.write_through && get(NVME_FEATURE_WRITE_CACHE, 0) == 1);
}

static void others(void) {
    enabled();
    CHECK(set(NVME_FEATURE_POWER, 1) == NVME_STATUS_INVALID_FIELD && set(NVME_FEATURE_POWER, 0) == 0);
    CHECK(set(NVME_FEATURE_TEMPERATURE, 300) == 0 && get(NVME_FEATURE_TEMPERATURE, 0) == 300);
    CHECK(set(NVME_FEATURE_TEMPERATURE, 1u << 16) == NVME_STATUS_INVALID_FIELD);
    CHECK(set(NVME_FEATURE_TEMPERATURE, 15u << 16 | 301) == 0 && get(NVME_FEATURE_TEMPERATURE, 0) == 301); /* all */
    CHECK(admin(.opcode = NVME_GET_FEATURES, .dw10 = NVME_FEATURE_TEMPERATURE, .dw11 = 15u << 16) ==
          NVME_STATUS_INVALID_FIELD);
    CHECK(set(NVME_FEATURE_ERROR_RECOVERY, 20) == 0 && get(NVME_FEATURE_ERROR_RECOVERY, 0) == 20);
    CHECK(set(NVME_FEATURE_ATOMICITY, 1) == 0 && get(NVME_FEATURE_ATOMICITY, 0) == 1);
    CHECK(set(NVME_FEATURE_EVENTS, 0xff) == 0 && get(NVME_FEATURE_EVENTS, 0) == 0xff);
    static const uint8_t none[] = {0x00, 0x03, 0x0c, 0x0d, 0x0f, 0x10, 0x7f, 0x80, 0xff};
    for (uint32_t i = 0; i < sizeof none; i++) {
        CHECK(set(none[i], 0) == NVME_STATUS_INVALID_FIELD);
        CHECK(admin(.opcode = NVME_GET_FEATURES, .dw10 = none[i]) == NVME_STATUS_INVALID_FIELD);
    }
}

static void select(void) {
    enabled();
    CHECK(set(NVME_FEATURE_COALESCING, 0x0507) == 0);
    CHECK(get(NVME_FEATURE_COALESCING | 1u << 8, 0) == 0);
    CHECK(get(NVME_FEATURE_COALESCING | 2u << 8, 0) == 0);
    CHECK(get(NVME_FEATURE_COALESCING | 3u << 8, 0) == 4);
    CHECK(admin(.opcode = NVME_GET_FEATURES, .dw10 = 4u << 8 | 8) == NVME_STATUS_INVALID_FIELD);
    CHECK(set(NVME_FEATURE_COALESCING | 1u << 31, 0) == NVME_STATUS_NOT_SAVEABLE);
    CHECK(get(NVME_FEATURE_COALESCING, 0) == 0x0507);
}

static uint32_t directive(uint32_t opcode, uint32_t type, uint32_t operation, uint32_t dw12) {
    return admin(.opcode = opcode, .nsid = 1, .dw10 = 15, .dw11 = type << 8 | operation, .dw12 = dw12);
}

static void directives(void) {
    enabled();
    CHECK(directive(NVME_DIRECTIVE_RECEIVE, 0, 1, 0) == 0 && got(0, 4) == 3 && got(32, 4) == 1);
    CHECK(*at(BASE + 0x1000 + 64) == 0xa5);
    CHECK(directive(NVME_DIRECTIVE_RECEIVE, 1, 1, 0) == NVME_STATUS_INVALID_FIELD);
    CHECK(directive(NVME_DIRECTIVE_SEND, 1, 2, 0) == NVME_STATUS_INVALID_FIELD);
    CHECK(directive(NVME_DIRECTIVE_SEND, 0, 1, 0x101) == 0 && fake.streams);
    CHECK(directive(NVME_DIRECTIVE_RECEIVE, 0, 1, 0) == 0 && got(32, 4) == 3);
    CHECK(directive(NVME_DIRECTIVE_RECEIVE, 1, 1, 0) == 0 && got(0, 2) == 65535 && got(16, 4) == 1);
    CHECK(directive(NVME_DIRECTIVE_RECEIVE, 1, 2, 0) == 0 && got(0, 2) == 0);
    CHECK(directive(NVME_DIRECTIVE_RECEIVE, 1, 3, 4) == 0 && answer.dw0 == 0);
    CHECK(directive(NVME_DIRECTIVE_SEND, 1, 1, 0) == 0 && directive(NVME_DIRECTIVE_SEND, 1, 2, 0) == 0);
    CHECK(directive(NVME_DIRECTIVE_SEND, 0, 1, 0x201) == NVME_STATUS_INVALID_FIELD);
    CHECK(admin(.opcode = NVME_DIRECTIVE_SEND, .nsid = 2, .dw11 = 1, .dw12 = 0x101) == NVME_STATUS_INVALID_NAMESPACE);
    CHECK(admin(.opcode = NVME_DIRECTIVE_RECEIVE, .nsid = 1, .dw10 = 0x8000, .dw11 = 1) == NVME_STATUS_INVALID_FIELD);
    CHECK(directive(NVME_DIRECTIVE_SEND, 0, 1, 0x100) == 0 && !fake.streams);
    CHECK(directive(NVME_DIRECTIVE_SEND, 0, 1, 0x101) == 0 && fake.streams);
    fake.cc = 0;
    rounds(4);
    CHECK(!fake.streams); /* as after power on */
}

const struct test feature_tests[] = {
    {"the number of queues is eight, and is not changed when there are some", queues},
    {"features reach the hardware", hardware},
    {"the others are kept, or refused", others},
    {"directives are told, and streams are switched on and off", directives},
    {"current, default, saved and supported are told apart; none is saved", select},
    {0},
};
