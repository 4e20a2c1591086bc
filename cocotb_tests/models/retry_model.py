# SPDX-License-Identifier: Apache-2.0
"""Golden model of read retry of one channel (docs/interfaces.md, "Flash scheduler"): which commands a way gets after
a page could not be corrected, and which completion ends its op. `goes` takes each command of the channel and says
whether it is one of the retry, `completes` each completion and gives the op's command and end, or (None, None). The
ways are read again one at a time.
"""

from cocotb_tests.models.flash_model import CRC, OK, PAGE_READS, READ_RETRY, Op
from cocotb_tests.models.weak_model import TOO_MANY


class RetryModel:
    def __init__(self, levels):
        self.levels, self.owed, self.way, self.script, self.at = levels, {}, None, None, 0
        self.retried = 0  # pages that were whole at another level

    def goes(self, command):
        way = command["way"]
        if self.way is None and way in self.owed:
            self.way, self.at, self.script = way, 1, "level"
        if way != self.way:
            assert way not in self.owed, f"way {way} has a page to be read again, it gets {command}"
            return False
        if self.script == "read":
            want = {f: self.owed[way][f] for f in ("op", "row")}
        else:
            want = {"op": Op.SET_FEATURES, "kind": READ_RETRY, "lpn": self.at if self.script == "level" else 0}
        assert {f: command[f] for f in want} == want, f"the next command of way {way} is {want}, it gets {command}"
        return True

    def completes(self, command, cpl):
        way = command["way"]
        unread = self.levels and command["op"] in PAGE_READS and cpl["status"] == CRC
        if way != self.way:
            if unread:
                self.owed[way] = command
            return (None, None) if unread else (command, cpl)
        if self.script == "level":
            self.script = "read"
        elif self.script == "back":
            self.way = None
            del self.owed[way]
        elif unread and self.at < self.levels:
            self.at, self.script = self.at + 1, "level"
        else:
            self.script = "back"
            self.retried += cpl["status"] == OK
            return self.owed[way], cpl | {"corrected": TOO_MANY}
        return None, None
