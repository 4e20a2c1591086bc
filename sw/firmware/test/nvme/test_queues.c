/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

static uint32_t create(bool completion, uint32_t number, uint32_t entries, uint32_t dw11) {
    return admin(.opcode = completion ? NVME_CREATE_CQ : NVME_CREATE_SQ, .dw10 = (entries - 1) << 16 | number,
                 .dw11 = dw11);
}
static uint32_t cq(uint32_t number, uint32_t entries, uint32_t vector) {
    return create(true, number, entries, vector << 16 | 3);
}
static uint32_t sq(uint32_t number, uint32_t entries, uint32_t of) {
    return create(false, number, entries, of << 16 | 2 << 1 | 1);
}

static void all_of_them(void) {
    enabled();
    for (uint32_t i = 1; i <= NVME_QUEUES; i++) {
        CHECK(cq(i, NVME_ENTRIES, i + 7) == 0 && sq(i, 2 + i, i) == 0);
        const struct nvme_queue *c = &fake.queue[1][i], *s = &fake.queue[0][i];
        CHECK(c->valid && c->entries == NVME_ENTRIES && c->vector == i + 7 && c->interrupts &&
              c->base == BASE + 0x1000);
        CHECK(s->valid && s->entries == 2 + i && s->cq == i && s->priority == 2);
    }
    CHECK(cq(9, 16, 0) == NVME_STATUS_QID_INVALID && sq(9, 16, 1) == NVME_STATUS_QID_INVALID);
}

static void refused(void) {
    enabled();
    CHECK(cq(0, 16, 0) == NVME_STATUS_QID_INVALID);
    CHECK(cq(1, 1, 0) == NVME_STATUS_QUEUE_SIZE && cq(1, NVME_ENTRIES + 1, 0) == NVME_STATUS_QUEUE_SIZE);
    CHECK(cq(1, 16, NVME_VECTORS) == NVME_STATUS_VECTOR_INVALID);
    CHECK(create(true, 1, 16, 2) == NVME_STATUS_INVALID_FIELD); /* not contiguous */
    CHECK(admin_at((struct fields){.opcode = NVME_CREATE_CQ, .prp1 = BASE + 4, .dw10 = 15u << 16 | 1, .dw11 = 3}) ==
          NVME_STATUS_PRP_OFFSET);
    CHECK(admin(.opcode = NVME_CREATE_CQ, .nsid = 1, .dw10 = 15u << 16 | 1, .dw11 = 3) == NVME_STATUS_INVALID_FIELD);
    CHECK(cq(1, 16, 0) == 0 && cq(1, 16, 0) == NVME_STATUS_QID_INVALID);
    CHECK(sq(1, 16, 0) == NVME_STATUS_QID_INVALID && sq(1, 16, 9) == NVME_STATUS_QID_INVALID);
    CHECK(sq(1, 16, 2) == NVME_STATUS_CQ_INVALID);
    CHECK(admin(.opcode = NVME_DELETE_SQ, .dw10 = 1) == NVME_STATUS_QID_INVALID);
    CHECK(admin(.opcode = NVME_DELETE_SQ, .dw10 = 0) == NVME_STATUS_QID_INVALID);
    CHECK(admin(.opcode = NVME_DELETE_CQ, .dw10 = 2) == NVME_STATUS_QID_INVALID);
    CHECK(admin(.opcode = NVME_DELETE_CQ, .dw10 = 0x10001) == 0);
}

static void deletion(void) {
    enabled();
    CHECK(cq(3, 16, 0) == 0 && sq(1, 16, 3) == 0 && sq(2, 16, 3) == 0);
    CHECK(admin(.opcode = NVME_DELETE_CQ, .dw10 = 3) == NVME_STATUS_QUEUE_DELETION);
    fake.busy = 40;
    fake.completions = 0;
    CHECK(admin(.opcode = NVME_DELETE_SQ, .dw10 = 1) == 0);
    CHECK(!fake.queue[0][1].valid && fake.busy_left == 0);
    CHECK(admin(.opcode = NVME_DELETE_CQ, .dw10 = 3) == NVME_STATUS_QUEUE_DELETION);
    CHECK(admin(.opcode = NVME_DELETE_SQ, .dw10 = 2) == 0);
    CHECK(admin(.opcode = NVME_DELETE_CQ, .dw10 = 3) == 0 && !fake.queue[1][3].valid);
    CHECK(cq(3, 16, 0) == 0 && sq(2, 16, 3) == 0);
}

static void entries_have_one_size(void) {
    enabled();
    CHECK(cq(1, 16, 0) == 0);
    for (uint32_t bit = 16; bit < 24; bit++) {
        fake.cc = 0x00460001 ^ 1u << bit;
        CHECK((bit < 20 ? sq(1, 16, 1) : cq(2, 16, 0)) == NVME_STATUS_INVALID_FIELD);
        CHECK(bit < 20 || sq(1, 16, 1) == 0);
        CHECK(bit < 20 || admin(.opcode = NVME_DELETE_SQ, .dw10 = 1) == 0);
    }
}

static void creation_ends_when_hardware_has_the_queue(void) {
    enabled();
    fake.busy = 30;
    for (uint32_t completes = 0; completes < 2; completes++) {
        memset(fake.sqe, 0, sizeof fake.sqe);
        fake.sqe[0] = completes ? NVME_CREATE_SQ : NVME_CREATE_CQ;
        fake.sqe[6] = (uint32_t)(BASE + 0x1000), fake.sqe[7] = (uint32_t)(BASE >> 32);
        fake.sqe[10] = 15u << 16 | 1, fake.sqe[11] = completes ? 1u << 16 | 1 : 1;
        fake.waits = true, fake.completions = 0;
        rounds(20);
        CHECK(fake.queue[!completes][1].valid && fake.completions == 0); /* a doorbell now would be lost */
        rounds(20);
        CHECK(fake.completions == 1 && fake.completion[0].status == 0 && fake.busy_left == 0);
    }
    CHECK(cq(1, 16, 0) == NVME_STATUS_QID_INVALID && sq(1, 16, 1) == NVME_STATUS_QID_INVALID);
}

static void reset_amid_a_deletion(void) {
    enabled();
    CHECK(cq(3, 16, 0) == 0);
    fake.busy = 50;
    memset(fake.sqe, 0, sizeof fake.sqe);
    fake.sqe[0] = NVME_DELETE_CQ, fake.sqe[10] = 3, fake.waits = true, fake.completions = 0;
    rounds(5);
    fake.cc = 0;
    rounds(80);
    CHECK(fake.csts == 0 && fake.completions == 0);
    fake.busy = 0;
    fake.cc = 0x00460001;
    rounds(3);
    CHECK(cq(3, 16, 0) == 0);
}

const struct test queue_tests[] = {
    {"eight queues of each kind have the contexts that were asked for", all_of_them},
    {"queues that cannot be are refused with their own status", refused},
    {"a completion queue goes after its submission queues, a queue when it is quiet", deletion},
    {"entries of queues have one size", entries_have_one_size},
    {"a creation ends when hardware has the queue", creation_ends_when_hardware_has_the_queue},
    {"a reset in the middle of a deletion leaves no completion and no queue", reset_amid_a_deletion},
    {0},
};
