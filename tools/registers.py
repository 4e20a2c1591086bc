# SPDX-License-Identifier: Apache-2.0
"""The register map of the drive, docs/reference/registers.md, made from the SoC's own CSR export.

`registers.py` says whether the page is what the SoC has (exit code 1 if not); `registers.py --write` writes it.
"""

import json
import logging
import sys
from pathlib import Path

try:
    from litex.soc.integration.export import get_csr_json

    from soc import geometry
    from soc.boards.ecpix5 import Ecpix5
    from soc.write_only import CSRWriteOnly
except ImportError as e:
    sys.exit(f"registers: {e}; source tools/env.sh first")

PAGE = Path(__file__).resolve().parent.parent / "docs/reference/registers.md"
BOARD = "ecpix5"  # it has the host port as registers too
REGIONS = {"otx": "The core, for the firmware", "host": "The embedded host port, for a PC on a board"}
HEAD = """# Registers

Made by `python tools/registers.py --write` from the CSR export of the ECPIX-5's SoC; `make lint` says when it is out of
date. The firmware reads the same export as `csr.h`, a PC as `build/ecpix5/csr.csv`. Addresses are bytes as the RISC-V
sees them; another SoC may have another base. A register of up to 32 bits is one word. Reads have no effect; a register
that does something on a write says so. What can be written is 0 after reset, `refresh_at` five eighths of what can be
corrected. W: it reads as 0 whatever was written.

Not in this SoC, but in those of drives with read retry (`read_retries` of `soc/geometry.py`): `retried_reads`, 16 bits,
pages that were whole only at another read level. Without it `nand_capabilities` has only four bits.
"""


def rows(soc, region):
    """(name, address, access, bits, meaning) of each register of a region, as the export has them."""
    exported = json.loads(get_csr_json(soc.csr_regions, soc.constants, soc.mem_regions))["csr_registers"]
    for csr in soc.csr_regions[region].obj:
        entry = exported[f"{region}_{csr.name}"]
        access = "W" if isinstance(csr, CSRWriteOnly) else {"ro": "R", "rw": "RW"}[entry["type"]]
        yield csr.name, entry["addr"], access, csr.size, csr.description


def page():
    logging.disable(logging.CRITICAL)
    soc = Ecpix5(geometry.preset(BOARD), [0])
    soc.finalize()
    text = HEAD
    for region, title in REGIONS.items():
        text += (
            f"\n## {title}: `{region}`\n\n| register | address | | bits | meaning |\n| --- | --- | --- | --- | --- |\n"
        )
        for name, address, access, bits, meaning in rows(soc, region):
            if not meaning:
                raise SystemExit(f"registers: {region}_{name} has no description")
            text += f"| `{name}` | {address:#010x} | {access} | {bits} | {meaning} |\n"
    return text


def main(args):
    if args not in ([], ["--write"]):
        print(f"registers: wrong argument {args[0]}; usage: registers.py [--write]", file=sys.stderr)
        return 2
    text = page()
    if args:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print(
            "registers: docs/reference/registers.md is not what the SoC has; python tools/registers.py --write",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
