// SPDX-License-Identifier: Apache-2.0
// What the store holds of a program or erase that is under way while faults are on.
//
// From its start the store holds the state that a power cut (or a killed process) would leave, in one of the ways of
// nand_faults.h; it is taken back when the operation ends well or is to be torn in another way. Way and bits are
// functions of the fault seed, the place, its erase count and `salt`.

#ifndef OTX_NAND_CUT_H
#define OTX_NAND_CUT_H

#include <vector>

#include "nand_fault_model.h"

namespace otx {

// The lower page of an upper page in a block of an MLC part; itself if it is a lower page.
uint32_t lower_page(uint32_t page, uint32_t pages);

class Cut {
  public:
    void program(const Faults &faults, Store &s, uint32_t die, uint32_t row, const std::vector<uint8_t> &data,
                 uint32_t way);
    void erase(const Faults &faults, Store &s, uint32_t die, uint32_t row, uint32_t way);  // row: the block's first
    void again(const Faults &faults, Store &s, uint32_t program_way, uint32_t erase_way, uint64_t salt);
    void undo(Store &s);  // the cells as before the operation; nothing if there is none
    void end() { what_ = What::Nothing; }

  private:
    enum class What { Nothing, Program, Erase };

    void tear_program(const Faults &faults, Store &s, uint32_t way, uint64_t salt);
    void tear_erase(const Faults &faults, Store &s, uint32_t way, uint64_t salt);

    What what_ = What::Nothing;
    uint32_t die_ = 0, row_ = 0, lower_row_ = 0;
    // of a program: page register, page, lower page; of an erase: -, all pages
    std::vector<uint8_t> data_, before_, lower_before_;
};

}  // namespace otx

#endif
