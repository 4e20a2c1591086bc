/* SPDX-License-Identifier: Apache-2.0 */
/* dram_test: the board's dram_start() with the real liblitedram over a model of ECP5DDRPHY, LiteDRAM's command
 * registers and one DDR3 part.
 *
 * The model stops at a command that DDR3 would not take: before initialisation, out of order, at a closed row, in the
 * wrong phase, under the controller's control.
 * Each byte lane reads rightly in one window (bitslip, first to last delay) only. One line for each test, then "N
 * passed, M failed". */
#include "dram.h"

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <generated/sdram_phy.h>

#include "otx_geometry.h"

enum { LANES = 2, BURST = 8, BANKS = 8, DELAYS = 8, SLIPS = 4 };
enum { CS = 1, WE = 2, CAS = 4, RAS = 8, WRDATA = 16, RDDATA = 32, SEL = 1, CKE = 2, RESET_N = 8 };

struct window {
    unsigned slip, first, last; /* first > last: there is none */
};

static struct {
    struct window lane[LANES];
    uint32_t stuck; /* bits of the memory's words that always read as 0 */
    unsigned control, command[2], address[2], bank[2], select, seen, delay[LANES], slip[LANES];
    uint32_t wrdata[2][2], rddata[2][2];
    bool idle, awake, calibrated; /* CKE has been low out of reset, high after that; ZQ calibration */
    unsigned modes, mode[4];
    int row[BANKS];
    uint8_t cells[LANES][BURST]; /* the one burst that levelling uses */
} model;

static uint32_t table[OTX_TABLE_BYTES / 4], frame[OTX_FRAME_BYTES / 4];
static char report[1 << 16];
static size_t reported;
static jmp_buf stopped;
static char why[200];

#define CHECK(x)                                                            \
    do {                                                                    \
        if (!(x)) {                                                         \
            snprintf(why, sizeof why, "%s:%d: %s", __FILE__, __LINE__, #x); \
            longjmp(stopped, 1);                                            \
        }                                                                   \
    } while (0)

void hal_putc(char c);
void hal_putc(char c) {
    CHECK(reported + 1 < sizeof report);
    report[reported++] = c;
    report[reported] = 0;
}

static bool inside(unsigned lane) {
    const struct window *w = &model.lane[lane];
    return model.delay[lane] >= w->first && model.delay[lane] <= w->last;
}

static bool right(unsigned lane) { return inside(lane) && model.slip[lane] == model.lane[lane].slip; }

static void load_mode(unsigned n, unsigned value) {
    static const unsigned order[4] = {2, 3, 1, 0}; /* JESD79-3, power-up sequence */
    CHECK(model.awake && n < 4);
    CHECK(model.modes == 4 || order[model.modes] == n);
    if (model.modes < 4) model.modes++;
    model.mode[n] = value;
}

static void initialised(void) {
    CHECK(model.modes == 4 && model.calibrated);
    CHECK((model.mode[0] >> 4 & 7u) == SDRAM_PHY_CL - 4u && (model.mode[2] >> 3 & 7u) == SDRAM_PHY_CWL - 5u &&
          (model.mode[0] & 3u) == 0);
}

/* Byte t of a lane in the data registers of the two phases: 16 bits for each of four transfers, the high word first. */
static uint32_t *place(uint32_t data[2][2], unsigned t, unsigned lane, unsigned *shift) {
    unsigned bit = 16 * (t % 4) + 8 * lane;
    *shift = bit % 32;
    return &data[t / 4][bit < 32 ? 1 : 0];
}

static void access(unsigned phase, bool write) {
    unsigned shift;
    CHECK(model.row[model.bank[phase]] >= 0 && (model.address[phase] & 7u) == 0);
    CHECK(phase == (write ? SDRAM_PHY_WRPHASE : SDRAM_PHY_RDPHASE) &&
          (model.command[phase] & (write ? WRDATA : RDDATA)));
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned t = 0; t < BURST; t++) {
            uint32_t *word = place(write ? model.wrdata : model.rddata, t, lane, &shift);
            if (write) model.cells[lane][t] = (uint8_t)(*word >> shift);
            else
                *word = (*word & ~(0xFFu << shift)) | (uint32_t)model.cells[lane][right(lane) ? t : (t + 1) % BURST]
                                                          << shift;
        }
    for (unsigned lane = 0; !write && lane < LANES; lane++)
        if (inside(lane)) model.seen |= 1u << lane;
}

