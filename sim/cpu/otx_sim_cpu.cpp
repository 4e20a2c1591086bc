// SPDX-License-Identifier: Apache-2.0
// What otx_sim_cpu.sv runs: one processor, its ROM (the firmware that the harness was given; words past its end read as
// zero, writes are lost) and SRAM.
// otx_cpu_keep keeps processor and SRAM, otx_cpu_restore brings them back.
//
// Tests may look at registers as firmware does, in its place: otx_sim_bus_hold(1) stops it between two accesses,
// otx_sim_bus_ask begins an access, which clocks carry on, otx_sim_bus_done says whether it is over and what was read,
// otx_sim_bus_hold(0) lets the firmware go on. It must not be in the middle of such a question itself.
#include <cstring>
#include <vector>

#include "rv32.h"

extern "C" {
int otx_firmware_word(int index);
bool otx_mem_get32(uint32_t address, uint32_t *word);
bool otx_mem_put32(uint32_t address, uint32_t word, uint8_t lanes);
}

namespace {

void put_lanes(uint32_t &to, uint32_t word, uint8_t lanes) {
    for (int b = 0; b < 4; b++)
        if (lanes >> b & 1) std::memcpy(reinterpret_cast<char *>(&to) + b, reinterpret_cast<char *>(&word) + b, 1);
}

struct Memory : otx::Rv32Memory {
    uint32_t rom_at = 0, sram_at = 0;
    std::vector<uint32_t> rom, sram;

    bool read(uint32_t address, uint32_t &word) override {
        if (const uint32_t at = address - rom_at; at < 4 * rom.size()) return word = rom[at / 4], true;
        if (const uint32_t at = (address - sram_at) / 4; at < sram.size()) return word = sram[at], true;
        return otx_mem_get32(address, &word);
    }
    bool write(uint32_t address, uint32_t word, uint8_t lanes) override {
        if (address - rom_at < 4 * rom.size()) return true;
        if (const uint32_t at = (address - sram_at) / 4; at < sram.size())
            return put_lanes(sram[at], word, lanes), true;
        return otx_mem_put32(address, word, lanes);
    }
};

Memory memory;
otx::Rv32 cpu, kept_cpu;
std::vector<uint32_t> kept_sram;

struct {
    bool held, wanted, under_way;
    uint32_t address, data;
    bool write;
} bus;  // of a test

}  // namespace

extern "C" {

void otx_cpu_open(int rom, int rom_bytes, int sram, int sram_bytes) {
    memory.rom_at = uint32_t(rom), memory.sram_at = uint32_t(sram);
    memory.rom.resize(size_t(rom_bytes) / 4), memory.sram.resize(size_t(sram_bytes) / 4);
    for (size_t i = 0; i < memory.rom.size(); i++) memory.rom[i] = uint32_t(otx_firmware_word(int(i)));
    for (size_t i = 0; i < memory.sram.size(); i++) memory.sram[i] = 0xDEADBEEF ^ uint32_t(i);
    cpu = otx::Rv32{};
}

void otx_cpu_reset() { cpu.reset(memory.rom_at); }

unsigned char otx_cpu_run(int most, int *address, int *data, char *lanes, unsigned char *write) {
    if (bus.held) {
        if (!bus.wanted || bus.under_way) return 0;
        *address = int(bus.address), *data = int(bus.data), *lanes = 15, *write = bus.write, bus.under_way = true;
        return 1;
    }
    if (!cpu.run(memory, most)) return 0;
    *address = int(cpu.wanted.address), *data = int(cpu.wanted.data), *lanes = char(cpu.wanted.lanes),
    *write = cpu.wanted.write;
    return 1;
}

void otx_cpu_answer(int word, unsigned char error) {
    if (bus.under_way) bus.data = uint32_t(word), bus.wanted = bus.under_way = false;
    else cpu.answer(uint32_t(word), error);
}

void otx_sim_bus_hold(int held) { bus.held = held != 0; }
void otx_sim_bus_ask(uint32_t address, uint32_t data, int write) {
    bus.address = address, bus.data = data, bus.write = write != 0, bus.wanted = true;
}
int otx_sim_bus_done(uint32_t *word) { return *word = bus.data, !bus.wanted; }

void otx_cpu_keep() { kept_cpu = cpu, kept_sram = memory.sram; }
void otx_cpu_restore() { cpu = kept_cpu, memory.sram = kept_sram; }
}
