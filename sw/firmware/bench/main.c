/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the firmware: fills a tx table with 1, 10, ... 60,000 entries and times the remap loop over them with the
 * SoC's timer, one clock per count.
 *
 * A line per size and build on the UART: "remap O2 1,000 45,123", the clocks of the loop's call, up to 1,000 entries
 * the better of two runs (the first one fetches the code). The map is looked at after each run; a wrong word ends
 * everything with "wrong". The last line is "done". The core is not enabled, so nobody else uses table memory. */
#include "hal.h"
#include "mmio.h"

#include <generated/csr.h>

#include "otx_geometry.h"
#include "remap_loop.h"
#include "console.h"

_Static_assert((OTX_LBAS & (OTX_LBAS - 1)) == 0, "the LPNs below are all different only in a power of two");

#define SCATTER 40503u /* odd: i * SCATTER modulo a power of two takes every value once */
#define NAND_WORD (1u << 30)
#define CHECK_STEP 97u

static const uint32_t sizes[] = {1, 10, 100, 1000, 10000, 60000};

static const struct {
    const char *name;
    remap_loop *run;
} builds[] = {{"O2", remap_O2}, {"unrolled", remap_unrolled}};

static uint32_t lpn_of(uint32_t i) { return i * SCATTER & (OTX_LBAS - 1); }

static uint32_t count_down(void) {
    timer0_update_value_write(1);
    return timer0_value_read();
}

static uint32_t clocks_of(remap_loop *run, uint32_t *map, const struct remap_entry *table, uint32_t count) {
    uint32_t empty = count_down();
    empty -= count_down();
    uint32_t clocks = count_down();
    run(map, table, count);
    clocks -= count_down();
    return clocks - empty;
}

/* Every 97th entry and the last one. `clear` takes their map words away, else they must be there. */
static int look(uint32_t *map, uint32_t count, int clear) {
    for (uint32_t n = 0; n < count + CHECK_STEP; n += CHECK_STEP) {
        uint32_t i = n < count ? n : count - 1;
        if (clear) map[lpn_of(i)] = 0;
        else if (map[lpn_of(i)] != (NAND_WORD | i)) return -1;
    }
    return 0;
}

int main(void) {
    uint32_t *map = hal_map(), filled = 0;
    struct remap_entry *table = (struct remap_entry *)hal_tx_area(0);
    timer0_en_write(0);
    timer0_load_write(0xFFFFFFFFu);
    timer0_reload_write(0xFFFFFFFFu);
    timer0_en_write(1);
    for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        if (sizes[s] > OTX_LBAS) break;
        for (; filled < sizes[s]; filled++) {
            table[filled].lpn = lpn_of(filled);
            table[filled].location = NAND_WORD | filled;
        }
        for (uint32_t b = 0; b < sizeof builds / sizeof *builds; b++) {
            uint32_t best = UINT32_MAX;
            for (uint32_t run = 0; run < (filled > 1000 ? 1u : 2u); run++) {
                (void)look(map, filled, 1);
                uint32_t clocks = clocks_of(builds[b].run, map, table, filled);
                if (look(map, filled, 0)) {
                    console_text("wrong\n");
                    for (;;) {}
                }
                if (clocks < best) best = clocks;
            }
            console_text("remap ");
            console_text(builds[b].name);
            console_text(" ");
            console_number(filled);
            console_text(" ");
            console_number(best);
            console_text("\n");
        }
    }
    console_text("done\n");
    for (;;) {}
}