static void issue(unsigned phase) {
    unsigned command = model.command[phase] & (RAS | CAS | WE), bank = model.bank[phase];
    if (!(model.command[phase] & CS)) return;
    CHECK(!(model.control & SEL) && model.awake && bank < BANKS);
    if (command == (RAS | CAS | WE)) {
        load_mode(bank, model.address[phase]);
    } else if (command == WE) {
        CHECK(model.modes == 4);
        model.calibrated = true;
    } else if (command == RAS) {
        initialised();
        CHECK(model.row[bank] < 0);
        model.row[bank] = (int)model.address[phase];
    } else if (command == (RAS | WE)) {
        for (unsigned b = 0; b < BANKS; b++)
            if (b == bank || (model.address[phase] & 1u << 10)) model.row[b] = -1;
    } else if (command == CAS || command == (CAS | WE)) {
        access(phase, command != CAS);
    }
}

static void control(unsigned value) {
    if (!(value & SEL) && (value & (RESET_N | CKE)) == RESET_N) model.idle = true;
    if (!(value & SEL) && (value & CKE)) {
        CHECK(value & RESET_N);
        model.awake = model.idle;
    }
    if (value & SEL) initialised();
    model.control = value;
}

static uint32_t *memory(unsigned long address) {
    if (address >= OTX_TABLE_BASE && address < OTX_TABLE_BASE + OTX_TABLE_BYTES)
        return &table[(address - OTX_TABLE_BASE) / 4];
    if (address >= OTX_FRAME_BASE && address < OTX_FRAME_BASE + OTX_FRAME_BYTES)
        return &frame[(address - OTX_FRAME_BASE) / 4];
    return NULL;
}

static void lanes(unsigned *what, unsigned (*next)(unsigned)) {
    for (unsigned lane = 0; lane < LANES; lane++)
        if (model.select >> lane & 1u) what[lane] = next(what[lane]);
}

static unsigned zero(unsigned x) { return x & 0; }
static unsigned next_delay(unsigned x) { return (x + 1) % DELAYS; }
static unsigned next_slip(unsigned x) { return (x + 1) % SLIPS; }

void csr_write_simple(unsigned long wide, unsigned long address) {
    unsigned value = (unsigned)wide;
    if (memory(address)) {
        CHECK(model.control & SEL);
        *memory(address) = value;
        return;
    }
    switch (address) {
        case CSR_SDRAM_DFII_CONTROL_ADDR: control(value); break;
        case CSR_SDRAM_DFII_PI0_COMMAND_ADDR: model.command[0] = value; break;
        case CSR_SDRAM_DFII_PI1_COMMAND_ADDR: model.command[1] = value; break;
        case CSR_SDRAM_DFII_PI0_COMMAND_ISSUE_ADDR: issue(0); break;
        case CSR_SDRAM_DFII_PI1_COMMAND_ISSUE_ADDR: issue(1); break;
        case CSR_SDRAM_DFII_PI0_ADDRESS_ADDR: model.address[0] = value; break;
        case CSR_SDRAM_DFII_PI1_ADDRESS_ADDR: model.address[1] = value; break;
        case CSR_SDRAM_DFII_PI0_BADDRESS_ADDR: model.bank[0] = value; break;
        case CSR_SDRAM_DFII_PI1_BADDRESS_ADDR: model.bank[1] = value; break;
        case CSR_SDRAM_DFII_PI0_WRDATA_ADDR: model.wrdata[0][0] = value; break;
        case CSR_SDRAM_DFII_PI0_WRDATA_ADDR + 4: model.wrdata[0][1] = value; break;
        case CSR_SDRAM_DFII_PI1_WRDATA_ADDR: model.wrdata[1][0] = value; break;
        case CSR_SDRAM_DFII_PI1_WRDATA_ADDR + 4: model.wrdata[1][1] = value; break;
        case CSR_DDRPHY_DLY_SEL_ADDR: model.select = value; break;
        case CSR_DDRPHY_RDLY_DQ_RST_ADDR: lanes(model.delay, zero); break;
        case CSR_DDRPHY_RDLY_DQ_INC_ADDR: lanes(model.delay, next_delay); break;
        case CSR_DDRPHY_RDLY_DQ_BITSLIP_RST_ADDR: lanes(model.slip, zero); break;
        case CSR_DDRPHY_RDLY_DQ_BITSLIP_ADDR: lanes(model.slip, next_slip); break;
        case CSR_DDRPHY_BURSTDET_CLR_ADDR: model.seen = 0; break;
        default: CHECK(!"a register that the model does not have is written");
    }
}

