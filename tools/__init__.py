# SPDX-License-Identifier: Apache-2.0
"""Programs of the repository; `python tools/NAME.py` after `. tools/env.sh`."""
