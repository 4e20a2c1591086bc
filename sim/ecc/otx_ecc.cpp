// SPDX-License-Identifier: Apache-2.0
// Implements otx_ecc.h. A clock is: inputs, evaluate with clk low, look at the outputs, evaluate with clk high. ECC_M,
// ECC_T and ECC_USERS come from the build.
#include "otx_ecc.h"

#include <memory>
#include <string>

#include "Votx_ecc_top.h"
#include "verilated.h"

namespace {

constexpr uint64_t patience = 4000;  // clocks without anything that moves
constexpr int length_bits = ECC_M - 3;
constexpr int log2_up(int n) { return n <= 1 ? 0 : 1 + log2_up((n + 1) / 2); }
constexpr int degree_bits = log2_up(2 * ECC_T);

uint32_t field(uint64_t all, int user, int bits) { return uint32_t(all >> (user * bits)) & ((1u << bits) - 1); }

}  // namespace

struct otx_ecc {
    VerilatedContext context;
    std::unique_ptr<Votx_ecc_top> top;
    std::string error;
    uint64_t random = 1, waited = 0;

    otx_ecc() : top(std::make_unique<Votx_ecc_top>(&context)) {
        top->reset = 1;
        for (int i = 0; i < 4; i++) clock();
        top->reset = 0;
    }
    ~otx_ecc() { top->final(); }

    void low() {
        top->clk = 0;
        top->eval();
    }
    void clock() {
        low();
        high();
    }
    void high() {
        top->clk = 1;
        top->eval();
    }
    bool chance(uint32_t percent) {
        if (percent == 0) return false;
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random % 100 < percent;
    }
};