unsigned long csr_read_simple(unsigned long address) {
    if (memory(address)) {
        CHECK(model.control & SEL);
        uint32_t word = *memory(address) & ~model.stuck;
        for (unsigned lane = 0; lane < LANES; lane++)
            if (!right(lane)) word ^= 0x5Au << 8 * lane;
        return word;
    }
    switch (address) {
        case CSR_SDRAM_DFII_CONTROL_ADDR: return model.control;
        case CSR_SDRAM_DFII_PI0_RDDATA_ADDR: return model.rddata[0][0];
        case CSR_SDRAM_DFII_PI0_RDDATA_ADDR + 4: return model.rddata[0][1];
        case CSR_SDRAM_DFII_PI1_RDDATA_ADDR: return model.rddata[1][0];
        case CSR_SDRAM_DFII_PI1_RDDATA_ADDR + 4: return model.rddata[1][1];
        case CSR_DDRPHY_BURSTDET_SEEN_ADDR: return model.seen;
        default: CHECK(!"a register that the model does not have is read");
    }
    return 0;
}

/* Power on with these windows; what dram_start() says. */
static bool start(struct window a, struct window b, uint32_t stuck) {
    memset(&model, 0, sizeof model);
    for (unsigned i = 0; i < BANKS; i++) model.row[i] = -1;
    model.control = SEL; /* LiteDRAM's reset value */
    model.lane[0] = a;
    model.lane[1] = b;
    model.stuck = stuck;
    report[reported = 0] = 0;
    return dram_start();
}

static bool said(const char *words) { return strstr(report, words) != NULL; }

static const struct window usual = {1, 2, 5}, none = {0, 1, 0};

static void good_memory_is_levelled_and_reported(void) {
    CHECK(start(usual, (struct window){3, 0, 2}, 0));
    CHECK(said("best: m0, b01 delays: 03+-01\n") && said("best: m1, b03 delays: 01+-01\n") &&
          said("m0, b01: |00111100|"));
    CHECK(said("otx: dram ok, 3") && !said("not ready") && (model.control & SEL));
    fputs(report, stdout);
}

static void every_window_of_two_delays_or_more_is_found(void) {
    unsigned found = 0;
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned slip = 0; slip < SLIPS; slip++)
            for (unsigned first = 0; first < DELAYS; first++)
                for (unsigned last = first; last < DELAYS; last++) {
                    struct window w = {slip, first, last};
                    bool ok = lane == 0 ? start(w, usual, 0) : start(usual, w, 0);
                    CHECK(ok == (right(0) && right(1)) && ok == said("otx: dram ok"));
                    CHECK(ok || last == first);
                    found += ok;
                }
    CHECK(found >= 2 * SLIPS * DELAYS * (DELAYS - 1) / 2);
}

static void a_lane_without_a_window_is_refused_in_words(void) {
    CHECK(!start(none, usual, 0) && said("best: m0, b00 delays: -\n") &&
          said("otx: not ready: dram: table memory at 80000000 gave ") && !said("otx: dram ok"));
    CHECK(!start(usual, none, 0) && said("best: m1, b00 delays: -\n") && said("otx: not ready: dram: "));
}

static void a_stuck_bit_of_a_levelled_memory_is_refused_in_words(void) {
    CHECK(!start(usual, usual, 1u << 20) && said("best: m1, b01 delays: 03+-01\n") && said("otx: not ready: dram: "));
}

/* In a function of its own: nothing that a longjmp could spoil lives here. */
static bool passes(void (*run)(void)) {
    if (setjmp(stopped)) return false;
    run();
    return true;
}

int main(void) {
    static const struct {
        const char *name;
        void (*run)(void);
    } tests[] = {
        {"good memory is levelled and reported", good_memory_is_levelled_and_reported},
        {"every window of two delays or more is found", every_window_of_two_delays_or_more_is_found},
        {"a lane without a window is refused in words", a_lane_without_a_window_is_refused_in_words},
        {"a stuck bit of a levelled memory is refused in words", a_stuck_bit_of_a_levelled_memory_is_refused_in_words},
    };
    unsigned passed = 0, count = sizeof tests / sizeof tests[0];
    for (unsigned i = 0; i < count; i++) {
        bool ok = passes(tests[i].run);
        passed += ok;
        fprintf(stdout, "%-6s %s%s%s\n", ok ? "ok" : "FAILED", tests[i].name, ok ? "" : ": ", ok ? "" : why);
        if (!ok) fputs(report, stdout);
    }
    fprintf(stdout, "%u passed, %u failed\n", passed, count - passed);
    return passed != count;
}
