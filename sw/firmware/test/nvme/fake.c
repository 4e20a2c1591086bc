/* SPDX-License-Identifier: Apache-2.0 */
#include "fake.h"

#include <stdlib.h>

struct fake fake;
struct nvme nvme;
struct nvme_drive drive;
struct completion answer;
static const uint32_t lost[2] = {5, 6};

uint32_t nvme_hal_cc(void) { return fake.cc; }
uint32_t nvme_hal_aqa(void) { return fake.aqa; }
uint64_t nvme_hal_asq(void) { return fake.asq; }
uint64_t nvme_hal_acq(void) { return fake.acq; }
void nvme_hal_csts(uint32_t csts) { fake.csts = csts; }
void nvme_hal_working(bool working) { fake.working = working; }
bool nvme_hal_quiet(void) { return fake.quiet; }
uint32_t nvme_hal_events(void) {
    uint32_t events = fake.events;
    fake.events = 0;
    return events;
}

bool nvme_hal_command(uint32_t sqe[16]) {
    if (!fake.waits) return false;
    fake.waits = false;
    memcpy(sqe, fake.sqe, sizeof fake.sqe);
    return true;
}

bool nvme_hal_room(void) { return !fake.full; }

void nvme_hal_complete(uint32_t cid, uint32_t status, uint32_t dw0) {
    CHECK(fake.completions < 64 && status < 0x8000 && !fake.full);
    fake.completion[fake.completions++] = (struct completion){cid, status, dw0};
}

void nvme_hal_put(uint32_t word, uint32_t value) {
    CHECK(word < NVME_BUFFER_WORDS);
    fake.buffer[word] = value;
}
uint32_t nvme_hal_get(uint32_t word) {
    CHECK(word < NVME_BUFFER_WORDS);
    return fake.buffer[word];
}

uint8_t *at(uint64_t address) {
    CHECK(address >= BASE && address < BASE + MEMORY);
    return fake.memory + (address - BASE);
}

static uint8_t *transfer(uint64_t address, uint32_t where, uint32_t bytes) {
    CHECK(address % 4 == 0 && where % 4 == 0 && bytes % 4 == 0 && bytes > 0);
    CHECK(where + bytes <= 4096 && address % 4096 + bytes <= 4096);
    return at(address);
}
void nvme_hal_to_host(uint64_t address, uint32_t where, uint32_t bytes) {
    memcpy(transfer(address, where, bytes), (uint8_t *)fake.buffer + where, bytes);
}
bool nvme_hal_from_host(uint64_t address, uint32_t where, uint32_t bytes) {
    const uint8_t *from = transfer(address, where, bytes);
    memcpy((uint8_t *)fake.buffer + where, from, bytes);
    return fake.unreadable != address;
}

void nvme_hal_queue(const struct nvme_queue *q) {
    CHECK(q->number <= NVME_QUEUES && fake.busy_left == 0);
    fake.queue[q->completion][q->number] = *q;
    fake.busy_left = fake.busy;
}
bool nvme_hal_queue_busy(void) { return fake.busy_left > 0 && fake.busy_left-- > 0; }

void nvme_hal_coalesce(uint32_t threshold, uint32_t time, uint32_t without) {
    fake.threshold = threshold, fake.time = time, fake.without = without;
}
void nvme_hal_modes(bool write_through, bool streams) { fake.write_through = write_through, fake.streams = streams; }
void nvme_hal_arbitration(uint32_t word) { fake.arbitration = word; }

bool nvme_hal_failed(struct nvme_failed *f) {
    if (!fake.has_failed) return false;
    *f = fake.failed;
    fake.has_failed = false;
    return true;
}

bool nvme_hal_own_start(const struct nvme_own *own) {
    CHECK(!fake.own_open && fake.owns < 1024);
    fake.own[fake.owns++] = *own;
    fake.own_open = true;
    fake.own_left = 3;
    if (own->opcode == OTX_OP_CHECKPOINT) fake.own_result = 7;
    return true;
}
bool nvme_hal_own_done(uint32_t *status, uint32_t *result) {
    CHECK(fake.own_open);
    if (fake.own_left > 0 && fake.own_left-- > 0) return false;
    fake.own_open = false;
    *status = fake.own_status, *result = fake.own_result;
    if (fake.own[fake.owns - 1].opcode == OTX_OP_ABORT && fake.own[fake.owns - 1].txid % 2)
        *status = OTX_STATUS_TX_INVALID;
    return true;
}

struct nvme_traffic nvme_hal_traffic(void) { return fake.traffic; }

uint32_t nvme_hal_latency(uint32_t bucket) {
    CHECK(bucket < NVME_LATENCIES);
    return fake.latency[bucket];
}

void power_on(void) {
    memset(&fake, 0, sizeof fake);
    memset(fake.memory, 0xa5, sizeof fake.memory);
    fake.quiet = true;
    drive = (struct nvme_drive){.model = "OpenTxSSD test",
                                .id = 0x1234abcd,
                                .blocks = 1000,
                                .tx_entries = 48,
                                .clock_ps = 10000,
                                .orderly = true,
                                .starts = 3,
                                .power_cuts = 1,
                                .spare = 30,
                                .bad = 2,
                                .doubtful = 2,
                                .doubtful_lpn = lost};
    nvme_begin(&nvme, &drive);
}

void rounds(uint32_t n) {
    while (n--) nvme_step(&nvme);
}

void enabled(void) {
    power_on();
    fake.aqa = 31u << 16 | 15;
    fake.asq = BASE + 0x10000, fake.acq = BASE + 0x11000;
    fake.cc = 0x00460001;
    rounds(2);
    CHECK(fake.csts == NVME_CSTS_RDY);
}

uint32_t admin_at(struct fields f) {
    static uint16_t cid;
    CHECK(!fake.waits);
    memset(fake.sqe, 0, sizeof fake.sqe);
    uint32_t words[16] = {f.opcode | f.flags | (uint32_t)++cid << 16, f.nsid};
    words[6] = (uint32_t)f.prp1, words[7] = (uint32_t)(f.prp1 >> 32);
    words[8] = (uint32_t)f.prp2, words[9] = (uint32_t)(f.prp2 >> 32);
    words[10] = f.dw10, words[11] = f.dw11, words[12] = f.dw12, words[13] = f.dw13;
    memcpy(fake.sqe, words, sizeof words);
    fake.waits = true;
    fake.completions = 0;
    for (uint32_t i = 0; i < 2000 && !fake.completions; i++) rounds(1);
    CHECK(fake.completions == 1 && fake.completion[0].cid == cid);
    answer = fake.completion[0];
    if (answer.status && answer.status != NVME_STATUS_TRANSFER_ERROR) CHECK(answer.status & NVME_DO_NOT_RETRY);
    return answer.status & 0x7ff;
}

uint64_t got(uint32_t where, uint32_t bytes) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) value |= (uint64_t)at(BASE + 0x1000)[where + i] << 8 * i;
    return value;
}
