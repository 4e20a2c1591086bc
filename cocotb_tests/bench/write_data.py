# SPDX-License-Identifier: Apache-2.0
"""The host's side of `wdata`: answers requests in order or mixed, stops in the middle of a WRITE, and goes on when
nobody wants its beats any more (docs/interfaces/host-port.md).
"""

from opentxssd.facts import BEATS


class WriteData:
    """A part of a bench; `wdata` is the source of that stream.

    `mixed`: share of the beats for which another request is picked, half of the times the oldest; 0: requests are
    answered in order. `stopped`: {tag:
    beats of it that still come}. A host forgets the requests of a command that has completed, but `late`: share of the
    clocks in which it sends a beat of one of them.
    """

    def __init__(self, wdata, rng):
        self.wdata, self.rng, self.mixed, self.late, self.stopped = wdata, rng, 0.0, 0.0, {}
        self.open, self.old, self.current, self.dropped = [], [], None, 0

    def wanted(self, tag, request, words, error=False):
        """`error`: the host cannot give that block, and says so with the last beat."""
        assert len(words) == BEATS and all(r["request"] != request for r in self.open), "a number that is under way"
        self.open.append(dict(tag=tag, request=request, words=list(words), error=error))

    def completed(self, tag):
        self.old += [r for r in self.open if r["tag"] == tag]
        self.open = [r for r in self.open if r["tag"] != tag]
        self.old = self.old[-20:]
        self.stopped.pop(tag, None)
        self.current = None

    def goes(self, r):
        return self.stopped.get(r["tag"], 1) > 0

    def pick(self):
        """The request that the next beat answers."""
        if self.old and self.rng.random() < self.late:
            return self.rng.choice(self.old)
        if not self.mixed:
            return self.open[0] if self.open and self.goes(self.open[0]) else None
        if self.current not in self.open or not self.goes(self.current) or self.rng.random() < self.mixed:
            going = [r for r in self.open if self.goes(r)] or [None]
            self.current = going[0] if self.rng.random() < 0.5 else self.rng.choice(going)
        return self.current

    def drive(self):
        while len(self.wdata.queue) < 2:
            r = self.pick()
            if r is None:
                return
            words = r["words"]
            word, last = words.pop(0), not words
            self.wdata.queue.append(
                dict(request=r["request"], data=word, last=int(last), error=int(last and r["error"]))
            )
            if r["tag"] in self.stopped and r in self.open:
                self.stopped[r["tag"]] -= 1
            if not words:
                (self.open if r in self.open else self.old).remove(r)

    def sample(self, clock):
        pass
