# SPDX-License-Identifier: Apache-2.0
"""A toy drive written from contract.md, and a client that keeps many commands under way: histories that the contract
allows, and proofs of what it forbids.

The toy does each command at one instant between submit and done, and keeps every promise as late and as narrowly as the
contract lets it: a FLUSH makes durable only what was complete before it was submitted, a cut takes any plain write that
is not durable, each for itself, and any suffix of the commits. Its history is therefore at the edge of what a judge may
refuse.
"""

import random


class Unit:
    """What took effect at one instant. `blocks`: LBA to stamp."""

    __slots__ = ("blocks", "commit", "relaxed", "durable", "completed", "id", "op", "prepared", "keeps", "epoch")

    def __init__(self, ident, op, blocks, commit=False, relaxed=False, keeps=True, epoch=0):
        self.keeps, self.epoch = keeps, epoch
        self.id, self.op, self.blocks, self.commit, self.relaxed = ident, op, blocks, commit, relaxed
        self.durable = False
        self.completed = None
        self.prepared = None  # the txid, of the COMMIT of a prepared transaction


class Toy:
    """The drive. `settled`: what no cut can take; `log`: the units since, in order."""

    def __init__(self, lbas, entries, rng):
        self.lbas, self.entries, self.rng = lbas, entries, rng
        self.settled = {}
        self.log = []
        self.now = {}
        self.open = {}
        self.used = {}
        self.prepared = set()  # of `open`
        self.firm = 0  # the latest epoch of something durable that keeps order

    def do(self, unit):
        self.log.append(unit)
        self.now.update(unit.blocks)

    def harden(self, unit):
        if unit.durable:
            return
        unit.durable = True
        if unit.commit:
            for other in self.log[: self.log.index(unit)]:
                other.durable |= other.commit
        if unit.keeps and unit.epoch > self.firm:
            self.firm = unit.epoch
            for other in (u for u in self.log if u.keeps and u.epoch < self.firm):
                other.durable = True
        while self.log and self.log[0].durable:
            self.settled.update(self.log.pop(0).blocks)

    def act(self, c):
        """The command's instant; returns the event of its completion."""
        ident, op, tx = c["id"], c["op"], c.get("tx")
        blocks, order = {}, {"keeps": not c.get("orderless"), "epoch": c["epoch"]}
        status, extra = "SUCCESS", {}
        if op in ("WRITE", "TRIM", "WRITE_ZEROES"):
            blocks = dict(zip(range(c["lba"], c["lba"] + c["n"]), c.get("data") or [0] * c["n"], strict=True))
            fails = self.rng.random()
            if fails < 0.01:
                return {"status": self.rng.choice(("CAPACITY", "READ_ONLY"))}
            if fails < 0.015 and tx is None:
                if self.rng.random() < 0.5:
                    unit = Unit(ident, op, blocks, **order)
                    self.do(unit)
                    if c.get("fua"):  # it can be seen, so it would survive
                        self.harden(unit)
                return {"status": "WRITE_FAULT"}
            if tx in self.prepared:
                return {"status": "TX_INVALID"}
            if tx is not None:
                if self.used.get(tx, 0) + c["n"] > self.entries:
                    return {"status": "TX_FULL"}
                self.open.setdefault(tx, {}).update(blocks)
                self.used[tx] = self.used.get(tx, 0) + c["n"]
                if c.get("commit"):
                    self.commit(c)
            else:
                unit = c["unit"] = Unit(ident, op, blocks, **order)
                self.do(unit)
                if c.get("fua"):
                    self.harden(unit)
        elif op == "READ":
            own = self.open.get(tx, {}) if tx is not None else {}
            extra["data"] = [own.get(lba, self.now.get(lba, 0)) for lba in range(c["lba"], c["lba"] + c["n"])]
        elif op == "FLUSH":
            for unit in [u for u in self.log if u.completed is not None and u.completed < c["line"]]:
                self.harden(unit)
        elif op == "BEGIN":
            if tx in self.open:
                status = "TX_BUSY"
            else:
                self.open[tx] = {}
        elif op == "PREPARE":
            if tx not in self.open or tx in self.prepared:
                status = "TX_INVALID"
            elif self.rng.random() < 0.05:
                status = "CAPACITY"
            else:
                self.prepared.add(tx)
                self.harden_commits()
        elif op in ("COMMIT", "ABORT"):
            if tx not in self.open:
                status = "TX_INVALID"
            elif op == "ABORT":
                del self.open[tx]
                self.used.pop(tx, None)
                if tx in self.prepared:
                    self.prepared.remove(tx)
                    self.harden_commits()
            else:
                self.commit(c)
        elif op == "RECOVER":
            for open_tx in set(self.open) - self.prepared:
                del self.open[open_tx]
                self.used.pop(open_tx, None)
        return {"status": status, **extra}

    def harden_commits(self):
        """What is durable with a PREPARE, or with the ABORT of a prepared one: all commits before it."""
        for unit in [u for u in self.log if u.commit]:
            self.harden(unit)

    def commit(self, c):
        unit = c["unit"] = Unit(
            c["id"], "COMMIT", self.open.pop(c["tx"]), True, bool(c.get("relaxed")), epoch=c["epoch"]
        )
        self.used.pop(c["tx"], None)
        if c["tx"] in self.prepared:
            self.prepared.remove(c["tx"])
            unit.prepared = c["tx"]
        self.do(unit)
        if not unit.relaxed:
            self.harden(unit)

    def cut(self, orderly):
        commits = [u for u in self.log if u.commit]
        least = max((i + 1 for i, u in enumerate(commits) if u.durable), default=0)
        kept = set(map(id, commits[: self.rng.randint(least, len(commits))]))
        chance = self.rng.choice((0.0, 0.5, 1.0))
        epochs = {u.epoch for u in self.log if u.epoch >= self.firm}
        if len(epochs) > 1:  # of one nobody knows, what is before stays, what is behind goes
            broken = self.rng.choice(sorted(epochs))
            first = sum(u.epoch < broken for u in commits)
            last = sum(u.epoch <= broken for u in commits)
            kept = set(map(id, commits[: max(least, self.rng.randint(first, last))]))
            gone = {id(u) for u in self.log if u.keeps and u.epoch > broken and not u.commit}
            kept |= {id(u) for u in self.log if u.keeps and u.epoch < broken}
        else:
            gone = ()
        for unit in self.log:
            if (
                unit.durable
                or (orderly and unit.completed)
                or id(unit) in kept
                or not unit.commit
                and id(unit) not in gone
                and self.rng.random() < chance
            ):
                self.settled.update(unit.blocks)
        lost = {
            u.prepared: u for u in self.log if u.prepared is not None and not (u.durable or id(u) in kept or orderly)
        }
        self.log.clear()
        self.firm = 0
        self.now = dict(self.settled)
        self.open = {tx: self.open[tx] for tx in self.prepared} | {tx: u.blocks for tx, u in lost.items()}
        self.prepared |= set(lost)
        self.used = {tx: len(blocks) for tx, blocks in self.open.items()}


