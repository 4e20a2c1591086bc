# SPDX-License-Identifier: Apache-2.0
"""Registers that read as 0 (soc/write_only.py) in LiteX' own register bank, in Migen's own simulator."""

import pytest
from litex.soc.interconnect.csr import CSRStatus
from litex.soc.interconnect.csr_bus import CSRBank, Interface
from migen import Module, run_simulation

from soc.write_only import CSRWriteOnly


class Bank(Module):
    def __init__(self, size=20):
        self.told, self.seen = CSRWriteOnly(size, reset=5, name="told"), CSRStatus(8, name="seen")
        self.submodules.bank = CSRBank([self.told, self.seen], bus=Interface(data_width=32))
        self.comb += self.seen.status.eq(0x5A)


def test_a_write_is_kept_and_strobes_once_and_reads_as_0():
    dut, strobes = Bank(), []

    def read(word):
        yield dut.bank.bus.adr.eq(word)
        yield
        yield
        return (yield dut.bank.bus.dat_r)

    def host():
        assert (yield dut.told.storage) == 5
        yield dut.bank.bus.adr.eq(0)
        yield dut.bank.bus.dat_w.eq(0xABCDE)
        yield dut.bank.bus.we.eq(1)
        yield
        yield dut.bank.bus.we.eq(0)
        for _ in range(3):
            yield
            strobes.append((yield dut.told.re))
        assert (yield dut.told.storage) == 0xABCDE
        assert (yield from read(0)) == 0
        assert (yield from read(1)) == 0x5A

    run_simulation(dut, host())
    assert strobes == [1, 0, 0]


def test_more_bits_than_a_word_are_refused():
    with pytest.raises(ValueError, match="33 bits in a word of 32"):
        Bank(33)
