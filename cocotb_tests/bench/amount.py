# SPDX-License-Identifier: Apache-2.0
"""How much of what is random a test does: `amount(short, long)` is `short` in `make test` and `long` with LONG=1 in the
environment, which campaigns set (tools/campaigns.toml).
"""

import os

LONG = os.environ.get("LONG", "0") != "0"


def amount(short, long):
    return long if LONG else short
