// SPDX-License-Identifier: Apache-2.0
// C interface of the NAND model: dies at pin level (driven by otx_nand_die.sv) over one store of cells.
//
// A die answers the commands of a K9F8G08, or of an ONFI part (otx_nand_set_part), and checks every rule that a
// clock-sampled model can: times, order of cycles, busy, page order, erase before program.
// A K9F8G08 holds the times of otx_nand_set_times for ever. An ONFI part with SET FEATURES starts in SDR timing mode 0,
// also after each reset command, and from then on holds the times of the mode it was set to.
// Read retry (feature 89h, P1 is the level): each die has a level, 0 after power-up. A reset command does not change
// it, so a controller must set it back to 0 itself.
// A page is read at the level that the die had when its array read began (30h; for 31h: when the array goes on with
// that page).
// A broken rule prints "NAND rule broken: ..." and ends the process with code 70, or, after otx_nand_set_fatal(0), is
// only counted. Power cut: the store holds a torn page or block from the start of a program or erase to its end, so
// ending the process at any instant is a power cut. All is one drive per process, one thread. Faults by seed:
// nand_faults.h.
//
// Status of a part with cache programs: bit 6 RDY, as R/B#; bit 5 ARDY, the array is idle; bit 0 FAIL of the last
// program or erase, 0 until ARDY; bit 1 FAILC of the program before the last one, 0 after the first page of a cache
// sequence and after what is of none. A sequence goes on from 15h to 10h or any command but 70h, 78h, 80h, 85h. 70h
// tells of all planes together. What goes to the array from the page register is checked, counted and torn from then
// on. R/B# is low for 1 us (15h) or 0.5 us (31h, 3Fh) after the array is idle, and for 0.5 us after 11h and D1h.
//
// Defaults when nothing is opened: one channel, one way of K9F8G08, memory only. `die` is `channel * ways + way`, `row`
// is `block * pages + page`.

#ifndef OTX_NAND_MODEL_H
#define OTX_NAND_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct otx_nand_geometry {
    uint32_t channels, ways, blocks, pages, page_bytes, spare_bytes;  // blocks per die, pages per block
};

// Nanoseconds, in the order of soc/geometry.py; the last four are the times that the die takes.
struct otx_nand_times {
    int t_wp, t_wh, t_wc, t_rp, t_reh, t_rc, t_rea, t_cls, t_clh, t_cs, t_ch, t_als, t_alh, t_ds, t_dh, t_adl, t_whr,
        t_rhw, t_wb, t_rr, t_r, t_prog, t_bers, t_rst;
};

// Both from build/PRESET/otx_geometry.h, for a file that has included it.
#define OTX_NAND_GEOMETRY {OTX_CHANNELS, OTX_WAYS, OTX_BLOCKS_PER_WAY, OTX_PAGES_PER_BLOCK, 4096, OTX_SPARE_BYTES}
#define OTX_NAND_TIMES                                                                                                \
    {OTX_T_WP_NS,  OTX_T_WH_NS,  OTX_T_WC_NS, OTX_T_RP_NS,  OTX_T_REH_NS, OTX_T_RC_NS,   OTX_T_REA_NS,  OTX_T_CLS_NS, \
     OTX_T_CLH_NS, OTX_T_CS_NS,  OTX_T_CH_NS, OTX_T_ALS_NS, OTX_T_ALH_NS, OTX_T_DS_NS,   OTX_T_DH_NS,   OTX_T_ADL_NS, \
     OTX_T_WHR_NS, OTX_T_RHW_NS, OTX_T_WB_NS, OTX_T_RR_NS,  OTX_T_R_NS,   OTX_T_PROG_NS, OTX_T_BERS_NS, OTX_T_RST_NS}

// What kind of part it is.
struct otx_nand_part {
    uint32_t onfi;        // 1: signature at address 20h of 90h, parameter page
    uint32_t features;    // 1: EFh and EEh with feature 01h; an ONFI part without holds the times of its highest mode
    uint32_t modes;       // bit m: SDR timing mode m, 0 to 5
    uint32_t suspend_ns;  // a program or erase under way is suspended within this time; 0: the part cannot
    uint32_t cache;       // 1: cache program (15h) and cache read (31h, 3Fh)
    // 1, 2 or 4: of a block by its lowest bits; programs and erases of several planes at once (11h, D1h); 0 means 1
    uint32_t planes;
    uint32_t status_enhanced;  // 1: status of one block's plane, 78h
    // read retry levels beyond level 0 (feature 89h), 0 to 7; 0: none. Such a part has EFh and EEh, ONFI or not
    uint32_t retries;
};

