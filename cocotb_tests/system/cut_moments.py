# SPDX-License-Identifier: Apache-2.0
"""At which instants the power is cut: each function takes a workload (or a booting drive) to a clock worth cutting at. All draws are from the `rng` given."""

import os

from cocotb_tests.system.drive import Torn

SEEK = 80_000  # clocks after which a moment that does not come is given up; the cut is then where the workload is


def any_clock(work, rng):
    """Wherever the gap has led."""


def after_submission(work, rng):
    """Soon after a FLUSH, FUA or COMMIT was submitted."""
    sent = work.sent
    work.run(SEEK, lambda: work.sent > sent)
    work.run(rng.choice([rng.randrange(1, 400), rng.randrange(1, 20_000)]))


def next_promise(work):
    """The clock at which the next FLUSH, FUA or COMMIT completes, found in a copy of the process; now if none does."""
    out, into = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            kept = work.kept
            if work.run(SEEK, lambda: work.kept > kept):
                os.write(into, str(work.drive.clock).encode())
        finally:
            os._exit(0)
    os.close(into)
    clock = int(os.read(out, 20) or work.drive.clock)
    os.close(out)
    os.waitpid(pid, 0)
    return clock


def around_completion(work, rng):
    """Just before or just after a FLUSH, FUA or COMMIT completes."""
    near, far = rng.randrange(-30, 31), rng.randrange(-1_500, 300)
    work.run(max(1, next_promise(work) + rng.choice([near, far]) - work.drive.clock))


def log_page(work, rng):
    """While a log page is programmed."""
    work.run(SEEK, lambda: Torn.LOG in work.drive.under_way(), 100)
    work.run(rng.randrange(1, 800))


def several_dies(work, rng):
    """While several dies program; with one die, while it does."""
    most = min(2, len(work.drive.under_way()))
    work.run(SEEK, lambda: sum(map(bool, work.drive.under_way())) >= most, 100)
    work.run(rng.randrange(1, 300))


def merge_walk(work, rng):
    """While the entries of a committed or aborted transaction are walked through."""
    ended = len(work.walks)
    if work.run(SEEK, lambda: any(work.walks[ended:])):
        work.run(rng.randrange(1, 2 + 60 * max(work.walks[ended:])))


MOMENTS = {any_clock: 3, after_submission: 4, around_completion: 5, log_page: 3, several_dies: 3, merge_walk: 2}


def draw(rng):
    return rng.choices(list(MOMENTS), list(MOMENTS.values()))[0]


def part_of_boot(drive, rng):
    """Lets a part of the boot pass: some clocks, or up to the program of a map page, directory or root or an erase. Returns what a cut would tear now."""
    goal = rng.choice([None, None, {Torn.BLOCK}, {Torn.MAP, Torn.DIRECTORY}, {Torn.ROOT}])
    if goal is None:
        drive.boot_some(rng.randrange(1, 250_000))
    else:
        again = rng.randrange(1, 4) if Torn.BLOCK in goal else 1  # which of the erases
        before = False
        for _ in range(20_000):
            there = not goal.isdisjoint(drive.under_way())
            again -= there and not before
            before = there
            if not again or drive.boot_some(100):
                break
        drive.boot_some(rng.randrange(1, 800))
    return drive.under_way()
