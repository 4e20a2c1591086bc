# SPDX-License-Identifier: Apache-2.0
"""At which instants the power is cut: each function takes traffic to a clock worth cutting at.

All draws are from the `rng` given; `pace` has the clocks of this preset.
"""

from dataclasses import dataclass
from pathlib import Path

from cocotb_tests.system.traffic import Until, mask
from opentxssd import Torn
from soc import geometry

ROOT = Path(__file__).resolve().parent.parent.parent

WHOLE_PAGES = ("quick", "quick4", "spare")  # of sim/Makefile


@dataclass(frozen=True)
class Pace:
    program: int  # clocks of the array
    erase: int
    page: int  # on the bus
    seek: int  # clocks after which a moment that does not come is given up; the cut is then where the traffic is
    boot: int  # the longest part of a boot that is let pass without looking
    # before a moment is looked for, on average: a cut costs a boot, beside which commands are cheap where pages are
    gap: int

    @classmethod
    def of(cls, preset, boot):
        """`boot`: clocks of a mount of this drive without a log."""
        g = geometry.preset(preset)
        page = 520 if preset in WHOLE_PAGES else 8_448
        clocks = [t * 1_000 // g.clock_ps for t in (g.timing.t_prog, g.timing.t_bers)]
        return cls(
            *clocks, page, 16 * page, boot * 3 // 2, 12 * (g.dies + 1) * page if preset in WHOLE_PAGES else 8 * page
        )


def any_clock(traffic, rng, pace):
    """Wherever the gap has led."""


def after_submission(traffic, rng, pace):
    """Soon after a FLUSH, FUA or COMMIT was submitted."""
    traffic.run(pace.seek, Until.SENT)
    traffic.run(rng.choice([rng.randrange(1, 400), rng.randrange(1, 3 * pace.page)]))


def after_completion(traffic, rng, pace):
    """Just after a FLUSH, FUA or COMMIT has completed."""
    traffic.run(pace.seek, Until.KEPT)
    traffic.run(rng.choice([rng.randrange(1, 20), rng.randrange(1, 400)]))


def end_of_log_page(traffic, rng, pace):
    """Around the end of the program of a log page, which is when a FUA or a COMMIT completes."""
    if traffic.run(pace.seek, Until.TORN, mask(Torn.LOG)):
        traffic.run(max(1, pace.program + rng.randrange(-40, 60)))


def log_page(traffic, rng, pace):
    """While a log page is programmed."""
    if traffic.run(pace.seek, Until.TORN, mask(Torn.LOG)):
        traffic.run(rng.randrange(1, pace.program))


def data_page(traffic, rng, pace):
    if traffic.run(pace.seek, Until.TORN, mask(Torn.DATA)):
        traffic.run(rng.randrange(1, pace.program))


def erase(traffic, rng, pace):
    if traffic.run(pace.seek, Until.TORN, mask(Torn.BLOCK)):
        traffic.run(rng.randrange(1, pace.erase))


def several_dies(traffic, rng, pace):
    """While several dies program; with one die, while it does."""
    if traffic.run(pace.seek, Until.TORN, mask(Torn.DATA, Torn.LOG, dies=min(2, len(traffic.drive.under_way())))):
        traffic.run(rng.randrange(1, pace.program // 2))


def merge_walk(traffic, rng, pace):
    """While the entries of a committed or aborted transaction are walked through."""
    if traffic.run(pace.seek, Until.WALK):
        traffic.run(rng.randrange(1, 200))


MOMENTS = {
    any_clock: 3,
    after_submission: 3,
    after_completion: 4,
    end_of_log_page: 3,
    log_page: 3,
    data_page: 2,
    erase: 1,
    several_dies: 2,
    merge_walk: 2,
}


def draw(rng):
    return rng.choices(list(MOMENTS), list(MOMENTS.values()))[0]


def part_of_boot(traffic, rng, pace):
    """Lets a part of the boot pass: some clocks, or up to the program of a map page, directory, root, table or seal or
    an erase. Returns what a cut would tear now.
    """
    goal = rng.choice([None, None, [Torn.BLOCK], [Torn.MAP, Torn.DIRECTORY], [Torn.ROOT, Torn.BBT], [Torn.SEAL]])
    if goal is None:
        traffic.boot_until(rng.randrange(1, pace.boot))
    else:
        again = rng.randrange(1, 4) if Torn.BLOCK in goal else rng.randrange(1, 3)
        if traffic.boot_until(20 * pace.boot, mask(*goal), again):
            traffic.boot_until(rng.randrange(1, pace.program))
    return traffic.drive.under_way()
