/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

static void request(uint32_t cid) {
    memset(fake.sqe, 0, sizeof fake.sqe);
    fake.sqe[0] = NVME_ASYNC_EVENT | cid << 16;
    fake.waits = true;
    rounds(1);
}

static void read_log(uint32_t log, uint32_t keep) {
    CHECK(admin(.opcode = NVME_GET_LOG_PAGE, .dw10 = 0x7fu << 16 | keep << 15 | log) == 0);
    fake.completions = 0;
    rounds(3);
}

static void warnings(void) {
    enabled();
    request(100);
    drive.spare = 0, drive.bad = 32;
    rounds(3);
    CHECK(fake.completions == 0); /* not asked for */
    CHECK(admin(.opcode = NVME_SET_FEATURES, .dw10 = NVME_FEATURE_EVENTS, .dw11 = 0xff) == 0);
    rounds(1);
    CHECK(fake.completions == 2 && fake.completion[1].cid == 100 && fake.completion[1].dw0 == 0x020201);
    request(101);
    rounds(3);
    CHECK(fake.completions == 2); /* told already */
    read_log(NVME_LOG_SMART, 1);
    CHECK(fake.completions == 0);
    CHECK(admin_at(
              (struct fields){.opcode = NVME_GET_LOG_PAGE, .dw10 = 0x7fu << 16 | NVME_LOG_SMART, .prp1 = BASE + 2}) ==
          NVME_STATUS_PRP_OFFSET);
    fake.completions = 0;
    rounds(3);
    CHECK(fake.completions == 0); /* it has not been read */
    read_log(NVME_LOG_SMART, 0);
    CHECK(fake.completions == 1 && fake.completion[0].cid == 101);
}

static void doorbells(void) {
    enabled();
    request(7);
    fake.events = 1u << NVME_EVENT_DOORBELL_VALUE;
    rounds(2);
    CHECK(fake.completions == 1 && fake.completion[0].cid == 7 && fake.completion[0].dw0 == 0x010100);
    request(8);
    fake.events = 1u << NVME_EVENT_DOORBELL_REGISTER;
    rounds(2);
    CHECK(fake.completions == 1);
    read_log(NVME_LOG_ERRORS, 0);
    fake.events = 1u << NVME_EVENT_DOORBELL_REGISTER;
    rounds(2);
    CHECK(fake.completions == 1 && fake.completion[0].cid == 8 && fake.completion[0].dw0 == 0x010000);
}

static void too_many(void) {
    enabled();
    for (uint32_t i = 0; i < NVME_EVENTS; i++) request(i);
    CHECK(fake.completions == 0);
    CHECK(admin(.opcode = NVME_ASYNC_EVENT) == NVME_STATUS_EVENT_LIMIT);
    fake.cc = 0;
    rounds(4);
    fake.cc = 0x00460001;
    fake.completions = 0;
    rounds(4);
    CHECK(fake.completions == 0); /* a reset forgets them */
    request(9);
    CHECK(fake.completions == 0);
}

static void a_full_queue(void) {
    enabled();
    request(7);
    fake.full = true;
    fake.events = 1u << NVME_EVENT_DOORBELL_VALUE;
    request(8);
    rounds(20);
    CHECK(fake.completions == 0 && fake.waits);
    fake.full = false;
    rounds(2);
    CHECK(fake.completions == 1 && fake.completion[0].cid == 7 && !fake.waits);
}

static void abort_and_format(void) {
    enabled();
    CHECK(admin(.opcode = NVME_ABORT, .dw10 = 0x50001) == 0 && answer.dw0 == 1);
    CHECK(admin(.opcode = NVME_FORMAT, .nsid = 1) == 0);
    CHECK(fake.own[0].opcode == OTX_OP_RECOVER); /* else a COMMIT would bring old data back */
    for (uint32_t i = 0; i < OTX_TXIDS; i++)
        CHECK(fake.own[1 + i].opcode == OTX_OP_ABORT && fake.own[1 + i].txid == (NVME_OWN_TX | i));
    const struct nvme_own *own = fake.own + OTX_TXIDS;
    CHECK(fake.owns == OTX_TXIDS + 34 && own[32].lba == 992 && own[32].count == 8 && own[33].opcode == OTX_OP_FLUSH);
    for (uint32_t i = 1; i < 32; i++) CHECK(own[i].opcode == OTX_OP_TRIM && own[i].lba == 32 * (i - 1));
    for (uint32_t i = 1; i < 32; i++) CHECK(own[i].count == 32);
    CHECK(admin(.opcode = NVME_FORMAT, .nsid = 2) == NVME_STATUS_INVALID_NAMESPACE);
    CHECK(admin(.opcode = NVME_FORMAT, .nsid = 1, .dw10 = 1) == NVME_STATUS_FORMAT_INVALID);
    CHECK(admin(.opcode = NVME_FORMAT, .nsid = 1, .dw10 = 1u << 9) == NVME_STATUS_INVALID_FIELD);
    CHECK(admin(.opcode = NVME_FORMAT, .nsid = 1, .dw10 = 1u << 5) == NVME_STATUS_FORMAT_INVALID);
    fake.own_status = OTX_STATUS_WRITE_FAULT;
    CHECK(admin(.opcode = NVME_FORMAT, .nsid = 0xffffffff) == NVME_STATUS_INTERNAL_ERROR);
    drive.read_only = true;
    CHECK(admin(.opcode = NVME_FORMAT, .nsid = 1) == NVME_STATUS_READ_ONLY);
}

