// SPDX-License-Identifier: Apache-2.0
#include "rv32.h"

namespace otx {
namespace {

enum Opcode {
    LOAD = 0x03,
    FENCE = 0x0F,
    OP_IMM = 0x13,
    AUIPC = 0x17,
    STORE = 0x23,
    OP = 0x33,
    LUI = 0x37,
    BRANCH = 0x63,
    JALR = 0x67,
    JAL = 0x6F,
    SYSTEM = 0x73
};

constexpr uint32_t mtvec_csr = 0x305;

uint32_t bits(uint32_t word, int high, int low) { return word >> low & ((1u << (high - low + 1)) - 1); }
uint32_t from_sign(uint32_t value, int width) { return uint32_t(int32_t(value << (32 - width)) >> (32 - width)); }

uint32_t imm_i(uint32_t i) { return from_sign(bits(i, 31, 20), 12); }
uint32_t imm_s(uint32_t i) { return from_sign(bits(i, 31, 25) << 5 | bits(i, 11, 7), 12); }
uint32_t imm_b(uint32_t i) {
    return from_sign(bits(i, 31, 31) << 12 | bits(i, 7, 7) << 11 | bits(i, 30, 25) << 5 | bits(i, 11, 8) << 1, 13);
}
uint32_t imm_j(uint32_t i) {
    return from_sign(bits(i, 31, 31) << 20 | bits(i, 19, 12) << 12 | bits(i, 20, 20) << 11 | bits(i, 30, 21) << 1, 21);
}

uint32_t rd(uint32_t i) { return bits(i, 11, 7); }
uint32_t funct3(uint32_t i) { return bits(i, 14, 12); }

bool taken(uint32_t kind, uint32_t a, uint32_t b) {
    switch (kind >> 1) {
        case 0: return (a == b) != (kind & 1);
        case 2: return (int32_t(a) < int32_t(b)) != (kind & 1);
        default: return (a < b) != (kind & 1);
    }
}

}  // namespace

void Rv32::multiply(uint32_t a, uint32_t b) {
    const int64_t sa = int32_t(a), sb = int32_t(b);
    const bool most_negative = a == 0x8000'0000 && b == 0xFFFF'FFFF;
    uint32_t result = 0;
    switch (funct3(instruction)) {
        case 0: result = a * b; break;
        case 1: result = uint32_t(sa * sb >> 32); break;
        case 2: result = uint32_t(sa * int64_t(uint64_t(b)) >> 32); break;
        case 3: result = uint32_t(uint64_t(a) * b >> 32); break;
        case 4: result = b == 0 ? 0xFFFF'FFFF : most_negative ? a : uint32_t(int32_t(a) / int32_t(b)); break;
        case 5: result = b == 0 ? 0xFFFF'FFFF : a / b; break;
        case 6: result = b == 0 ? a : most_negative ? 0 : uint32_t(int32_t(a) % int32_t(b)); break;
        case 7: result = b == 0 ? a : a % b; break;
    }
    put(rd(instruction), result);
}

void Rv32::alu(uint32_t b, bool immediate) {
    const uint32_t a = x[bits(instruction, 19, 15)], upper = bits(instruction, 31, 25), kind = funct3(instruction);
    const bool shift = kind == 1 || kind == 5, other = upper == 0x20 && (kind == 5 || (kind == 0 && !immediate));
    if ((!immediate || shift) && upper != 0 && !other) return trap();
    uint32_t result = 0;
    switch (kind) {
        case 0: result = other ? a - b : a + b; break;
        case 1: result = a << (b & 31); break;
        case 2: result = int32_t(a) < int32_t(b); break;
        case 3: result = a < b; break;
        case 4: result = a ^ b; break;
        case 5: result = other ? uint32_t(int32_t(a) >> (b & 31)) : a >> (b & 31); break;
        case 6: result = a | b; break;
        case 7: result = a & b; break;
    }
    put(rd(instruction), result);
}

void Rv32::loaded(uint32_t word) {
    const uint32_t value = word >> 8 * (at & 3);
    switch (funct3(instruction)) {
        case 0: return put(rd(instruction), from_sign(value & 0xFF, 8));
        case 1: return put(rd(instruction), from_sign(value & 0xFFFF, 16));
        case 4: return put(rd(instruction), value & 0xFF);
        case 5: return put(rd(instruction), value & 0xFFFF);
        default: return put(rd(instruction), value);
    }
}

void Rv32::load(Rv32Memory &memory, uint32_t address) {
    const uint32_t kind = funct3(instruction), size = 1u << (kind & 3);
    if (kind == 3 || kind > 5 || address & (size - 1)) return trap();
    at = address;
    uint32_t word;
    if (memory.read(address & ~3u, word)) return loaded(word);
    wanted = {address & ~3u, 0, uint8_t(((1u << size) - 1) << (address & 3)), false};
    waits = true;
}

void Rv32::store(Rv32Memory &memory, uint32_t address) {
    const uint32_t kind = funct3(instruction), size = 1u << kind;
    if (kind > 2 || address & (size - 1)) return trap();
    const uint32_t data = x[bits(instruction, 24, 20)] << 8 * (address & 3);
    const uint8_t lanes = uint8_t(((1u << size) - 1) << (address & 3));
    if (memory.write(address & ~3u, data, lanes)) return;
    wanted = {address & ~3u, data, lanes, true};
    waits = true;
}

void Rv32::answer(uint32_t word, bool error) {
    waits = false;
    if (error) return trap();
    if (!wanted.write) loaded(word);
}

void Rv32::step(Rv32Memory &memory) {
    if (pc & 3 || !memory.read(pc, instruction)) return trap();
    const uint32_t here = pc, i = instruction, a = x[bits(i, 19, 15)], b = x[bits(i, 24, 20)];
    pc += 4;
    switch (i & 0x7F) {
        case LUI: return put(rd(i), i & 0xFFFF'F000);
        case AUIPC: return put(rd(i), here + (i & 0xFFFF'F000));
        case JAL: return put(rd(i), pc), void(pc = here + imm_j(i));
        case JALR: return put(rd(i), pc), void(pc = (a + imm_i(i)) & ~1u);
        case BRANCH:
            if (bits(i, 14, 13) == 1) return trap();
            if (taken(funct3(i), a, b)) pc = here + imm_b(i);
            return;
        case LOAD: return load(memory, a + imm_i(i));
        case STORE: return store(memory, a + imm_s(i));
        case OP_IMM: return alu(imm_i(i), true);
        case OP: return bits(i, 31, 25) == 1 ? multiply(a, b) : alu(b, false);
        case FENCE: return;
        case SYSTEM:
            if (funct3(i) != 1 || bits(i, 31, 20) != mtvec_csr) return trap();
            put(rd(i), mtvec);
            mtvec = a & ~3u;
            return;
        default: return trap();
    }
}

bool Rv32::run(Rv32Memory &memory, int most) {
    for (int done = 0; done < most && !waits; done++) step(memory);
    return waits;
}

}  // namespace otx
