# SPDX-License-Identifier: Apache-2.0
# SQRL Acorn CLE-215+ (XC7A200T-FBG484-3): what this design times itself. Oscillator, PCIe, DDR3 and the serial line on P2 are pinned, and both clock
# inputs timed, by the platform file of litex-boards. Vivado reads this one after synthesis (soc/boards/acorn.py), when all clocks are there.
# No pin of the NAND is here: the board has none for it (docs/boards.md, "Acorn").

# The drive's clock (100 MHz, from the oscillator) and that of the PCIe block (125 MHz, from the slot) know nothing of each other; between them are only
# LiteX' clock crossings.
set_clock_groups -asynchronous -group [get_clocks -of_objects [get_nets sys_clk]] -group [get_clocks -of_objects [get_nets pcie_clk]]
