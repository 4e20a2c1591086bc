# SPDX-License-Identifier: Apache-2.0
"""One judge for everything that runs the drive, written from contract.md alone. docs/reference/history.md describes the
histories it reads and what it judges.

    from judge import Judge, judge_lines
"""

from judge.format import Malformed
from judge.judge import Judge, Verdict, judge_lines
from judge.order import Violation

__all__ = ["Judge", "Malformed", "Verdict", "Violation", "judge_lines"]