// What is wrong with it; all zero: nothing.
struct otx_nand_part_faults {
    uint32_t copies;      // bit c: copy c of the parameter page has wrong bits
    uint32_t same_place;  // 1: in the same place in all copies, else in another one in each
    uint32_t noisy_from;  // in this mode and above data comes out wrong, as over a bad board; 0: never
    uint32_t refuses;     // 1: SET FEATURES is taken and changes nothing
    // 1 + number of a die that claims another geometry: twice the blocks; its chip is a different one
    uint32_t odd_die;
    uint32_t page_bytes, pages;  // that the parameter page claims, 0: what is true
    uint32_t blank_page;         // 1: the parameter page is all FFh, there is none
    uint32_t spare_bytes;        // as page_bytes
};

// 0, or -1 with one line in `message`. Opens cells and resets all dies to power-up. A null or empty path: memory only.
int otx_nand_store_open(const char *path, const struct otx_nand_geometry *geometry, char *message, size_t size);
void otx_nand_store_close(void);
void otx_nand_set_times(const struct otx_nand_times *times);
void otx_nand_set_id(const uint8_t id[5]);
// at the end of each page: spare bytes that the drive has no use for; its programs leave just these out
void otx_nand_set_unused(uint32_t bytes);
void otx_nand_set_part(const struct otx_nand_part *part);                  // null: a K9F8G08
void otx_nand_set_part_faults(const struct otx_nand_part_faults *faults);  // null: none
int otx_nand_mode(uint32_t die);        // the timing mode it is in, -1 if it has none
void otx_nand_set_seed(uint64_t seed);  // of torn pages and blocks

// Power fails and comes back: of the programs and erases under way an arbitrary subset is complete, the others stay
// torn; all dies need a reset command; clocks may start from zero again.
void otx_nand_power_cut(uint64_t seed);

void otx_nand_set_fatal(int fatal);
int otx_nand_violations(void);               // since the store was opened
const char *otx_nand_violation(int number);  // its text, "" if there is none

// The n-th program (what 0) or erase (1) of a die from now on, 1 the next, fails with status bit 0. What 2: its array
// hangs, R/B# (in the background: ARDY) stays low until power-up.
void otx_nand_fail(uint32_t die, int what, uint32_t n);
// flips one stored bit, counted from the first byte's lowest
void otx_nand_flip(uint32_t die, uint32_t row, uint32_t bit);
// factory mark in the first two pages; erases of it fail
void otx_nand_mark_bad(uint32_t die, uint32_t block);
void otx_nand_peek(uint32_t die, uint32_t row, uint8_t *bytes);  // the page with its spare bytes
uint32_t otx_nand_programs(uint32_t die, uint32_t row);          // since the last erase; 255: erase not finished
uint32_t otx_nand_erases(uint32_t die, uint32_t block);
// Of all dies since opening: 0 reads, 1 programs, 2 erases (each page or block), 3 programs and erases that were
// suspended, 4 cache reads (31h), 5 cache programs (15h), 6 pages and blocks that shared their array time, 7 reads at a
// read retry level that is not 0.
uint64_t otx_nand_count(int what);
// what a power cut would tear (of several planes the first): 0 nothing, 1 to 255 a page whose spare byte 1 (its kind)
// is that, 256 a block, -1 there is no such die
int otx_nand_under_way(uint32_t die);

// Called by otx_nand_die.sv. pins: {wp_n 13, ce_n 12, cle 11, ale 10, re_n 9, we_n 8, dq 7:0} as they are since the
// rising clock edge at `now_ps`.
// Answer: {rb_n 9, dq_oe 8, dq 7:0} until the next call; that is due when the pins change or at `*wake_ps`.
int otx_nand_pins(int die, long long now_ps, int clk_ps, int pins, long long *wake_ps);

#ifdef __cplusplus
}
#endif

#endif
