# SPDX-License-Identifier: Apache-2.0
"""What MapPages.scala does to memories and counts, task by task: `Map(geometry)` holds the words of the table,
`frames` what is in frames, `loads` how often each page was named.
"""

from collections import Counter

from opentxssd.facts import LogFlag, LogKind, MapOpcode, WordKind, word

WORDS, NO_VALUE = 1024, (1 << 30) - 1
HEADER, ENTRY = 16, 8  # words of a log page


class Map:
    def __init__(self, g):
        self.g, self.words, self.frames, self.loads = g, {}, {}, Counter()
        self.applied = Counter()  # map pages

    def exists(self, ppn):
        g = self.g
        block, upper = ppn >> g.page_bits & (1 << g.block_bits) - 1, ppn >> g.page_bits >> g.block_bits
        way_bits = g._bits(g.ways)
        return block < g.blocks_per_way and upper & (1 << way_bits) - 1 < g.ways and upper >> way_bits < g.channels

    def named(self, w):
        return w >> 30 == WordKind.NAND and self.exists(w & NO_VALUE)

    def plain(self, w):
        if w >> 30 != WordKind.BUF:
            return w
        return 0 if w & NO_VALUE == NO_VALUE else word(WordKind.NAND, w & NO_VALUE)

    def run(self, op, frame=0, page=0, first=0, end=0):
        """(bad, any, stop)."""
        lpns = range(page * WORDS, (page + 1 + (frame if op == MapOpcode.FILL else 0)) * WORDS)
        if op == MapOpcode.FILL:
            self.words |= dict.fromkeys(lpns, 0)
            return False, False, end
        if op == MapOpcode.APPLY:
            return self.apply(frame, first, end)
        source = self.frames[frame] if op == MapOpcode.LOAD else [self.words.get(lpn, 0) for lpn in lpns]
        page_words = [w if lpn < self.g.lbas else 0 for lpn, w in zip(lpns, source, strict=True)]
        if op == MapOpcode.STORE:
            page_words = [self.plain(w) for w in page_words]
        bad = op == MapOpcode.LOAD and any(w and not self.named(w) for w in page_words)
        for w in page_words:
            if self.named(w):
                self.loads[w & NO_VALUE] += 1
        if op == MapOpcode.STORE:
            self.frames[frame] = page_words
        self.words |= zip(lpns, page_words, strict=True)
        return bad, any(page_words), end

    def apply(self, frame, first, end):
        for n in range(first, end):
            head, lpn, location = self.frames[frame][HEADER + ENTRY * n :][:3]
            if (
                head & 0xFF != LogKind.MAP
                or head >> 8 & LogFlag.IN_TX
                or lpn >= self.g.lbas
                or not self.named(location)
            ):
                return False, False, n
            self.words[lpn] = word(WordKind.BUF, location & NO_VALUE)
            self.loads[location & NO_VALUE] += 1
            self.applied[lpn // WORDS] += 1
        return False, False, end
