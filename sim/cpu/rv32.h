// SPDX-License-Identifier: Apache-2.0
// RV32IM, and of Zicsr CSRRW of mtvec (RISC-V unprivileged ISA 20191213, chapters 2 and 7; privileged ISA 20211203,
// section 3.1.7): what the firmware is compiled for.
//
// run() executes instructions one after the other until one needs the bus or `most` of them have passed. Fetches and
// accesses that `memory` knows take no clocks; any other access is asked for in `wanted` and answered by answer(). What
// the processor has not got (other instructions, other CSRs, accesses that are not aligned, bus errors) goes to mtvec.
#ifndef RV32_H
#define RV32_H

#include <cstdint>

namespace otx {

struct Rv32Bus {
    uint32_t address, data;  // of the word; data in its lanes
    uint8_t lanes;           // bit b: byte b of the word
    bool write;
};

// Words that the processor reaches without the bus. `address` is of a word; false: not one of these.
struct Rv32Memory {
    virtual bool read(uint32_t address, uint32_t &word) = 0;
    virtual bool write(uint32_t address, uint32_t word, uint8_t lanes) = 0;
};

struct Rv32 {
    uint32_t pc, x[32], mtvec;
    bool waits;  // for answer()
    Rv32Bus wanted;

    void reset(uint32_t start) { *this = Rv32{}, pc = start; }
    bool run(Rv32Memory &memory, int most);  // true: it waits for the bus
    void answer(uint32_t word, bool error);

  private:
    uint32_t instruction, at;  // of the load that waits: its instruction and its address
    void trap() { pc = mtvec; }
    void put(uint32_t reg, uint32_t value) {
        if (reg) x[reg] = value;
    }
    void step(Rv32Memory &memory);
    void load(Rv32Memory &memory, uint32_t address);
    void store(Rv32Memory &memory, uint32_t address);
    void loaded(uint32_t word);
    void alu(uint32_t b, bool immediate);
    void multiply(uint32_t a, uint32_t b);
};

}  // namespace otx
#endif
