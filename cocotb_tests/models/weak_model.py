# SPDX-License-Identifier: Apache-2.0
"""Golden model of the reports of pages with many corrected bits (docs/interfaces.md, "Flash scheduler").

`completed` takes what a channel completes for client `read` and of VERIFYs, `reported` what the scheduler reports. The
reports of a channel come in the order of its reads; what was not reported when a later one is, was dropped.
"""

from cocotb_tests.models.flash_model import OK

TOO_MANY = 15  # `corrected` of a page that was whole at another read level only


class WeakModel:
    def __init__(self, at):
        self.at, self.due, self.reports = at, {}, []
        self.corrected_reads = self.weak_reads = self.retried_reads = self.dropped = 0

    def completed(self, channel, ppn, cpl):
        if cpl["status"] != OK:
            return
        self.corrected_reads += cpl["corrected"] > 0
        self.retried_reads += cpl["corrected"] == TOO_MANY
        if self.at and cpl["corrected"] >= self.at:
            self.weak_reads += 1
            self.due.setdefault(channel, []).append(ppn)

    def reported(self, channel, ppn):
        due = self.due.get(channel, [])
        assert ppn in due, f"page {ppn:#x} is reported, due are {due}"
        self.dropped += due.index(ppn)
        del due[: due.index(ppn) + 1]
        self.reports.append(ppn)
