/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "fake.h"

static uint64_t state;
static uint32_t any(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

/* Every command has one completion, and data goes only where the fake lets it. SEED, RUNS. */
static void random_commands(void) {
    unsigned long runs = getenv("RUNS") ? strtoul(getenv("RUNS"), NULL, 10) : 20000;
    state = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 10) : 1;
    static const uint8_t opcodes[] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 25, 26, 128, 3, 129};
    uint32_t good = 0, bad = 0, events = 0;
    enabled();
    for (unsigned long i = 0; i < runs; i++) {
        memset(fake.sqe, 0, sizeof fake.sqe);
        uint32_t opcode = any(20) ? opcodes[any(sizeof opcodes)] : any(256);
        uint64_t prp1 = BASE + 0x1000 + (any(2) ? 0 : any(0x1000)), prp2 = BASE + 0x4000 + (any(3) ? 0 : any(64));
        for (uint64_t entry = 0; entry < 64; entry++) /* a list, were it one */
            memcpy(at(BASE + 0x4000 + 8 * entry), &(uint64_t){BASE + 0x6000 + (entry << 12)}, 8);
        if (opcode == NVME_GET_LOG_PAGE && any(2)) prp2 &= ~7ull;
        uint32_t words[16] = {opcode | (any(30) ? 0 : any(0x10000) << 8 & 0xff00) | (uint32_t)i << 16, any(3)};
        words[6] = (uint32_t)prp1, words[7] = (uint32_t)(prp1 >> 32);
        words[8] = (uint32_t)prp2, words[9] = (uint32_t)(prp2 >> 32);
        words[10] = any(4) ? any(12) | any(12) << 16 : any(0xffffffff);
        words[11] = any(4) ? any(4) | any(12) << 16 : any(0xffffffff);
        for (uint32_t w = 12; w < 16; w++) words[w] = any(8) ? 0 : any(0xffffffff);
        if (words[11] & 0xffff && opcode == NVME_GET_LOG_PAGE) words[11] = 0;
        memcpy(fake.sqe, words, sizeof words);
        fake.waits = true, fake.completions = 0, fake.owns = 0;
        bool open = (words[0] & 0xc3ff) == NVME_ASYNC_EVENT && !words[1] && nvme.requests < NVME_EVENTS;
        rounds(400);
        CHECK(fake.completions == (open ? 0u : 1u) && !fake.waits);
        if (open) events++;
        else if (fake.completion[0].status) bad++;
        else good++;
        if (any(50)) continue;
        fake.cc = 0;
        rounds(10);
        CHECK(fake.csts == 0);
        fake.cc = 0x00460001;
        rounds(3);
        CHECK(fake.csts == NVME_CSTS_RDY);
    }
    CHECK(good > runs / 50 && bad > runs / 50 && events > 0);
}

const struct test random_tests[] = {
    {"each of many random commands has one completion, and the controller goes on", random_commands},
    {0},
};
