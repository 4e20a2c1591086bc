# SPDX-License-Identifier: Apache-2.0
"""Firmware's own commands beside those of the NVMe front end (soc/own_command.py), in Migen's own simulator."""

import random
from functools import reduce

import pytest
from migen import run_simulation

from soc import streams
from soc.own_command import TAG, OwnCommand

COMMANDS, OWN = 300, 40


@pytest.mark.parametrize("seed", range(3))
def test_each_command_ends_once_and_no_tag_is_used_twice_at_a_time(seed):
    rng = random.Random(seed)
    host = {"cmd": streams.endpoint(streams.CMD), "cpl": streams.endpoint(streams.CPL)}
    dut = OwnCommand(host)
    open_tags, theirs, taken, ended, own_ended, beside = {}, set(), [], [], [], 0

    def front_end():
        for number in range(COMMANDS):
            while True:
                free = [tag for tag in range(TAG - 3, TAG + 1) if tag not in theirs]
                if free:
                    break
                yield
            tag = rng.choice(free)
            theirs.add(tag)
            yield from put(dut.cmd, opcode=1, lba=number, count=1, arg=7, tag=tag, valid=1)
            yield
            while not (yield dut.cmd.ready):
                yield
            yield dut.cmd.valid.eq(0)
            for _ in range(rng.choice([0, 0, 1, 8])):
                yield

    def front_end_ends():
        while len(ended) < COMMANDS:
            yield dut.cpl.ready.eq(rng.randrange(2))
            yield
            if (yield dut.cpl.ready) and (yield dut.cpl.valid):
                ended.append((yield dut.cpl.result))
                theirs.remove((yield dut.cpl.tag))

    def firmware():
        for number in range(OWN):
            for _ in range(rng.randrange(60)):
                yield
            words = dict(opcode=9, lba=1000 + number, count=number, txid=128 * (number % 2) + number % 32, arg=number)
            yield from put(dut, **{f"own_{name}.storage": value for name, value in words.items()})
            yield dut.own_go.re.eq(1)
            yield
            yield dut.own_go.re.eq(0)
            yield
            while (yield dut.own_busy.status):
                yield
            own_ended.append(((yield dut.own_result.status), (yield dut.own_status.status)))

    def core():
        nonlocal beside
        cmd, cpl = host["cmd"], host["cpl"]
        offered = None
        while len(ended) + len(own_ended) < COMMANDS + OWN:
            yield cmd.ready.eq(rng.randrange(3) == 0)
            if offered is None and open_tags and rng.randrange(3) == 0:
                offered = rng.choice(sorted(open_tags))
                lba = open_tags[offered]
                yield from put(cpl, tag=offered, result=lba, status=lba >= 1000, valid=1)
            yield
            if (yield cmd.valid) and (yield cmd.ready):
                tag, lba = (yield cmd.tag), (yield cmd.lba)
                assert tag not in open_tags
                if lba >= 1000:
                    assert tag == TAG and (yield cmd.opcode) == 9 and (yield cmd.count) == (yield cmd.arg) == lba - 1000
                    assert (yield cmd.hasTx) == lba % 2 and (yield cmd.txid) == (lba - 1000) % 32
                else:
                    assert (yield cmd.opcode) == 1 and (yield cmd.arg) == 7 and not (yield cmd.hasTx)
                    beside += any(other >= 1000 for other in open_tags.values())
                open_tags[tag] = lba
                taken.append(lba)
            if offered is not None and (yield cpl.valid) and (yield cpl.ready):
                del open_tags[offered]
                offered = None
                yield cpl.valid.eq(0)

    run_simulation(dut, [front_end(), front_end_ends(), firmware(), core()])
    assert sorted(ended) == list(range(COMMANDS)) and [lba for lba in taken if lba < 1000] == list(range(COMMANDS))
    assert own_ended == [(1000 + number, 1) for number in range(OWN)]
    assert beside > 10, "no command passed one of firmware's own"


def put(target, **values):
    for name, value in values.items():
        yield reduce(getattr, name.split("."), target).eq(value)
