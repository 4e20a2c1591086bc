/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

static void becomes_ready(void) {
    enabled();
    const struct nvme_queue *sq = &fake.queue[0][0], *cq = &fake.queue[1][0];
    CHECK(sq->valid && sq->base == fake.asq && sq->entries == 16);
    CHECK(cq->valid && cq->base == fake.acq && cq->entries == 32 && cq->interrupts && cq->vector == 0);
}

static void wrong_configurations(void) {
    static const uint32_t wrong[] = {0x00460011, 0x00460081, 0x00461001};
    for (uint32_t i = 0; i < 3; i++) {
        power_on();
        fake.aqa = 31u << 16 | 15, fake.asq = fake.acq = BASE;
        fake.cc = wrong[i];
        rounds(3);
        CHECK(fake.csts == NVME_CSTS_CFS);
        fake.cc = 0;
        rounds(3);
        CHECK(fake.csts == 0);
    }
    power_on();
    fake.aqa = 0, fake.cc = 0x00460001;
    rounds(3);
    CHECK(fake.csts == NVME_CSTS_CFS);
}

static void disabling_waits_until_quiet(void) {
    enabled();
    CHECK(admin(.opcode = NVME_CREATE_CQ, .dw10 = 15u << 16 | 1, .dw11 = 3) == 0);
    CHECK(admin(.opcode = NVME_SET_FEATURES, .dw10 = NVME_FEATURE_EVENTS, .dw11 = 1) == 0);
    fake.cc = 0, fake.quiet = false;
    rounds(20);
    CHECK(fake.csts & NVME_CSTS_RDY);
    fake.quiet = true;
    rounds(3);
    CHECK(fake.csts == 0);
    fake.cc = 0x00460001;
    rounds(3);
    CHECK(fake.csts == NVME_CSTS_RDY);
    /* the queue is gone, the feature as before */
    CHECK(admin(.opcode = NVME_DELETE_CQ, .dw10 = 1) == NVME_STATUS_QID_INVALID);
    CHECK(admin(.opcode = NVME_GET_FEATURES, .dw10 = NVME_FEATURE_EVENTS) == 0 && answer.dw0 == 0);
}

static void a_short_disable_is_not_missed(void) {
    enabled();
    CHECK(admin(.opcode = NVME_CREATE_CQ, .dw10 = 15u << 16 | 1, .dw11 = 3) == 0);
    fake.events = 1u << NVME_EVENT_DISABLED; /* and enabled again */
    rounds(4);
    CHECK(fake.csts == NVME_CSTS_RDY);
    CHECK(admin(.opcode = NVME_DELETE_CQ, .dw10 = 1) == NVME_STATUS_QID_INVALID);
}

static void shutdown_is_a_checkpoint(void) {
    enabled();
    fake.cc |= 1u << 14;
    rounds(2);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_SHUTTING) && fake.working);
    rounds(100);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_SHUT) && !fake.working);
    static const uint8_t order[] = {OTX_OP_RECOVER, OTX_OP_FLUSH, OTX_OP_CHECKPOINT, OTX_OP_QUERY};
    CHECK(fake.owns == 4);
    for (uint32_t i = 0; i < 4; i++) CHECK(fake.own[i].opcode == order[i]);
    CHECK(fake.own[2].arg == 1 && fake.own[3].arg == OTX_QUERY_HEALTH + FTL_HEALTH_ASKED_CHECKPOINT);
    fake.cc = 0;
    rounds(3);
    CHECK(fake.csts == 0);
}

static void shutdown_waits_for_its_checkpoint(void) {
    enabled();
    fake.cc |= 2u << 14;
    while (fake.owns < 4) rounds(1);
    fake.own_result = 6; /* another one's */
    rounds(200);
    CHECK(fake.csts & NVME_CSTS_SHUTTING && fake.owns > 10);
    fake.own_result = 0x107; /* it could not be done: the drive goes off all the same */
    rounds(20);
    CHECK(fake.csts & NVME_CSTS_SHUT);
}

