# SPDX-License-Identifier: Apache-2.0
"""A drive by its image: roots, log, and what stands behind the place where the log stops for the drive. Everything of
the report is here as numbers; `report` says it in words, `as_json` for a machine.
"""

from opentxssd.facts import LogKind
from opentxssd.recover.log import Reader
from opentxssd.recover.roots import find
from opentxssd.recover.versions import in_tx, versions


class Recovered:
    """Of an open Image. ImageError: it cannot be understood."""

    def __init__(self, image):
        self.image = image
        self.roots = find(image)
        self.root = next(root for root in self.roots if root.counts)
        self.reader = Reader(image, self.root)
        self.log = self.reader.log()
        before = [e for page in self.log.before for e in self.reader.entries(page, named=False)]
        self.entries = {page.number: self.reader.entries(page) for page in self.log.behind}
        behind = [e for entries in self.entries.values() for e in entries]
        self.versions, self.open = versions(before, behind)
        for version in (v for found in self.versions.values() for v in found):
            for entry in version.entries:
                if entry.ppn is not None and not entry.says:
                    entry.good, entry.says = self.reader.named(entry)
        self.of_tx = {}
        for entry in filter(in_tx, before + behind):
            self.of_tx[entry.fields["serial"]] = self.of_tx.get(entry.fields["serial"], 0) + 1

    def missing_of(self, entry):
        """How many entries of a transaction its COMMIT or PREPARE counts and nobody can read; 0 of other entries."""
        if entry.kind not in (LogKind.COMMIT, LogKind.PREPARE):
            return 0
        return max(0, entry.fields["arg"] - self.of_tx.get(entry.fields["serial"], 0))

    def newest(self, lpn):
        """(the newest version of an LPN whose page can be read, or that is trimmed; how many newer ones there are)."""
        for newer, version in enumerate(self.versions.get(lpn, ())):
            if version.trimmed or version.good:
                return version, newer
        return None, len(self.versions.get(lpn, ()))

    def data(self, version):
        return self.image.read(self.image.place(version.good.ppn)).data
