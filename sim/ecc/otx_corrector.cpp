// SPDX-License-Identifier: Apache-2.0
// Implements otx_corrector.h. A clock is: inputs, evaluate with clk low, look at the outputs, evaluate with clk high.
#include "otx_corrector.h"

#include <random>

#include "Votx_nand_corrector.h"
#include "verilated.h"

namespace {

constexpr uint32_t patience = 4000;

// One word; false when the block breaks its contract.
bool ask(Votx_nand_corrector &top, const uint8_t *remainder, uint8_t chunk, uint32_t stall, std::minstd_rand &random,
         otx_corrected &result) {
    result = {};
    size_t sent = 0;
    for (uint32_t waited = 0; waited < patience; waited++) {
        top.ask_valid = sent < OTX_REMAINDER_BYTES;
        top.ask_chunk = chunk;
        top.ask_byte = top.ask_valid ? remainder[sent] : 0;
        top.fix_ready = stall == 0 || random() % 100 >= stall;
        top.clk = 0;
        top.eval();
        const bool given = top.ask_valid && top.ask_ready, taken = top.fix_valid && top.fix_ready,
                   last = taken && top.fix_last;
        if (taken && last) {
            result.failed = top.fix_failed;
            result.count = top.fix_count;
            result.sum = top.fix_sum;
        } else if (taken) {
            if (result.hits == OTX_CORRECTABLE) return false;
            result.byte[result.hits] = top.fix_byte;
            result.mask[result.hits++] = top.fix_mask;
        }
        top.clk = 1;
        top.eval();
        if (sent == OTX_REMAINDER_BYTES) result.clocks++;
        sent += given;
        if (given || taken) waited = 0;
        if (last) return sent == OTX_REMAINDER_BYTES;
    }
    return false;
}

}  // namespace

extern "C" size_t otx_corrector_run(const uint8_t *remainders, const uint8_t *chunks, size_t words, uint32_t stall,
                                    uint64_t seed, otx_corrected *results) {
    VerilatedContext context;
    Votx_nand_corrector top(&context);
    std::minstd_rand random(static_cast<uint32_t>(seed));
    top.reset = 1;
    for (int i = 0; i < 8; i++) {
        top.clk = i & 1;
        top.eval();
    }
    top.reset = 0;
    size_t done = 0;
    while (done < words &&
           ask(top, remainders + OTX_REMAINDER_BYTES * done, chunks[done], stall, random, results[done]))
        done++;
    top.final();
    return done;
}
