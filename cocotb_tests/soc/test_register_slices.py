# SPDX-License-Identifier: Apache-2.0
"""The register slices of the boards (soc/register_slices.py) in Migen's own simulator: every access passes once, in
order, with its data, whoever is slow.
"""

import random

from litedram.common import LiteDRAMNativePort
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Record, run_simulation

from soc import register_slices

ACCESSES = 60


def bus():
    return wishbone.Interface(data_width=32, address_width=32, addressing="word")


def test_a_wishbone_slice_passes_each_access_once():
    master, slave = bus(), bus()
    dut, rng, seen, got = register_slices.WishboneSlice(master, slave), random.Random(1), [], []
    accesses = [
        (rng.randrange(1 << 20), rng.randrange(1 << 32), rng.randrange(16), rng.randrange(2)) for _ in range(ACCESSES)
    ]

    def ask():
        for adr, data, sel, we in accesses:
            for _ in range(rng.randrange(3)):
                yield
            yield from put(master, adr=adr, dat_w=data, sel=sel, we=we, cyc=1, stb=1)
            yield
            while not (yield master.ack):
                yield
            got.append((yield master.dat_r))
            yield from put(master, cyc=0, stb=0)
            yield

    def answer():
        while len(seen) < ACCESSES:
            if (yield slave.stb):
                assert (yield slave.cyc)
                for _ in range(rng.randrange(4)):
                    yield
                seen.append(((yield slave.adr), (yield slave.dat_w), (yield slave.sel), (yield slave.we)))
                yield from put(slave, ack=1, dat_r=3 * len(seen))
                yield
                yield slave.ack.eq(0)
            yield

    run_simulation(dut, [ask(), answer()])
    assert seen == accesses and got == [3 * n for n in range(1, ACCESSES + 1)]


def test_an_access_that_is_given_up_does_not_answer_the_next_one():
    master, slave = bus(), bus()
    got = []

    def ask():
        yield from put(master, adr=1, cyc=1, stb=1)
        yield
        yield
        yield from put(master, cyc=0, stb=0)
        for _ in range(8):
            yield
            assert not (yield master.ack)
        yield from put(master, adr=2, cyc=1, stb=1)
        yield
        while not (yield master.ack):
            yield
        got.append((yield master.dat_r))

    def answer():
        for _ in range(2):
            while not (yield slave.stb):
                yield
            for _ in range(4):
                yield
            yield from put(slave, ack=1, dat_r=(yield slave.adr) * 100)
            yield
            yield slave.ack.eq(0)
            yield

    run_simulation(register_slices.WishboneSlice(master, slave), [ask(), answer()])
    assert got == [200]


def test_a_buffered_port_keeps_the_order_of_commands_and_passes_data_on():
    module, port = LiteXModule(), LiteDRAMNativePort("both", 20, 64)
    near = register_slices.buffered_port(module, "commands", port)
    rng, seen = random.Random(2), []
    sent = [(rng.randrange(1 << 20), rng.randrange(2)) for _ in range(ACCESSES)]

    def ask():
        for addr, we in sent:
            yield from put(near.cmd, addr=addr, we=we, valid=1)
            yield
            while not (yield near.cmd.ready):
                yield
            yield near.cmd.valid.eq(0)
            for _ in range(rng.randrange(2)):
                yield

    def answer():
        while len(seen) < ACCESSES:
            ready = rng.randrange(2)
            yield port.cmd.ready.eq(ready)
            yield
            if ready and (yield port.cmd.valid):
                seen.append(((yield port.cmd.addr), (yield port.cmd.we)))

    def data():
        yield near.wdata.data.eq(0x1234)
        yield port.rdata.data.eq(0x5678)
        yield near.flush.eq(1)
        yield
        yield
        assert (yield port.wdata.data) == 0x1234 and (yield near.rdata.data) == 0x5678 and (yield port.flush)

    run_simulation(module, [ask(), answer(), data()])
    assert seen == sent


def put(record: Record, **values):
    for name, value in values.items():
        yield getattr(record, name).eq(value)