extern "C" {

otx_ecc *otx_ecc_open(void) { return new otx_ecc; }
void otx_ecc_close(otx_ecc *ecc) { delete ecc; }
uint32_t otx_ecc_users(void) { return ECC_USERS; }
uint64_t otx_ecc_waited(const otx_ecc *ecc) { return ecc->waited; }
const char *otx_ecc_error(const otx_ecc *ecc) { return ecc->error.c_str(); }

void otx_ecc_encode_stream(otx_ecc *ecc, uint16_t *stream, size_t bytes) {
    Votx_ecc_top &top = *ecc->top;
    top.enc_valid = 1;
    for (size_t i = 0; i < bytes; i++) {
        top.enc_byte = stream[i] & 0xFF;
        top.enc_chunk = stream[i] >> 8 & 7;
        top.enc_first = stream[i] >> 12 & 1;
        top.enc_parity = stream[i] >> 13 & 1;
        ecc->low();
        stream[i] = uint16_t((stream[i] & 0xFF00) | top.enc_out);
        ecc->high();
    }
    top.enc_valid = 0;
}

void otx_ecc_encode(otx_ecc *ecc, uint32_t chunk, const uint8_t *data, size_t bytes, uint8_t *parity,
                    size_t parity_bytes) {
    for (size_t i = 0; i < bytes; i++) {
        uint16_t word = uint16_t(data[i] | chunk << 8 | (i == 0) << 12);
        otx_ecc_encode_stream(ecc, &word, 1);
        if ((word & 0xFF) != data[i]) ecc->error = "the encoder changed a byte of data";
    }
    for (size_t i = 0; i < parity_bytes; i++) {
        uint16_t word = uint16_t(0x5A | chunk << 8 | 1 << 13);
        otx_ecc_encode_stream(ecc, &word, 1);
        parity[i] = uint8_t(word);
    }
}

uint64_t otx_ecc_run(otx_ecc *ecc, const uint16_t *const streams[2], const size_t bytes[2], uint32_t gap,
                     uint32_t stall, uint64_t seed, otx_ecc_result *const results[2], const size_t words[2]) {
    Votx_ecc_top &top = *ecc->top;
    size_t next[2] = {}, ended[2] = {}, fixing[2] = {}, settled[2] = {};
    bool offered[2] = {}, held[2] = {}, last_before[2] = {};
    uint64_t beat[2] = {}, clock = 0, moved = 0;
    ecc->random = seed * 2 + 1;
    ecc->waited = 0;
    ecc->error.clear();
    auto fail = [&](const char *why) {
        ecc->error = std::string(why) + " (clock " + std::to_string(clock) + ")";
        return 0;
    };
    for (;;) {
        bool over = true;
        uint32_t valid = 0, first = 0, last = 0, chunk = 0, byte = 0, ready = 0;
        for (int u = 0; u < ECC_USERS; u++) {
            over = over && settled[u] == words[u];
            if (!offered[u] && next[u] < bytes[u]) offered[u] = !ecc->chance(gap);
            if (offered[u]) {
                const uint32_t b = streams[u][next[u]];
                valid |= 1u << u;
                first |= (b >> 12 & 1) << u;
                last |= (b >> 13 & 1) << u;
                chunk |= (b >> 8 & 7) << (3 * u);
                byte |= (b & 0xFF) << (8 * u);
            }
            ready |= uint32_t(!ecc->chance(stall)) << u;
        }
        if (over) break;
        top.in_valid = valid;
        top.in_first = first;
        top.in_last = last;
        top.in_chunk = chunk;
        top.in_byte = byte;
        top.fix_ready = ready;
        ecc->low();
        clock++;
        for (int u = 0; u < ECC_USERS; u++) {
            if (bool(top.end_valid >> u & 1) != last_before[u])
                return fail("no end, or an end too many, in the clock after a last byte");
            if (top.end_valid >> u & 1) {
                if (ended[u] == words[u]) return fail("an end too many");
                otx_ecc_result &r = results[u][ended[u]++];
                r.status = (top.end_clean >> u & 1) ? OTX_ECC_CLEAN : OTX_ECC_OPEN;
                r.chunk = uint8_t(field(top.end_chunk, u, 3));
                r.erased = top.end_erased >> u & 1;
                r.hits = 0;
                r.count = 0;
                r.ended = r.fixed = uint32_t(clock - 1);
                if (r.status == OTX_ECC_CLEAN) settled[u]++;
                moved = clock;
            }
            last_before[u] = false;
            if (offered[u] && (top.in_ready >> u & 1)) {
                last_before[u] = last >> u & 1;
                offered[u] = false;
                next[u]++;
                moved = clock;
            } else if (offered[u]) ecc->waited++;
            const uint64_t now =
                uint64_t(field(top.fix_byte, u, length_bits)) | uint64_t(field(top.fix_mask, u, 8)) << 16 |
                uint64_t(field(top.fix_count, u, degree_bits)) << 24 | uint64_t(top.fix_last >> u & 1) << 32 |
                uint64_t(top.fix_failed >> u & 1) << 33 | uint64_t(field(top.fix_chunk, u, 3)) << 34;
            const bool fix = top.fix_valid >> u & 1, is_last = top.fix_last >> u & 1;
            const uint64_t mask = is_last ? ~0xFFFFFFull : ~0ull;  // byte and mask mean nothing in the last beat
            if (held[u] && (!fix || (now & mask) != (beat[u] & mask))) return fail("fix changed before it was taken");
            held[u] = fix && !(ready >> u & 1);
            beat[u] = now;
            if (fix && (ready >> u & 1)) {
                moved = clock;
                while (fixing[u] < ended[u] && results[u][fixing[u]].status == OTX_ECC_CLEAN) fixing[u]++;
                if (fixing[u] == ended[u]) return fail("a fix for no word");
                otx_ecc_result &r = results[u][fixing[u]];
                if (r.chunk != field(top.fix_chunk, u, 3)) return fail("a fix for another chunk");
                if (is_last) {
                    r.status = (top.fix_failed >> u & 1) ? OTX_ECC_FAILED : OTX_ECC_FIXED;
                    r.count = field(top.fix_count, u, degree_bits);
                    r.fixed = uint32_t(clock);
                    fixing[u]++;
                    settled[u]++;
                } else {
                    if (r.hits == 64) return fail("too many fixes");
                    r.byte[r.hits] = uint16_t(field(top.fix_byte, u, length_bits));
                    r.mask[r.hits++] = uint8_t(field(top.fix_mask, u, 8));
                }
            }
        }
        ecc->high();
        if (clock - moved > patience) return fail("nothing moves");
    }
    top.in_valid = 0;
    top.fix_ready = 0;
    return clock;
}
}
