# SPDX-License-Identifier: Apache-2.0
"""The drive's health in numbers (docs/interfaces/host-port.md, "Health")."""

from collections import namedtuple

from opentxssd.facts import HealthWord

WIDE = (HealthWord.HOST_PAGES, HealthWord.NAND_PAGES, HealthWord.MOVED_PAGES)


class Health(namedtuple("Health", [word.name.lower() for word in HealthWord])):
    """A number per word of soc/facts.toml, group HealthWord; those of 64 bits whole."""

    __slots__ = ()

    @property
    def write_amplification(self):
        """Pages programmed for each page that a host wrote, since the drive was formatted; None: none was written."""
        return self.nand_pages / self.host_pages if self.host_pages else None


def read(word):
    """Health, of a function that answers word number n."""

    def wide(low):
        while True:  # firmware may write one half between the two
            high = word(low + 1)
            value = high << 32 | word(low)
            if word(low + 1) == high:
                return value

    return Health(*(wide(number) if number in WIDE else word(number) for number in HealthWord))