static void reset_amid_a_format(void) {
    enabled();
    memset(fake.sqe, 0, sizeof fake.sqe);
    fake.sqe[0] = NVME_FORMAT, fake.sqe[1] = 1, fake.waits = true;
    rounds(12);
    CHECK(fake.owns > 1);
    fake.cc = 0;
    rounds(10);
    CHECK(fake.csts == 0 && !fake.own_open && fake.completions == 0);
}

/* A shutdown waits for the end of a Format, and no admin command begins until it has ended. */
static void shutdown_amid_a_format(void) {
    enabled();
    memset(fake.sqe, 0, sizeof fake.sqe);
    fake.sqe[0] = NVME_FORMAT, fake.sqe[1] = 1, fake.waits = true;
    rounds(12);
    fake.cc |= 1u << 14;
    rounds(12);
    CHECK(fake.csts == NVME_CSTS_RDY && fake.completions == 0);
    while (fake.completions == 0) rounds(1);
    fake.sqe[0] = NVME_IDENTIFY, fake.waits = true;
    for (uint32_t n = 0; !(fake.csts & NVME_CSTS_SHUT); rounds(1)) CHECK(fake.waits && n++ < 400);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_SHUT) && fake.completions == 1);
    fake.waits = false;
}

/* What was fetched behind the entry never ends, so the queue's end does not come either. */
static void shutdown_beside_an_end_of_a_queue_that_does_not_come(void) {
    enabled();
    CHECK(admin(.opcode = NVME_CREATE_CQ, .dw10 = 15u << 16 | 1, .dw11 = 3) == 0);
    memset(fake.sqe, 0, sizeof fake.sqe);
    fake.sqe[0] = NVME_DELETE_CQ, fake.sqe[10] = 1, fake.waits = true, fake.busy = 1u << 30;
    uint32_t before = fake.completions;
    rounds(12);
    fake.events = 1u << NVME_EVENT_SQE_UNREAD;
    rounds(2);
    fake.cc |= 1u << 14;
    rounds(200);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_CFS | NVME_CSTS_SHUT) && fake.completions == before);
}

static void an_entry_that_cannot_be_read(void) {
    enabled();
    request(7);
    fake.events = 1u << NVME_EVENT_SQE_UNREAD;
    rounds(2);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_CFS));
    CHECK(fake.completions == 1 && fake.completion[0].cid == 7 && fake.completion[0].dw0 == 0x010300);
    read_log(NVME_LOG_ERRORS, 0);
    CHECK(got(0, 8) == 1 && got(8, 8) == 0xffff0008ffffffff && got(24, 4) == 0);
    fake.cc |= 1u << 14; /* a shutdown is possible, and CFS stays */
    rounds(200);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_CFS | NVME_CSTS_SHUT));
    fake.cc = 0, fake.events = 1u << NVME_EVENT_DISABLED | 1u << NVME_EVENT_SQE_UNREAD;
    rounds(4);
    CHECK(fake.csts == 0);
    fake.cc = 0x00460001;
    rounds(4);
    CHECK(fake.csts == NVME_CSTS_RDY && nvme.errors == 1);
}

const struct test event_tests[] = {
    {"a warning completes a request once, until SMART is read", warnings},
    {"a wrong doorbell completes a request once, until the error log is read", doorbells},
    {"a fifth request is refused, and a reset forgets them", too_many},
    {"nothing is completed while the completion queue is full, and nothing is lost", a_full_queue},
    {"Abort takes nothing back; Format deallocates all blocks, durably", abort_and_format},
    {"a reset in the middle of Format ends it", reset_amid_a_format},
    {"a shutdown waits for Format, and admin commands for it", shutdown_amid_a_format},
    {"a shutdown does not wait for the end of a queue that cannot come",
     shutdown_beside_an_end_of_a_queue_that_does_not_come},
    {"an entry of a queue that cannot be read is fatal until a reset, and told", an_entry_that_cannot_be_read},
    {0},
};
