# SPDX-License-Identifier: Apache-2.0
"""e6: what order costs: 4 KiB random writes, up to 32 under way, on preset quick4 with the array times of K9F8G08, kept
in order in four ways.

    orderless            the host wants no order
    barrier              a barrier with every write
    wait for transfer    the next write is sent when the one before has completed
    transfer and flush   and a FLUSH after it has completed, too

On drives that keep the order themselves in three ways (persist_order, docs/decisions/039): in-order recovery, in-order
write-back, transactional write-back; with writes that wait in the write buffer or do not, and with PLP.

The paper's barrier-enabled device reaches 90 % of orderless with barriers, 0.5 to 35 % with transfer and flush.
Blocks are erased ahead and no
block comes back in the time, so that what is measured is order and not collection. `depth`: commands under way, on
the average over time (e7 has the picture). `fast`: an array that takes some microseconds, so that data on its way
into the drive, and the drive itself, are what takes time.
"""

from itertools import cycle

from bench.committers import MHZ, PRESET, Traffic, opened, us
from bench.drive_build import build_drive
from bench.result import Check, Result
from opentxssd import TAGS, Drive, Opcode
from opentxssd.facts import PersistOrder

TITLE = "order of 4 KiB random writes"
WRITES, SKIP = 600, 100  # timed ones, and those before
WAYS = ("orderless", "barrier", "wait for transfer", "transfer and flush")
TARGET, PAPER = 0.98, 0.90
BUFFER = dict(buffer_percent=60)
DRIVES = {
    "write-through": {},
    "buffer": BUFFER,
    "buffer, in-order write-back": BUFFER | dict(persist_order=PersistOrder.IN_ORDER),
    "buffer, transactional": BUFFER | dict(persist_order=PersistOrder.TOGETHER),
    "buffer, PLP": BUFFER | dict(plp_us=20_000, plp_page_ns=220_000),
}


def measure(way, writes=WRITES, fast=False, **settings):
    """(clocks of the timed writes, [(clocks since then began, commands under way from then on)])."""
    drive = Drive(PRESET) if fast else opened(**settings)
    drive.step(1_000_000)  # blocks are erased ahead
    traffic, ended, depths = Traffic(drive, 1), [], []
    alone = way in WAYS[2:]
    # each block again when the one before has long been written: what waits in the buffer is replaced by orderless
    # writes of the same block, but not past a barrier
    addresses = cycle(traffic.rng.sample(range(drive.lbas), drive.lbas))
    flags = {"orderless": {"orderless": 1}, "barrier": {"barrier": 1}}.get(way, {})

    def send(_):
        traffic.write(next(addresses), 1, written, **flags)

    def written(clock):
        ended.append(clock)
        if way == "transfer and flush":
            traffic.submit(send, Opcode.FLUSH)
        else:
            send(clock)

    for _ in range(1 if alone else TAGS):
        send(0)

    def over():
        if len(ended) >= SKIP:
            depths.append((drive.clock - ended[SKIP - 1], len(traffic.then)))
        return len(ended) >= SKIP + writes

    traffic.run(over)
    return ended[SKIP + writes - 1] - ended[SKIP - 1], depths


def average(depths):
    """Over time; each depth lasts until the next one."""
    spans = [(later - clock, n) for (clock, n), (later, _) in zip(depths, depths[1:], strict=False)]
    return sum(span * n for span, n in spans) / sum(span for span, _ in spans)


def run(writes=WRITES):
    build_drive(PRESET)
    rows, rate = [], {}
    kinds = [("K9F8G08", name) for name in DRIVES] + [("fast", "write-through")]
    for array, name, way in ((array, name, way) for array, name in kinds for way in WAYS):
        clocks, depths = measure(way, writes, array == "fast", **DRIVES[name])
        rate[array, name, way] = writes / us(clocks) * 1e6
        rows.append(
            {
                "array": array,
                "drive": name,
                "way": way,
                "iops": rate[array, name, way],
                "of_orderless": rate[array, name, way] / rate[array, name, WAYS[0]],
                "paper": {"barrier": PAPER, "transfer and flush": "0.005 to 0.35"}.get(way),
                "depth": average(depths),
            }
        )
    ratio = {kind: rate[*kind, "barrier"] / rate[*kind, "orderless"] for kind in kinds}
    recovery = [kind for kind in kinds if kind[1] in ("write-through", "buffer", "buffer, PLP")]
    first = kinds[0]
    flushed = rate[*first, "transfer and flush"] / rate[*first, "orderless"]
    return Result(
        clock_mhz=MHZ,
        clock_from=f"preset {PRESET}, array times of K9F8G08",
        unit="of the rate of orderless writes, with a barrier after each",
        rows=rows,
        ours=min(ratio[kind] for kind in recovery),
        paper=PAPER,
        target=TARGET,
        checks=[
            *(
                Check(f"barrier / orderless (at least {TARGET}), {', '.join(kind)}", ratio[kind], ratio[kind] >= TARGET)
                for kind in recovery
            ),
            Check("transfer and flush / orderless (less than barriers)", flushed, flushed < ratio[first]),
        ],
    )


def plot(figure, result):
    kinds = list(dict.fromkeys((r["array"], r["drive"]) for r in result["rows"]))
    for axes, kind in zip(figure.subplots(2, 3).flat, kinds, strict=True):
        rows = [r for r in result["rows"] if (r["array"], r["drive"]) == kind]
        axes.bar([r["way"].replace(" ", "\n") for r in rows], [r["iops"] for r in rows])
        axes.set_title(", ".join(kind), fontsize=7)
        axes.tick_params(labelsize=5)
