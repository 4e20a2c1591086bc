# SPDX-License-Identifier: Apache-2.0
"""What firmware asks of the data path, as part of its bench: counts of pages in use, turns of reads, beginnings of
transactions, committed versions, notes.

The golden model of the counts knows no events: when nothing is under way the count of a block is how many words of the
map and of the transactions name a page of it, and one more for the page on offer.
"""

from collections import Counter

from cocotb_tests.bench.streams import Pin, reader

BLOCKS, PAGES = 128, 16  # of a drive of the bench's geometry, in page numbers
ASKS = (
    "liveAsk_valid liveAsk_payload liveSet_valid liveSet_payload readsTurn txAsk_valid txAsk_payload prepared_valid "
    "prepared_payload_txid prepared_payload_entries lookup_valid "
    "lookup_payload note picked_valid picked_payload liveWord changed_valid changed_payload changedAsk_valid "
    "changedAsk_payload changedTake changedSet_valid changedSet_payload"
).split()
ANSWERS = (
    "liveCount_valid liveCount_payload readsOld txOpen txFirst found_valid found_payload noting changedPages_valid "
    "changedPages_payload"
).split()


def block_of(page):
    """What a page number is of that drive: the bench's own go further."""
    return page // PAGES % BLOCKS


class FirmwareAsks:
    """Needs of its bench: `dut`, `clock`, `clocks`, `step`, `until`, `alloc`, `map`, `txs`, `log`, `complete`,
    `open_group`.
    """

    def start_asks(self):
        self.asks = {n: Pin(getattr(self.dut, n)) for n in ASKS}
        self.answers = {n: reader(getattr(self.dut, n)) for n in ANSWERS}
        self.shown_page, self.notes, self.note_from, self.touched = None, [], 0, set()

    def drive_asks(self):
        """A page is picked in the clock in which it goes on offer."""
        page = self.alloc.queue[0]["payload"] if self.alloc.offered else None
        new = page is not None and page != self.shown_page
        self.asks["picked_valid"].set(int(new))
        if new:
            self.asks["picked_payload"].set(page)
            self.touched.add(block_of(page))
        if page is not None:
            self.shown_page = page

    async def strobe(self, name, payload=None):
        """One clock of a flow or, without `payload`, of a plain signal."""
        pin = self.asks[name if payload is None else f"{name}_valid"]
        if name == "note":
            self.note_from = len(self.log)
        if payload is not None:
            self.asks[f"{name}_payload"].set(payload)
        pin.set(1)
        await self.step()
        pin.set(0)

    async def prepared(self, txid, entries):
        """Before the first command: a mount has brought back a transaction."""
        self.restore(txid, entries)
        self.asks["prepared_payload_entries"].set(entries)
        self.asks["prepared_payload_txid"].set(txid)
        await self.strobe("prepared_valid")

    async def answer(self, ask, answer, payload):
        await self.strobe(ask, payload)
        await self.until(self.answers[f"{answer}_valid"], 2000)
        return self.answers[f"{answer}_payload"]()

    async def no_page_is_counted(self):
        for block in range(BLOCKS):
            await self.strobe("liveAsk", block)
            await self.strobe("liveSet", 0)
            await self.clocks(2)
        if self.alloc.offered:  # it was picked before
            await self.strobe("liveAsk", block_of(self.shown_page))
            await self.strobe("liveSet", 1)
            await self.clocks(2)

    async def counts_are_those_of_the_map(self):
        named = Counter(
            block_of(w & 0x3FFF_FFFF)
            for versions in (self.map, *self.txs)
            for w, _ in versions.values()
            if w >> 30 == 1
        )
        if self.alloc.offered:
            named[block_of(self.shown_page)] += 1
        for block in sorted(self.touched | set(named)):
            count = await self.answer("liveAsk", "liveCount", block)
            assert count == named[block], (
                f"block {block} has {count} pages in use, map and transactions name {named[block]}"
            )

    def note(self, e):
        """The entry of a note has no meaning, is between groups and complete as it is appended."""
        want = dict.fromkeys(e, 0) | dict(kind=e["kind"], n=1, room=1, last=1)
        assert e == want and self.open_group is None, e
        assert self.durable >= self.note_from or self.failed, "what stands before the note is not durable"
        self.notes.append(len(self.log))
        self.complete.add(len(self.log))
        self.log.append(e)
