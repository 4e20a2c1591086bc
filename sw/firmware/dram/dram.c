/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the firmware only when the SoC has LiteDRAM. What liblitedram finds (one line per read window) goes to the UART as it is. */
#include "dram.h"

#include <liblitedram/sdram.h>

#include "memtest.h"
#include "otx_geometry.h"
#include "say.h"

uint32_t mem_peek(uint32_t address) { return (uint32_t)csr_read_simple(address); }

void mem_poke(uint32_t address, uint32_t word) { csr_write_simple(word, address); }

static void say_hex(uint32_t n) {
    for (uint32_t shift = 32; shift > 0; shift -= 4) say((char[]){"0123456789abcdef"[n >> (shift - 4) & 15u], 0});
}

bool dram_start(void) {
    static const struct memtest_window windows[] = {{"table", OTX_TABLE_BASE, OTX_TABLE_BYTES}, {"frame", OTX_FRAME_BASE, OTX_FRAME_BYTES}};
    struct memtest_fault fault;
    /* its own memory test is compiled out, because it knows neither of these memories, and without it the result is always 1 */
    (void)sdram_init();
    if (memtest(windows, 2, &fault)) {
        say("otx: dram ok, ");
        say_number(OTX_TABLE_BYTES);
        say(" bytes of tables, ");
        say_number(OTX_FRAME_BYTES);
        say(" bytes of frames\n");
        return true;
    }
    say("otx: not ready: dram: ");
    say(windows[fault.window].name);
    say(" memory at ");
    say_hex(fault.address);
    say(" gave ");
    say_hex(fault.read);
    say(" for ");
    say_hex(fault.wrote);
    say("\n");
    return false;
}
