// SPDX-License-Identifier: Apache-2.0
// C interface of the faults of the NAND model: which there are, how often, where.
//
// Off until otx_nand_set_faults; then they are functions of the seed and of what was done to the cells, so the same
// operations on the same image meet the same faults in any process. What they need to know (reads of a block, age,
// pages that fade) is in the image.
//
// A share (`_ppm`) is of a million; a place names one block or page beside the shares. Rates (`ber`) are in 10^-12 per
// bit.
// All zero: no faults, but torn pages are drawn from `seed`, too.

#ifndef OTX_NAND_FAULTS_H
#define OTX_NAND_FAULTS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OTX_NAND_PLACES = 32 };
// Factory mark: in the first, second or last page of the block, or in the first or second by seed.
enum { OTX_NAND_MARK_FIRST, OTX_NAND_MARK_SECOND, OTX_NAND_MARK_LAST, OTX_NAND_MARK_EITHER };
// What a place has. `n` is: -; erases that work; erases of the block after which it fails; erases of the block with
// which it is stuck; how many bits; its level, after any erases.
enum {
    OTX_NAND_BAD_BLOCK = 1,
    OTX_NAND_ERASE_FAILS,
    OTX_NAND_PROGRAM_FAILS,
    OTX_NAND_STUCK_PAGE,
    OTX_NAND_STUCK_BITS,
    OTX_NAND_DRIFTED
};
// A dead die answers no cycle, its data lines are FFh; R/B# is high or low for ever.
enum { OTX_NAND_DEAD_READY, OTX_NAND_DEAD_BUSY };
// What an unfinished program leaves. TORN: PREFIX or SUBSET, by seed. PREFIX: the first bytes. SUBSET: some of its
// bits. UNREADABLE: the page with many wrong bits.
// FADES: the page, for some reads; then as UNREADABLE. PAIRED: SUBSET, and of an upper page (`mlc`) the lower page
// becomes UNREADABLE. ANY: one of the five, by seed.
enum {
    OTX_NAND_CUT_TORN,
    OTX_NAND_CUT_PREFIX,
    OTX_NAND_CUT_SUBSET,
    OTX_NAND_CUT_UNREADABLE,
    OTX_NAND_CUT_FADES,
    OTX_NAND_CUT_PAIRED,
    OTX_NAND_CUT_ANY
};
// What an unfinished erase leaves. PARTLY: each page is old, blank or has lost some of its bits. LOOKS_ERASED: all FFh.
// ANY: by seed. Both are weak: see `unfinished_allowed`.
enum { OTX_NAND_CUT_PARTLY, OTX_NAND_CUT_LOOKS_ERASED, OTX_NAND_CUT_ERASE_ANY };
// Counted since the store was opened.
enum {
    OTX_NAND_SEEN_FLIPS,
    OTX_NAND_SEEN_STUCK_READS,
    OTX_NAND_SEEN_PROGRAM_FAILS,
    OTX_NAND_SEEN_ERASE_FAILS,
    OTX_NAND_SEEN_FADED,
    OTX_NAND_SEEN_WEAK_PROGRAMS,
    OTX_NAND_SEEN_DRIFTED,  // reads of a programmed page at a read retry level that is not its own
    OTX_NAND_SEEN_KINDS
};

struct otx_nand_place {
    uint32_t kind, die, block, page, n;  // page: not for BAD_BLOCK and ERASE_FAILS
};

struct otx_nand_faults {
    uint64_t seed;
    // Per bit and read: always; for each erase of the block; for each read of the block since its erase; for each
    // operation of the die since the block's first program.
    uint64_t ber, ber_erase, ber_read, ber_age;
    // on top of these, of a read of a programmed page at a read retry level that is not its own
    uint64_t ber_drift;
    uint64_t dead_dies;              // bit d: die d
    uint32_t dead_kind, dead_after;  // after so many reads, programs and erases of that die
    // Of the blocks except block 0 of each die. An erase fails and leaves or loses the mark, or appears to work;
    // programs fail or come back with errors.
    uint32_t bad_ppm, mark;
    uint32_t erase_fail_ppm, erase_fail_after;  // of the blocks: erases that work; all later ones fail
    // of the pages: programs fail when their block has been erased so often
    uint32_t program_fail_ppm, program_fail_after;
    // of the pages, drawn anew at each erase: once programmed, they read a constant content that is not theirs
    uint32_t stuck_page_ppm;
    // of the pages, drawn anew at each erase: their own level is another one by seed (of a part without: one it has
    // not), else 0
    uint32_t drift_ppm;
    // of the pages: so many bits read as 0 or 1 for ever; never of the first spare byte
    uint32_t stuck_bits_ppm, stuck_bits;
    // mlc: page 2 is the upper page of page 0, the even page p of page p - 3, the last of the last but two
    uint32_t cut_program, cut_erase, mlc;
    uint32_t rule_marks;  // 1: erase and program of a factory-marked block break a rule
    // programs of a page between erases: 0 or 1, the whole page at once; more: also parts, but not over programmed
    // cells
    uint32_t nop;
    // 1: a program after an unfinished erase breaks no rule, but until the next erase all pages come back with errors
    uint32_t unfinished_allowed;
    uint32_t places;
    struct otx_nand_place place[OTX_NAND_PLACES];
};

// From now on, also across otx_nand_store_open and power cuts; null: off. 0, or -1 with one line in `message`, and
// nothing is changed.
// Factory marks are put on blocks that were never erased or programmed, so call it before the first operation on a new
// drive.
int otx_nand_set_faults(const struct otx_nand_faults *faults, char *message, size_t size);

// The next otx_nand_power_cut leaves every program and erase under way unfinished, in these ways (ANY: by that cut's
// seed). Faults must be set.
void otx_nand_next_cut(uint32_t program, uint32_t erase);

// Every page that fades reads wrong from the next read on.
void otx_nand_fade(void);

int otx_nand_is_bad(uint32_t die, uint32_t block);  // bad from the factory, whatever its mark says now
uint64_t otx_nand_faults_seen(int kind);

#ifdef __cplusplus
}
#endif

#endif
