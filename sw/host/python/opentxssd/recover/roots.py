# SPDX-License-Identifier: Apache-2.0
"""Which roots an image has and which one counts, by the rules of the firmware's mount (docs/interfaces/on-flash.md).

`find(image)` tells how the drive's pages are stored, too, and sets `image.code` and `image.scrambled`.
"""

from dataclasses import dataclass, field

from opentxssd.facts import Format, PageKind, PageStatus, layout, magic, unpack
from opentxssd.recover.image import ImageError, ways_to_store

ANCHORS, ROOT_PAGES, SEAL_TRIES, TABLE_BLOCKS, FIRST_TABLE_BLOCK = 6, 3, 3, 3, 2
TABLE_WORDS = 1024  # of a page of the bad-block table
CREDIBLE = 1 << 40  # a version of the table from this on is noise
FIRST = 1  # sequence of the root of a first format
WORDS = {name: bits // 32 for name, bits in layout("Root")}


def words(value, n):
    """The words of a field that has several."""
    return [value >> 32 * i & 0xFFFFFFFF for i in range(n)]


@dataclass
class Root:
    """Pages of one sequence: `places` of those that are whole, `sealed` if a seal speaks for it, `named` anchors."""

    sequence: int
    fields: dict
    places: list = field(default_factory=list)
    named: int = 0
    sealed: bool = False
    counts: bool = False

    def words(self, name):
        return words(self.fields[name], WORDS[name])


def anchor(image, n):
    """(die, block) of an anchor."""
    only = image.dies == 1
    block = n if only else n // 2
    if block >= FIRST_TABLE_BLOCK:
        block += 2 * TABLE_BLOCKS if only else TABLE_BLOCKS
    return (0 if n % 2 == 0 else image.dies - 1), block


def page(image, die, block, at, oob=False):
    return image.read(image.place(image.block_id(die, block) << image.page_bits | at), oob)


def is_root(read):
    return read.status == PageStatus.OK and read.kind == PageKind.ROOT and read.data.startswith(magic("Root"))


# The bad-block table


def table_versions(image, copy, parts):
    """(version, block, page) of first pages of the table, newest first."""
    die, first = (0 if copy == 0 else image.dies - 1), FIRST_TABLE_BLOCK
    first += copy * TABLE_BLOCKS if image.dies == 1 else 0
    found = []
    for block in range(first, first + TABLE_BLOCKS):
        for at in range(0, image.pages - parts + 1, parts):
            read = page(image, die, block, at, oob=True)
            if read.status == PageStatus.BLANK:
                break
            if read.status == PageStatus.OK and read.kind == PageKind.BBT and read.lpn == 0:
                found.append((read.sequence, -block, -at))
    return [(version, die, -block, -at) for version, block, at in sorted(found, reverse=True) if 0 < version < CREDIBLE]


def bad_blocks(image):
    """(die, block) of those in the newest table that is whole; empty if there is none."""
    per_die = -(-image.blocks // 32)
    parts = -(-image.dies * per_die // TABLE_WORDS)
    versions = [v for copy in range(2) for v in table_versions(image, copy, parts)]
    for version, die, block, at in sorted(versions, key=lambda v: -v[0]):
        reads = [page(image, die, block, at + part) for part in range(parts)]
        if all(
            (r.status, r.kind, r.lpn, r.sequence) == (PageStatus.OK, PageKind.BBT, part, version)
            for part, r in enumerate(reads)
        ):
            bits = int.from_bytes(b"".join(r.data for r in reads), "little")
            return {(d, b) for d in range(image.dies) for b in range(image.blocks) if bits >> 32 * per_die * d + b & 1}
    return set()


# Roots


def learn(image):
    """How the pages of this drive are stored: the one way in which a root can be read."""
    for code, scrambled in ways_to_store(image):
        image.code, image.scrambled = code, scrambled
        for n in range(ANCHORS):
            if any(is_root(page(image, *anchor(image, n), at)) for at in range(ROOT_PAGES)):
                return
    raise ImageError(f"{image.path}: no root that can be read: not a drive that was formatted, or all copies are lost")


def collect(image):
    """{sequence: Root} of what is whole in anchors that are not bad."""
    bad, found, reads = bad_blocks(image), {}, []
    for n in range(ANCHORS):
        if anchor(image, n) not in bad:
            places = image.places(image.block_id(*anchor(image, n)))[:ROOT_PAGES]
            reads += [(n, place, read) for place in places if is_root(read := image.read(place))]
    out = 0
    for _, _, read in reads:
        out |= unpack("Root", read.data)["out"]
    for n, place, read in reads:
        if out >> place.die & 1:
            continue  # a chip of another drive
        root = found.setdefault(read.sequence, Root(read.sequence, unpack("Root", read.data)))
        root.places.append(place)
        root.named |= 1 << n | root.fields["anchors"]
    sealed = 0
    for n in range(ANCHORS):
        if anchor(image, n) not in bad:
            seals = (page(image, *anchor(image, n), ROOT_PAGES + i, oob=True) for i in range(SEAL_TRIES))
            sealed |= any(seal.status != PageStatus.BLANK for seal in seals) << n
    for root in found.values():
        root.sealed = bool(root.named & sealed)
    return found


def check(image, root):
    version = root.fields["version_word"]
    if not Format.ROOT_OLDEST <= version <= Format.ROOT:
        raise ImageError(
            f"{image.path}: the root has format {version}, this program reads formats {Format.ROOT_OLDEST} to "
            f"{Format.ROOT}"
        )
    shape = ("channels", "ways", "blocks", "pages")
    if any(root.fields[name] != getattr(image, name) for name in shape):
        raise ImageError(
            f"{image.path}: the root is of a drive of another geometry: "
            + " x ".join(f"{root.fields[name]} {name}" for name in shape)
        )


def find(image):
    """All roots, newest first; exactly one counts."""
    learn(image)
    found = collect(image)
    newest = max((s for s, root in found.items() if root.sealed), default=0)
    if not found or (newest == 0 and min(found) == FIRST):
        raise ImageError(f"{image.path}: no root that counts: the first format of this drive did not end")
    counts = found[newest or min(found)]
    check(image, counts)
    counts.counts = True
    return [found[s] for s in sorted(found, reverse=True)]
