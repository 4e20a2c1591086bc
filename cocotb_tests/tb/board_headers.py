# SPDX-License-Identifier: Apache-2.0
"""`board_headers.py FOLDER`: what the ECPIX-5's firmware includes (otx_geometry.h, software/include/generated/),
without generating or building anything else.
"""

import logging
import sys
from pathlib import Path

from soc import geometry
from soc.boards import ecpix5
from soc.soc import write_includes

ROOT = Path(__file__).resolve().parent.parent.parent

logging.disable(logging.WARNING)
folder = Path(sys.argv[1])
g = geometry.preset("ecpix5")
geometry.write(g, folder)
soc = ecpix5.Ecpix5(g, [0])
soc.finalize()
write_includes(soc, folder / "software/include/generated")
