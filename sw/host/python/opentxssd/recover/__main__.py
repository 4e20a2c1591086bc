# SPDX-License-Identifier: Apache-2.0
"""`python -m opentxssd.recover IMAGE`: otx-recover without an installation."""

import sys

from opentxssd.recover.command import main

sys.exit(main())
