/* SPDX-License-Identifier: Apache-2.0 */
/* Part of the firmware only when the SoC has LiteDRAM. What liblitedram finds (one line per read window) goes to the
 * UART as it is. */
#include "dram.h"

#include <liblitedram/sdram.h>

#include "memtest.h"
#include "otx_geometry.h"
#include "console.h"

uint32_t mem_peek(uint32_t address) { return (uint32_t)csr_read_simple(address); }

void mem_poke(uint32_t address, uint32_t word) { csr_write_simple(word, address); }

static void put_hex(uint32_t n) {
    for (uint32_t shift = 32; shift > 0; shift -= 4)
        console_text((char[]){"0123456789abcdef"[n >> (shift - 4) & 15u], 0});
}

bool dram_start(void) {
    static const struct memtest_window windows[] = {{"table", OTX_TABLE_BASE, OTX_TABLE_BYTES},
                                                    {"frame", OTX_FRAME_BASE, OTX_FRAME_BYTES}};
    struct memtest_fault fault;
    /* its own memory test is compiled out, because it knows neither of these memories, and without it the result is
     * always 1 */
    (void)sdram_init();
    if (memtest(windows, 2, &fault)) {
        console_text("otx: dram ok, ");
        console_number(OTX_TABLE_BYTES);
        console_text(" bytes of tables, ");
        console_number(OTX_FRAME_BYTES);
        console_text(" bytes of frames\n");
        return true;
    }
    console_text("otx: not ready: dram: ");
    console_text(windows[fault.window].name);
    console_text(" memory at ");
    put_hex(fault.address);
    console_text(" gave ");
    put_hex(fault.read);
    console_text(" for ");
    put_hex(fault.wrote);
    console_text("\n");
    return false;
}
