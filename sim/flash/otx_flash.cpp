// SPDX-License-Identifier: Apache-2.0
// Implements otx_flash.h. A clock is: inputs, evaluate with clk low, look at the outputs, evaluate with clk high.
#include "otx_flash.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <vector>

#include "Vtb_flash_backend.h"
#include "nand_model.h"
#include "otx_geometry.h"
#include "verilated.h"

namespace {

constexpr uint64_t latency = OTX_FRAME_LATENCY;
constexpr size_t words = 512;

struct Op {
    uint32_t op, ppn, frame, lpn, cookie;
};

struct Burst {
    uint32_t word, left, id;
    uint64_t due;
};

struct Flash {
    VerilatedContext context;
    Vtb_flash_backend top{&context};
    std::deque<Op> ops[OTX_FLASH_CLIENTS];
    std::deque<otx_flash_done> dones;
    std::vector<uint64_t> handed = std::vector<uint64_t>(1 << 16);
    std::vector<uint64_t> memory = std::vector<uint64_t>(words * OTX_FRAMES);
    std::deque<Burst> reads, writes, answers;
    uint64_t clock = 0;

    ~Flash() { top.final(); }

    uint32_t word_of(uint32_t address, uint32_t length) const {
        const uint32_t word = (address - OTX_FRAME_BASE) / 8;
        if (address < OTX_FRAME_BASE || word + length >= memory.size()) {
            fprintf(stderr, "otx_flash: frame memory has no address %08x\n", address);
            exit(71);
        }
        return word;
    }

    void tick() {
        const bool reading = !reads.empty() && reads.front().due <= clock, writing = !writes.empty(),
                   answering = !answers.empty() && answers.front().due <= clock;
        bool offered[OTX_FLASH_CLIENTS];
        for (int c = 0; c < OTX_FLASH_CLIENTS; c++) offered[c] = !ops[c].empty();
#define OTX_OFFER(CLIENT, NAME)               \
    top.NAME##_valid = offered[CLIENT];       \
    if (offered[CLIENT]) {                    \
        const Op &o = ops[CLIENT].front();    \
        top.NAME##_payload_op = o.op;         \
        top.NAME##_payload_ppn = o.ppn;       \
        top.NAME##_payload_frame = o.frame;   \
        top.NAME##_payload_kind = 1;          \
        top.NAME##_payload_lpn = o.lpn;       \
        top.NAME##_payload_cookie = o.cookie; \
    }                                         \
    top.NAME##Done_ready = 1
        OTX_OFFER(OTX_FLASH_WRITE, write);
        OTX_OFFER(OTX_FLASH_READ, read);
        OTX_OFFER(OTX_FLASH_LOG, log);
        OTX_OFFER(OTX_FLASH_FIRMWARE, firmware);
        top.frame_ar_ready = reads.size() < 8;
        top.frame_aw_ready = writes.size() < 8;
        top.frame_r_valid = reading;
        if (reading) {
            const Burst &b = reads.front();
            top.frame_r_payload_data = memory[b.word];
            top.frame_r_payload_id = b.id;
            top.frame_r_payload_last = b.left == 0;
        }
        top.frame_w_ready = writing;
        top.frame_b_valid = answering;
        if (answering) top.frame_b_payload_id = answers.front().id;
        top.clk = 0;
        top.eval();
        if (top.frame_ar_valid && top.frame_ar_ready)
            reads.push_back({word_of(top.frame_ar_payload_addr, top.frame_ar_payload_len), top.frame_ar_payload_len,
                             top.frame_ar_payload_id, clock + latency});
        if (top.frame_aw_valid && top.frame_aw_ready)
            writes.push_back({word_of(top.frame_aw_payload_addr, top.frame_aw_payload_len), top.frame_aw_payload_len,
                              top.frame_aw_payload_id, 0});
        if (reading && top.frame_r_ready) {
            reads.front().word++;
            if (reads.front().left-- == 0) reads.pop_front();
        }
        if (writing && top.frame_w_valid) {
            Burst &b = writes.front();
            uint64_t mask = 0;
            for (int i = 0; i < 8; i++) mask |= top.frame_w_payload_strb >> i & 1 ? uint64_t(0xFF) << (8 * i) : 0;
            memory[b.word] = (memory[b.word] & ~mask) | (top.frame_w_payload_data & mask);
            b.word++;
            if (b.left-- == 0) {
                answers.push_back({0, 0, b.id, clock + latency});
                writes.pop_front();
            }
        }
        if (answering && top.frame_b_ready) answers.pop_front();
#define OTX_PASS(CLIENT, NAME)                                                                \
    if (offered[CLIENT] && top.NAME##_ready) ops[CLIENT].pop_front();                         \
    if (top.NAME##Done_valid)                                                                 \
    dones.push_back({CLIENT, top.NAME##Done_payload_cookie, top.NAME##Done_payload_status, 0, \
                     handed[top.NAME##Done_payload_cookie], clock})
        OTX_PASS(OTX_FLASH_WRITE, write);
        OTX_PASS(OTX_FLASH_READ, read);
        OTX_PASS(OTX_FLASH_LOG, log);
        OTX_PASS(OTX_FLASH_FIRMWARE, firmware);
        top.clk = 1;
        top.eval();
        clock++;
    }
};

std::unique_ptr<Flash> flash;

}  // namespace

extern "C" {

void otx_flash_open(uint64_t seed) {
    const otx_nand_geometry geometry = OTX_NAND_GEOMETRY;
    const otx_nand_times times = OTX_NAND_TIMES;
    char message[200];
    flash.reset();
    const otx_nand_part part = {0, 0, 0, OTX_T_SUSP_NS, OTX_CACHE_OPS, OTX_PLANES, OTX_PLANES > 1, OTX_READ_RETRIES};
    otx_nand_set_times(&times);
    otx_nand_set_part(&part);
    otx_nand_set_unused(OTX_SPARE_BYTES - OTX_SPARE_USED);
    otx_nand_set_seed(seed);
    otx_nand_store_close();
    if (otx_nand_store_open(nullptr, &geometry, message, sizeof message) != 0) {
        fprintf(stderr, "otx_flash: %s\n", message);
        exit(71);
    }
    flash = std::make_unique<Flash>();
    flash->top.generation = 1;
    flash->top.nandMode = 6;  // the part's own times
    flash->top.reset = 1;
    for (int i = 0; i < 8; i++) flash->tick();
    flash->top.reset = 0;
    flash->dones.clear();
    flash->clock = 0;
}

void otx_flash_op(uint32_t client, uint32_t op, uint32_t ppn, uint32_t frame, uint32_t lpn, uint32_t cookie) {
    flash->handed[cookie & 0xFFFF] = flash->clock;
    flash->ops[client].push_back({op, ppn, frame, lpn, cookie & 0xFFFF});
}

int otx_flash_step(uint64_t until, struct otx_flash_done *done) {
    while (flash->dones.empty() && flash->clock < until) flash->tick();
    if (flash->dones.empty()) return 0;
    *done = flash->dones.front();
    flash->dones.pop_front();
    return 1;
}

uint64_t otx_flash_clock(void) { return flash->clock; }
uint64_t *otx_flash_frame(uint32_t frame) { return &flash->memory[words * frame]; }
}
