# SPDX-License-Identifier: Apache-2.0
"""The whole drive nearly full while many programs fail: blocks run out in the middle of large WRITEs, and moves out of
failing blocks run beside erases. What the host sees, then and after a power cut, is judged by the contract; the NAND
refuses a page that is programmed twice."""

import os
import sys
from collections import Counter

import pytest

from cocotb_tests.bench.amount import amount
from judge import judge_lines
from opentxssd import Drive
from opentxssd.faults import Faults
from opentxssd.record import Recorder

pytestmark = pytest.mark.forked
FREED = (1, 3)  # transactions of 48 blocks, of those that fill the drive, that are aborted again
SHARES = (200_000, 400_000)  # programs that fail, of a million
AFTER = 30_000  # clocks into the last WRITEs


def filled(freed):
    """A recorder of a drive whose blocks are all written, and whose room open transactions hold but for what `freed` of
    them have given back.
    """
    drive = Drive("quick", faults=Faults(seed=1))
    recorder = Recorder(drive, preset="quick", failing=True)
    for lba in (0, 32):
        assert recorder.do("WRITE", lba=lba, n=32) == "SUCCESS"
    statuses = [recorder.do("WRITE", lba=n % 3 * 16, n=16, tx=n // 3) for n in range(96)]
    assert "CAPACITY" in statuses
    for txid in range(freed):
        assert recorder.do("ABORT", tx=txid) == "SUCCESS"
    assert recorder.do("FLUSH") == "SUCCESS" and drive.idle()
    return drive, recorder


def last_writes(drive, recorder, seed, share):
    """Three more WRITEs of which programs fail, FLUSH, all blocks, a power cut with sound NAND, all blocks; the
    statuses.
    """
    for n in range(3):
        recorder.submit("WRITE", lba=32 * (n % 2), n=32)
    end = drive.clock + AFTER
    while drive.clock < end:
        recorder.step(end - drive.clock)
    drive.set_faults(Faults(seed=seed, program_fail_ppm=share))
    assert recorder.drain(5_000_000), f"something hangs: {recorder.flight}"
    recorder.look()
    drive.set_faults(Faults(seed=seed))
    recorder.do("FLUSH")
    recorder.look()
    recorder.power_cut(seed=seed)
    recorder.power_on()
    recorder.look()
    verdict = judge_lines(recorder.events)
    assert verdict.good, verdict.violations
    return Counter(e["status"] for e in recorder.events if e.get("e") == "done")


@pytest.mark.parametrize("freed", FREED)
def test_blocks_that_fail_near_the_end_of_room_cost_no_data_and_no_part_of_a_write(freed):
    drive, recorder = filled(freed)
    seen = Counter()
    for seed in range(1, 1 + amount(5, 60)):
        for share in SHARES:
            out, back = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(out)
                try:
                    statuses = last_writes(drive, recorder, seed, share)
                    os.write(back, " ".join(statuses).encode())
                    os._exit(0)
                except BaseException as wrong:  # noqa: BLE001
                    recorder.save(f"build/full_and_failing_{freed}_{seed}_{share}.jsonl")
                    print(f"seed {seed}, share {share}: {wrong}", file=sys.stderr, flush=True)
                    os._exit(1)
            os.close(back)
            with os.fdopen(out) as pipe:
                said = pipe.read()
            assert os.waitpid(child, 0)[1] == 0, (
                f"seed {seed}, {share} of a million programs failing "
                f"(build/full_and_failing_{freed}_{seed}_{share}.jsonl)"
            )
            seen.update(said.split())
    drive.power_cut()
    print(f"{freed} transactions given back: statuses of {len(SHARES) * amount(5, 60)} runs: {dict(seen)}")
    assert seen["READ_ONLY"] + seen["WRITE_FAULT"] > 0 and seen["SUCCESS"] > 0