class Client:
    """Writes the history. `hasty`: how often it ends a transaction of which commands are under way."""

    def __init__(
        self,
        seed,
        lbas=48,
        tags=32,
        txids=8,
        entries=48,
        most=8,
        hasty=0.02,
        relaxed=0.5,
        errors=True,
        prepare=0.0,
        barriers=0.0,
    ):
        self.rng = rng = random.Random(seed)
        self.toy = Toy(lbas, entries, rng)
        if not errors:
            self.toy.rng = random.Random(seed)
            self.toy.rng.random = lambda: 0.5
        self.lbas, self.tags, self.txids, self.most, self.hasty, self.relaxed = lbas, tags, txids, most, hasty, relaxed
        self.prepare, self.barriers, self.epoch = prepare, barriers, 0
        self.events = [
            {"history": 1, "lbas": lbas, "entries": entries, "seed": seed, "client": "toy", "failing": errors}
        ]
        self.ids = self.stamps = 0
        self.waiting, self.acted = [], []

    def submit(self, op, **fields):
        self.ids += 1
        if self.barriers and op in ("WRITE", "TRIM", "WRITE_ZEROES", "COMMIT"):
            if op != "COMMIT" and "tx" not in fields and self.rng.random() < 0.3:
                fields["orderless"] = 1
            if self.rng.random() < self.barriers:
                fields["barrier"] = 1
        command = {"e": "submit", "id": self.ids, "op": op, **fields}
        if op == "WRITE":
            command["data"] = [self.stamps + k + 1 for k in range(fields["n"])]
            self.stamps += fields["n"]
        self.events.append(command)
        self.waiting.append({**command, "line": len(self.events), "epoch": self.epoch})
        self.epoch += op == "BARRIER" or fields.get("barrier", 0)

    def step(self):
        """One command takes effect, or is completed."""
        if self.waiting and (not self.acted or self.rng.random() < 0.5):
            at = self.rng.randrange(len(self.waiting))
            if self.keeps(self.waiting[at]):  # what keeps order takes effect epoch by epoch
                at = min(i for i, c in enumerate(self.waiting) if self.keeps(c)) if self.barriers else at
            command = self.waiting.pop(at)
            self.acted.append((command, self.toy.act(command)))
        elif self.acted:
            command, answer = self.acted.pop(self.rng.randrange(len(self.acted)))
            self.events.append({"e": "done", "id": command["id"], **answer})
            if "unit" in command:
                command["unit"].completed = len(self.events)

    @staticmethod
    def keeps(c):
        plain = c["op"] in ("WRITE", "TRIM", "WRITE_ZEROES") and "tx" not in c and not c.get("orderless")
        return plain or c["op"] == "COMMIT" or c.get("commit", 0)

    def drain(self):
        while self.waiting or self.acted:
            self.step()

    def busy(self, tx):
        return any(c.get("tx") == tx for c in self.waiting) or any(c.get("tx") == tx for c, _ in self.acted)

    def ending(self, tx):
        """An end of the transaction, or a RECOVER, is under way."""
        under_way = [*self.waiting, *(c for c, _ in self.acted)]
        return any(
            c["op"] == "RECOVER" or c.get("tx") == tx and (c["op"] in ("COMMIT", "ABORT", "PREPARE") or c.get("commit"))
            for c in under_way
        )

    def area(self):
        n = min(self.rng.randint(1, self.most), self.lbas)
        return {"lba": self.rng.randint(0, self.lbas - n), "n": n}

    def some(self):
        """A random command."""
        rng = self.rng
        kind, tx = rng.random(), rng.randrange(self.txids)
        hasty = rng.random() < self.hasty
        in_tx = {"tx": tx} if rng.random() < 0.5 and (hasty or not self.ending(tx)) else {}
        quiet = hasty or not self.busy(tx)
        relaxed = {"relaxed": 1} if rng.random() < self.relaxed else {}
        if self.barriers and rng.random() < self.barriers / 4:
            self.submit("BARRIER")
        if kind < 0.32:
            self.submit("READ", **self.area(), **in_tx)
        elif kind < 0.64:
            fua = {"fua": 1} if not in_tx and rng.random() < 0.1 else {}
            self.submit("WRITE", **self.area(), **in_tx, **fua)
        elif kind < 0.72:
            self.submit(rng.choice(("TRIM", "WRITE_ZEROES")), **self.area(), **in_tx)
        elif kind < 0.75:
            self.submit("FLUSH")
        elif kind < 0.755:
            if hasty or not any(self.busy(t) for t in range(self.txids)):
                self.submit("RECOVER")
        elif kind < 0.80:
            if hasty or not self.ending(tx):
                self.submit("BEGIN", tx=tx)
        elif not quiet:
            return
        elif self.prepare and rng.random() < self.prepare:
            self.submit("PREPARE", tx=tx)
        elif kind < 0.93:
            self.submit("COMMIT", tx=tx, **relaxed)
        elif kind < 0.97:
            self.submit("WRITE", **self.area(), tx=tx, commit=1, **relaxed)
        else:
            self.submit("ABORT", tx=tx)

    def run(self, commands):
        for _ in range(commands):
            while len(self.waiting) + len(self.acted) >= self.tags:
                self.step()
            self.some()
            while self.rng.random() < 0.45:
                self.step()

    def power(self, orderly=False):
        if orderly:
            self.drain()
        self.waiting.clear()
        self.acted.clear()
        self.toy.cut(orderly)
        self.events.append({"e": "off" if orderly else "cut"})
        if self.rng.random() < 0.1:
            self.events.append({"e": "cut", "in": "recovery"})
        self.events.append({"e": "up", "mode": "open", "dropped": 0})

    def look(self, times=1):
        for _ in range(times):
            for lba in range(0, self.lbas, self.most):
                self.submit("READ", lba=lba, n=min(self.most, self.lbas - lba))
            self.drain()


def history(seed, cuts=3, commands=150, **options):
    """A good history: traffic and cuts, all blocks read after most of them, now and then again after a clean
    restart."""
    client = Client(seed, **options)
    for _ in range(cuts):
        client.run(client.rng.randint(commands // 2, commands))
        client.power()
        if client.rng.random() < 0.8:
            client.look(client.rng.choice((1, 2)))
        if client.rng.random() < 0.3:
            client.power(orderly=True)
            client.look()
    client.run(commands // 4)
    client.drain()
    return client.events


def unflushed(seed, cuts=2, commands=14):
    """A good history of RELAXED commits and plain writes that nothing made durable, then a cut: much for the cut to
    choose from.
    """
    client = Client(seed, entries=60000, errors=False, hasty=0)
    for _ in range(cuts):
        for number in range(commands):
            if client.rng.random() < 0.7:
                client.submit("WRITE", **client.area(), tx=number % client.txids, commit=1, relaxed=1)
            else:
                client.submit("WRITE", **client.area())
            while client.rng.random() < 0.7:
                client.step()
            if number % client.txids == client.txids - 1:
                client.drain()
        client.power()
        client.look(2)
    return client.events
