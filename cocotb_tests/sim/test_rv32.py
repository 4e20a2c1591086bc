# SPDX-License-Identifier: Apache-2.0
"""The processor model of sim/cpu: random programs, put together by the firmware's assembler, against what the ISA
manual says of each instruction; traps, bus, memories.

Programs run from ROM. What they leave in the registers they write to the bus, a word each, where this file plays the
slave. Needs no simulator.
"""

import ctypes
import os
import random
import subprocess

import pytest

from cocotb_tests.bench.runner import BUILD, ROOT

ROM_BYTES, SRAM, SRAM_BYTES, BUS = 65536, 0x1000_0000, 256, 0xF000_0000
SEED = int(os.environ.get("SEED", "1"))
HARNESS = """
#include <cstdint>
static const uint32_t *program; static int words;
extern "C" {
void harness_program(const uint32_t *p, int n) { program = p, words = n; }
int otx_firmware_word(int index) { return index < words ? int(program[index]) : 0; }
bool otx_mem_get32(uint32_t address, uint32_t *word) { return address == 0x40000000 ? *word = 77, true : false; }
bool otx_mem_put32(uint32_t address, uint32_t, uint8_t) { return address == 0x40000000; }
}
"""
MASK, SIGN = 0xFFFF_FFFF, 0x8000_0000


def s(value):
    """As a signed number of 32 bits."""
    return (value & MASK ^ SIGN) - SIGN


def div(a, b):
    return -1 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rem(a, b):
    return a if b == 0 else a - b * div(a, b)


ALU = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "sll": lambda a, b: a << (b & 31),
    "slt": lambda a, b: s(a) < s(b), "sltu": lambda a, b: a < b,
    "xor": lambda a, b: a ^ b, "srl": lambda a, b: a >> (b & 31), "sra": lambda a, b: s(a) >> (b & 31),
    "or": lambda a, b: a | b, "and": lambda a, b: a & b,
    "mul": lambda a, b: a * b, "mulh": lambda a, b: s(a) * s(b) >> 32,
    "mulhsu": lambda a, b: s(a) * b >> 32, "mulhu": lambda a, b: a * b >> 32,
    "div": lambda a, b: div(s(a), s(b)), "divu": lambda a, b: MASK if b == 0 else a // b,
    "rem": lambda a, b: rem(s(a), s(b)), "remu": lambda a, b: a if b == 0 else a % b,
}  # fmt: skip
IMMEDIATE = {
    "addi": "add",
    "slti": "slt",
    "sltiu": "sltu",
    "xori": "xor",
    "ori": "or",
    "andi": "and",
    "slli": "sll",
    "srli": "srl",
    "srai": "sra",
}
BRANCH = {
    "beq": lambda a, b: a == b, "bne": lambda a, b: a != b, "blt": lambda a, b: s(a) < s(b),
    "bge": lambda a, b: s(a) >= s(b), "bltu": lambda a, b: a < b, "bgeu": lambda a, b: a >= b,
}  # fmt: skip
LOAD = {"lb": (1, True), "lbu": (1, False), "lh": (2, True), "lhu": (2, False), "lw": (4, False)}
STORE = {"sb": 1, "sh": 2, "sw": 4}
TEMPS = range(1, 28)  # registers that a random program changes; x30 points to SRAM, x31 to the bus


