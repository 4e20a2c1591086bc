// SPDX-License-Identifier: Apache-2.0
// Which blocks and pages have which of the faults of nand_faults.h, and what they do to reads, programs and erases.
// Answers are functions of the settings and of the store; nothing here is called while `on` is false.

#ifndef OTX_NAND_FAULT_MODEL_H
#define OTX_NAND_FAULT_MODEL_H

#include <string>
#include <vector>

#include "nand_faults.h"
#include "nand_store.h"

namespace otx {

class Faults {
  public:
    bool on = false;
    otx_nand_faults set{};
    uint64_t seen[OTX_NAND_SEEN_KINDS] = {};

    std::string wrong(const otx_nand_geometry &g) const;  // what cannot be of such a drive, "" if nothing
    void mark_blocks(Store &s) const;                     // puts the factory marks on blocks that are as new

    uint32_t nop() const { return on && set.nop > 1 ? set.nop : 1; }
    bool bad(uint32_t die, uint32_t block) const;
    bool dead(Store &s, uint32_t die) const;

    bool erase_fails(Store &s, uint32_t die, uint32_t block);   // before the erase is counted
    void erase_failed(Store &s, uint32_t die, uint32_t block);  // at its end: the factory mark may be gone
    // before the checks: age, blocks whose erase was not finished
    void program_begins(Store &s, uint32_t die, uint32_t row);
    bool program_fails(Store &s, uint32_t die, uint32_t row);
    void programmed(Store &s, uint32_t die, uint32_t row);  // at the end of one that did not fail
    // `page`: what the cells hold; `level`: of read retry, of a part with `levels` beyond 0. Counts the read.
    void read(Store &s, uint32_t die, uint32_t row, std::vector<uint8_t> &page, uint32_t level, uint32_t levels);

  private:
    const otx_nand_place *placed(uint32_t kind, uint32_t die, uint32_t block, uint32_t page) const;
    bool written(Store &s, uint32_t die, uint32_t row) const;
    bool stuck(Store &s, uint32_t die, uint32_t row) const;
    uint32_t own_level(Store &s, uint32_t die, uint32_t row, uint32_t levels) const;
    void stick_bits(Store &s, uint32_t die, uint32_t row, std::vector<uint8_t> &page) const;
    uint64_t flip_probability(Store &s, uint32_t die, const Block &b, bool drifted) const;
};

// Makes a page unreadable: one bit in 8 to one in 32 of its cells; the first spare byte stays, so that no mark appears
// or goes.
void damage(Store &s, uint32_t die, uint32_t row, uint64_t seed);

}  // namespace otx

#endif