static void a_reading_drive_shuts_down_at_once(void) {
    enabled();
    drive.read_only = true;
    fake.cc |= 1u << 14;
    rounds(2);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_SHUT) && fake.owns == 0);
}

static void reset_amid_a_shutdown(void) {
    enabled();
    fake.cc |= 1u << 14;
    while (fake.owns < 2) rounds(1);
    fake.cc = 0;
    rounds(20);
    CHECK(fake.csts == 0 && !fake.own_open);
    fake.cc = 0x00464001; /* enabled, and shut down again: from the beginning */
    rounds(100);
    CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_SHUT) && fake.own[2].opcode == OTX_OP_RECOVER);
}

/* CC.SHN is set while EN is 0: what is written after the next enable is flushed all the same. */
static void a_shutdown_of_a_disabled_controller_is_not_the_next_one(void) {
    for (uint32_t part = 0; part < 2; part++) {
        enabled();
        fake.cc = 1u << 14;
        rounds(part ? 4 : 100);
        if (part == 0) CHECK(fake.csts == NVME_CSTS_SHUT);
        fake.cc = 0x00460001;
        rounds(20);
        CHECK(fake.csts == NVME_CSTS_RDY && !fake.own_open);
        uint32_t before = fake.owns;
        fake.cc = 0x00464001;
        rounds(100);
        CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_SHUT) && fake.owns == before + 4);
        CHECK(fake.own[before].opcode == OTX_OP_RECOVER && fake.own[before + 1].opcode == OTX_OP_FLUSH);
    }
}

/* CC.SHN goes back to 0 while EN is 0, as by a reset of the function: nothing goes on for ever. */
static void a_shutdown_that_is_taken_back_ends(void) {
    for (uint32_t begun = 0; begun < 12; begun++) {
        enabled();
        fake.cc = 0;
        rounds(20);
        fake.cc = 1u << 14;
        rounds(begun);
        fake.cc = 0;
        rounds(20);
        CHECK(!(fake.csts & NVME_CSTS_SHUTTING) && !fake.working && !fake.own_open);
        uint32_t before = fake.owns;
        fake.cc = 0x00464001;
        rounds(100);
        CHECK(fake.csts == (NVME_CSTS_RDY | NVME_CSTS_SHUT) && fake.owns == before + 4);
    }
}

static void an_admin_queue_of_too_many_entries_is_fatal(void) {
    for (uint32_t shift = 0; shift <= 16; shift += 16) {
        power_on();
        fake.aqa = (15u << 16 | 15) & ~(0xfffu << shift);
        fake.aqa |= 1024u << shift;
        fake.asq = fake.acq = BASE, fake.cc = 0x00460001;
        rounds(3);
        CHECK(fake.csts == NVME_CSTS_CFS);
        power_on();
        fake.aqa = 1023u << 16 | 1023, fake.asq = fake.acq = BASE, fake.cc = 0x00460001;
        rounds(3);
        CHECK(fake.csts == NVME_CSTS_RDY && fake.queue[0][0].entries == 1024);
    }
}

const struct test control_tests[] = {
    {"a controller that is enabled has its admin queue and is ready", becomes_ready},
    {"a configuration that cannot be is fatal until it is disabled", wrong_configurations},
    {"a controller is not ready until hardware is quiet", disabling_waits_until_quiet},
    {"a reset that is over before firmware looks is a reset", a_short_disable_is_not_missed},
    {"shutdown aborts, flushes and makes a checkpoint", shutdown_is_a_checkpoint},
    {"shutdown waits for its own checkpoint", shutdown_waits_for_its_checkpoint},
    {"a drive that only reads shuts down at once", a_reading_drive_shuts_down_at_once},
    {"a reset in the middle of a shutdown ends it", reset_amid_a_shutdown},
    {"a shutdown that is taken back ends", a_shutdown_that_is_taken_back_ends},
    {"a shutdown of a disabled controller is not the next one",
     a_shutdown_of_a_disabled_controller_is_not_the_next_one},
    {"an admin queue of more than 1,024 entries is fatal", an_admin_queue_of_too_many_entries_is_fatal},
    {0},
};
