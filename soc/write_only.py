# SPDX-License-Identifier: Apache-2.0
"""Registers that are told something and do not say it again.

A register that can be read has its bits in the one multiplexer of its bank, and on a board the wires of some hundred of
them meet in one place. What nobody reads back is not among them.
"""

from litex.soc.interconnect.csr import CSR, CSRStorage
from migen import If


class CSRWriteOnly(CSRStorage):
    """A CSRStorage of one word that reads as 0. More bits than the bus has: ValueError."""

    def do_finalize(self, busword, ordering):
        if self.size > busword:
            raise ValueError(f"{self.name}: {self.size} bits in a word of {busword}")
        word = CSR(self.size, name=f"{self.name}0")
        self.simple_csrs.append(word)
        self.sync += [If(word.re, self.storage.eq(word.r)), self.re.eq(word.re)]
