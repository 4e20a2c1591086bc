# SPDX-License-Identifier: Apache-2.0
"""Two-phase commit over two drives (examples/two_drives.py): a transfer is cut before each step and inside each
command, on either drive, on both, in the coordinator, or on all of them. After the recovery it happened on both
drives or on none, as the coordinator's answer and its journal say, and nothing stays prepared.

The drives of each case are copies of two processes (fork), so all begin alike.
"""

import pytest

from examples.two_drives import TXID, Coordinator, Journal, PowerFailed, Server, amount

OLD, NEW, LBA, OTHER = (100, 20), (70, 50), 7, 30
STEPS = ["write 0", "write 0", "write 1", "write 1", "prepare 0", "prepare 1", "decide", "commit 0", "commit 1", "done"]
VICTIMS = {"drive 0": (0,), "drive 1": (1,), "both drives": (0, 1), "the coordinator": (), "all": (0, 1)}
PLACES = 5  # inside a command
BLOCKS = [{LBA: amount(new), OTHER: amount(new + 1)} for new in NEW]


@pytest.fixture(scope="module")
def drives():
    servers = [Server("quick"), Server("quick")]
    for server, balance in zip(servers, OLD, strict=True):
        server.write(LBA, amount(balance))
        server.write(OTHER, amount(balance + 1))
        server.flush()
    yield servers
    for server in servers:
        server.close()


def balances(drives):
    """What both drives hold; the two blocks of a drive are always of one version."""
    held = []
    for drive in drives:
        found = [int.from_bytes(drive.read(lba)[:8], "little") for lba in (LBA, OTHER)]
        assert found[1] == found[0] + 1, "half of a transaction"
        held.append(found[0])
    return tuple(held)


class Cut:
    """Raises PowerFailed at step number `at`; there the drives `victims` lose power, before the step or, with `clocks`,
    so far in its command."""

    def __init__(self, drives, victims, at, clocks=None):
        self.drives, self.victims, self.at, self.clocks, self.steps = drives, victims, at, clocks, []

    def __call__(self, name):
        self.steps.append(name)
        if len(self.steps) - 1 != self.at:
            return
        own = int(name[-1]) if self.clocks is not None else None
        for n in self.victims:
            if n != own:
                self.drives[n].fail(seed=self.at)
        if own is None:
            raise PowerFailed
        self.drives[own].fail_in(self.clocks)


def settled(drives, journal, answer, at, again=()):
    """All is switched on again, the coordinator recovers (cut at the steps of `again`): the world is as it must be."""
    for number in again:
        for drive in drives:
            drive.power_on()
        cut = Cut(drives, (number % 3,) if number % 3 < 2 else (0, 1), number)
        try:
            Coordinator(drives, journal, cut).recover()
        except PowerFailed:
            pass
    for drive in drives:
        drive.power_on()
    decided = any(words[:2] == ["commit", "one"] for words in journal.lines())
    Coordinator(drives, journal).recover()
    held = balances(drives)
    assert held == (NEW if decided else OLD), f"decided: {decided}"
    assert answer is None or (held == NEW) == answer
    assert [drive.prepared() for drive in drives] == [[], []] and journal.decided() == {}
    assert decided == (at > STEPS.index("decide"))
    for drive in drives:  # it is durable, and the drives go on
        drive.fail(seed=5)
        drive.power_on()
    assert balances(drives) == held
    more = [{LBA: amount(1000 + n), OTHER: amount(1001 + n)} for n in range(2)]
    assert Coordinator(drives, journal).transfer("two", more, txid=TXID) and balances(drives) == (1000, 1001)


def case(servers, folder, victims, at, clocks=None, again=()):
    drives = [server.copy() for server in servers]
    journal, answer = Journal(folder / "journal"), None
    try:
        answer = Coordinator(drives, journal, Cut(drives, victims, at, clocks)).transfer("one", BLOCKS)
    except PowerFailed:
        pass
    settled(drives, journal, answer, at if clocks is None else at + 0.5, again)
    for drive in drives:
        drive.close()


def test_a_transfer_happens_on_both_drives(drives, tmp_path):
    copies = [server.copy() for server in drives]
    cut = Cut(copies, (), None)
    assert Coordinator(copies, Journal(tmp_path / "journal"), cut).transfer("one", BLOCKS)
    assert cut.steps == STEPS and balances(copies) == NEW
    for copy in copies:
        copy.close()


@pytest.mark.parametrize("victims", VICTIMS.values(), ids=VICTIMS)
def test_cut_before_each_step(drives, tmp_path, victims):
    for at in range(len(STEPS) + 1):
        folder = tmp_path / str(at)
        folder.mkdir()
        case(drives, folder, victims, at)


@pytest.mark.parametrize(
    "at", [n for n, name in enumerate(STEPS) if name[-1] in "01"], ids=lambda n: f"{n}: {STEPS[n]}"
)
def test_cut_inside_each_command(drives, tmp_path, at):
    """Drive alone, both, or all; `length`: clocks of the command when nothing is cut."""
    own = int(STEPS[at][-1])
    copies = [server.copy() for server in drives]
    clocks = []

    def measure(name):
        clocks.append([copy.clock() for copy in copies])

    assert Coordinator(copies, Journal(tmp_path / "journal"), measure).transfer("one", BLOCKS)
    length = clocks[at + 1][own] - clocks[at][own]
    for copy in copies:
        copy.close()
    for place in range(PLACES):
        for victims in ((own,), (0, 1)):
            folder = tmp_path / f"{place} {victims}"
            folder.mkdir()
            case(drives, folder, victims, at, 1 + length * place // (PLACES - 1))


@pytest.mark.parametrize("at", [6, 7, 8, 9], ids=lambda n: STEPS[n])
def test_recovery_is_cut_at_each_of_its_steps(drives, tmp_path, at):
    for again in range(6):
        folder = tmp_path / str(again)
        folder.mkdir()
        case(drives, folder, (0, 1), at, again=(again, again + 1))


def test_a_decision_that_is_half_in_the_journal_is_none(drives, tmp_path):
    copies = [server.copy() for server in drives]
    journal = Journal(tmp_path / "journal")

    def torn(name):
        if name == "decide":
            journal.path.write_text("commit one 3"[:9])
            raise PowerFailed

    with pytest.raises(PowerFailed):
        Coordinator(copies, journal, torn).transfer("one", BLOCKS)
    Coordinator(copies, journal).recover()
    assert balances(copies) == OLD and [copy.prepared() for copy in copies] == [[], []]
    assert Coordinator(copies, journal).transfer("two", BLOCKS) and balances(copies) == NEW
    for copy in copies:
        copy.close()


def test_a_drive_that_does_not_want_it_ends_it_on_both(drives, tmp_path):
    copies = [server.copy() for server in drives]
    copies[1].write(LBA, amount(1), txid=TXID)
    copies[1].prepare(TXID)  # somebody else's: the txid takes no writes
    assert not Coordinator(copies, Journal(tmp_path / "journal")).transfer("one", BLOCKS)
    assert balances(copies) == OLD and copies[0].prepared() == []
    for copy in copies:
        copy.close()