@pytest.fixture(scope="module")
def cpu(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rv32")
    (folder / "harness.cpp").write_text(HARNESS)
    sources = [folder / "harness.cpp", *(ROOT / "sim/cpu" / name for name in ("rv32.cpp", "otx_sim_cpu.cpp"))]
    subprocess.run(
        [
            "g++",
            "-std=c++20",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-shared",
            "-fPIC",
            f"-I{ROOT / 'sim/cpu'}",
            "-o",
            folder / "rv32.so",
            *sources,
        ],
        check=True,
    )
    return ctypes.CDLL(str(folder / "rv32.so"))


def assemble(lines):
    folder = BUILD / "rv32"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.S").write_text("\n".join([".option norelax", *lines, ""]))
    gcc = [
        "riscv64-unknown-elf-gcc",
        "-march=rv32im_zicsr",
        "-mabi=ilp32",
        "-nostdlib",
        "-Wl,-Ttext=0",
        "-Wl,-e0",
        "-o",
        folder / "program.elf",
        folder / "program.S",
    ]
    subprocess.run(gcc, check=True)
    subprocess.run(
        ["riscv64-unknown-elf-objcopy", "-O", "binary", folder / "program.elf", folder / "program.bin"], check=True
    )
    return (folder / "program.bin").read_bytes()


class Machine:
    """The model with a program in its ROM, and a slave on its bus: words by address, `wrong` ones answer with an error.

    `written`: (address, lanes, data) in order.
    """

    def __init__(self, cpu, program):
        self.cpu, words = cpu, len(program) // 4
        self.program = (ctypes.c_uint32 * words).from_buffer_copy(program)
        cpu.harness_program(self.program, words)
        cpu.otx_cpu_open(0, ROM_BYTES, SRAM, SRAM_BYTES)
        cpu.otx_cpu_reset()
        self.words, self.wrong, self.written = {}, set(), []

    def access(self, most=10_000):
        """Runs to the next access of the bus and answers it; False: there was none within `most` instructions."""
        address, data, lanes, write = ctypes.c_int(), ctypes.c_int(), ctypes.c_byte(), ctypes.c_ubyte()
        if not self.cpu.otx_cpu_run(most, *(ctypes.byref(x) for x in (address, data, lanes, write))):
            return False
        at = address.value & MASK
        if write.value and at not in self.wrong:
            self.written.append((at, lanes.value, data.value & MASK))
        self.cpu.otx_cpu_answer(self.words.get(at, 0), int(at in self.wrong))
        return True

    def run(self):
        while self.access():
            pass
        return self.written


class Golden:
    """Writes a random program and keeps what it does: registers, SRAM."""

    def __init__(self, rng, words):
        self.rng, self.lines, self.x = rng, [], [0] * 32
        self.sram, self.bus = bytearray(SRAM_BYTES), {BUS + 4 * i: rng.getrandbits(32) for i in range(words)}
        self.emit(f"li x30, {SRAM}")
        self.emit(f"li x31, {BUS}")
        for n in TEMPS:
            self.x[n] = rng.choice([0, 1, MASK, SIGN, SIGN - 1, rng.getrandbits(32), rng.getrandbits(5)])
            self.emit(f"li x{n}, {self.x[n]}")
        for at in range(0, SRAM_BYTES, 4):
            self.emit(f"sw x0, {at}(x30)")

    def emit(self, line):
        self.lines.append(line)

    def put(self, reg, value):
        if reg:
            self.x[reg] = int(value) & MASK

    def register(self):
        return self.rng.choice([0, *TEMPS])

    def alu(self):
        op, (rd, a, b) = self.rng.choice(list(ALU)), (self.register() for _ in range(3))
        self.emit(f"{op} x{rd}, x{a}, x{b}")
        self.put(rd, ALU[op](self.x[a], self.x[b]))

    def immediate(self):
        op, rd, a = self.rng.choice(list(IMMEDIATE)), self.register(), self.register()
        value = (
            self.rng.randrange(32)
            if IMMEDIATE[op] in ("sll", "srl", "sra")
            else self.rng.choice([-2048, 2047, -1, 0, self.rng.randrange(-2048, 2048)])
        )
        self.emit(f"{op} x{rd}, x{a}, {value}")
        self.put(rd, ALU[IMMEDIATE[op]](self.x[a], value & MASK))

    def upper(self):
        rd, value = self.register(), self.rng.getrandbits(20)
        self.emit(f"lui x{rd}, {value}")
        self.put(rd, value << 12)

    def load(self):
        op, rd = self.rng.choice(list(LOAD)), self.register()
        size, signed = LOAD[op]
        if self.rng.randrange(2):
            at = self.rng.randrange(0, SRAM_BYTES, size)
            self.emit(f"{op} x{rd}, {at}(x30)")
            data = self.sram[at : at + size]
        else:
            at = self.rng.randrange(0, 4 * len(self.bus), size)
            self.emit(f"{op} x{rd}, {at}(x31)")
            data = self.bus[BUS + at // 4 * 4].to_bytes(4, "little")[at % 4 : at % 4 + size]
        self.put(rd, int.from_bytes(data, "little", signed=signed))

    def store(self):
        op, reg = self.rng.choice(list(STORE)), self.register()
        at = self.rng.randrange(0, SRAM_BYTES, STORE[op])
        self.emit(f"{op} x{reg}, {at}(x30)")
        self.sram[at : at + STORE[op]] = self.x[reg].to_bytes(4, "little")[: STORE[op]]

    def branch(self):
        op, a, b, rd = self.rng.choice(list(BRANCH)), self.register(), self.register(), self.rng.choice(TEMPS)
        self.emit(f"{op} x{a}, x{b}, 1f")
        self.emit(f"addi x{rd}, x{rd}, 1")
        self.emit("1:")
        if not BRANCH[op](self.x[a], self.x[b]):
            self.put(rd, self.x[rd] + 1)

    def jump(self):
        """Over an instruction: by JAL with its link compared to AUIPC's address, or by JALR."""
        link, rd, far = self.rng.choice(TEMPS[:13]), self.rng.choice(TEMPS[13:]), self.rng.randrange(2)
        self.emit("la x29, 1f\njalr x28, 0(x29)" if far else "jal x28, 1f")
        self.emit(f"addi x{rd}, x{rd}, 1\n1: auipc x29, 0\nsub x{link}, x29, x28")
        self.put(link, 4)

    def program(self, steps):
        for _ in range(steps):
            self.rng.choice(
                [
                    self.alu,
                    self.alu,
                    self.alu,
                    self.immediate,
                    self.immediate,
                    self.upper,
                    self.load,
                    self.store,
                    self.branch,
                    self.jump,
                ]
            )()
        for n in TEMPS:
            self.emit(f"sw x{n}, {4 * n}(x31)")
        for at in range(0, SRAM_BYTES, 4):
            self.emit(f"lw x1, {at}(x30)\nsw x1, 1024(x31)")
        return [*self.lines, "1: j 1b"]

    def result(self):
        words = [int.from_bytes(self.sram[at : at + 4], "little") for at in range(0, SRAM_BYTES, 4)]
        return [(BUS + 4 * n, 15, self.x[n]) for n in TEMPS] + [(BUS + 1024, 15, word) for word in words]


@pytest.mark.parametrize("turn", range(4))
def test_random_programs_do_what_the_manual_says(cpu, turn):
    golden = Golden(random.Random(f"rv32 {SEED} {turn}"), words=8)
    machine = Machine(cpu, assemble(golden.program(3_000)))
    machine.words = golden.bus
    assert machine.run() == golden.result()


TRAPS = {
    "no instruction": ".word 0xFFFFFFFF",
    "compressed": ".half 1, 1",
    "ecall": "ecall",
    "another CSR": "csrw mcause, x1",
    "CSRRS": "csrs mtvec, x1",
    "a load that is not aligned": "lw x1, 2(x31)",
    "half a word that is not aligned": "lh x1, 1(x31)",
    "a store that is not aligned": "sw x1, 1(x31)",
    "a load of no width": ".word 0x0000B083",
    "a bus error of a load": "lw x1, 16(x31)",
    "a bus error of a store": "sw x1, 16(x31)",
    "a shift of another kind": ".word 0x02011093",
}


@pytest.mark.parametrize("wrong", TRAPS.values(), ids=TRAPS)
def test_what_it_has_not_got_goes_to_mtvec(cpu, wrong):
    lines = [
        "la x1, 2f",
        "csrw mtvec, x1",
        f"li x31, {BUS}",
        "li x2, 5",
        wrong,
        "li x2, 6",
        "1: sw x2, 0(x31)",
        "3: j 3b",
        ".balign 4",
        "2: addi x2, x2, 10",
        "j 1b",
    ]
    machine = Machine(cpu, assemble(lines))
    machine.wrong.add(BUS + 16)
    assert machine.run() == [(BUS, 15, 15)]


def test_memories_take_no_bus_and_rom_keeps_its_words(cpu):
    lines = [
        f"li x31, {BUS}",
        "li x1, 0x40000000",
        "sw x1, 0(x0)",
        "lw x2, 0(x0)",
        "sw x2, 0(x31)",
        "lw x2, 0(x1)",
        "sw x2, 0(x31)",
        "sw x0, 0(x1)",
        "2: j 2b",
    ]
    program = assemble(lines)
    assert [data for _, _, data in Machine(cpu, program).run()] == [int.from_bytes(program[:4], "little"), 77]


def test_bytes_go_to_their_lanes_and_limits_and_resets_hold(cpu):
    lines = [
        f"li x31, {BUS}",
        "li x1, 0xAB",
        "sb x1, 2(x31)",
        f"li x30, {SRAM}",
        "lw x2, 0(x30)",
        "sw x2, 4(x31)",
        "sw x1, 0(x30)",
        "1: j 1b",
    ]
    machine = Machine(cpu, assemble(lines))
    assert not machine.access(most=1)  # not there yet
    machine.run()
    assert machine.written == [(BUS, 4, 0xAB << 16), (BUS + 4, 15, 0xDEADBEEF)]
    cpu.otx_cpu_keep()
    cpu.otx_cpu_reset()
    machine.run()
    assert machine.written[2:] == [(BUS, 4, 0xAB << 16), (BUS + 4, 15, 0xAB)], "a reset keeps SRAM"
    cpu.otx_cpu_restore()
    assert not machine.access()  # it is in its last loop again
