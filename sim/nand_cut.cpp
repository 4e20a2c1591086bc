// SPDX-License-Identifier: Apache-2.0
#include "nand_cut.h"

#include <algorithm>

#include "nand_hash.h"

namespace otx {
namespace {

enum What : uint64_t { way_of_program = 101, way_of_erase, torn, erased };

}  // namespace

uint32_t lower_page(uint32_t page, uint32_t pages) {
    if (page + 1 == pages && page > 2) return page - 2;
    if (page < 2 || page % 2) return page;
    return page == 2 ? 0 : page - 3;
}

void Cut::program(const Faults &faults, Store &s, uint32_t die, uint32_t row, const std::vector<uint8_t> &data,
                  uint32_t way) {
    const uint32_t pages = s.geometry().pages, page = row % pages;
    what_ = What::Program, die_ = die, row_ = row, data_ = data;
    lower_row_ = faults.set.mlc ? row - page + lower_page(page, pages) : row;
    before_.assign(s.cells(die, row), s.cells(die, row) + s.row_bytes());
    lower_before_.assign(s.cells(die, lower_row_), s.cells(die, lower_row_) + s.row_bytes());
    tear_program(faults, s, way, 0);
}

void Cut::erase(const Faults &faults, Store &s, uint32_t die, uint32_t row, uint32_t way) {
    what_ = What::Erase, die_ = die, row_ = row;
    before_.assign(s.cells(die, row), s.cells(die, row) + s.row_bytes() * s.geometry().pages);
    tear_erase(faults, s, way, 0);
}

void Cut::again(const Faults &faults, Store &s, uint32_t program_way, uint32_t erase_way, uint64_t salt) {
    undo(s);
    if (what_ == What::Program) tear_program(faults, s, program_way, salt);
    if (what_ == What::Erase) tear_erase(faults, s, erase_way, salt);
}

void Cut::undo(Store &s) {
    if (what_ == What::Nothing) return;
    if (what_ == What::Program) {
        if (lower_row_ != row_) std::copy(lower_before_.begin(), lower_before_.end(), s.cells(die_, lower_row_));
        s.good_reads(die_, row_) = 0;
    }
    std::copy(before_.begin(), before_.end(), s.cells(die_, row_));
}

void Cut::tear_program(const Faults &faults, Store &s, uint32_t way, uint64_t salt) {
    const uint32_t erases = s.block(die_, row_ / s.geometry().pages).erases;
    const bool upper = lower_row_ != row_ && s.programs(die_, lower_row_);
    Draws choice(faults.set.seed, {way_of_program, die_, row_, erases, salt});
    if (way == OTX_NAND_CUT_ANY) way = OTX_NAND_CUT_PREFIX + uint32_t(choice.below(upper ? 5 : 4));
    if (way == OTX_NAND_CUT_TORN) way = choice.below(2) ? OTX_NAND_CUT_PREFIX : OTX_NAND_CUT_SUBSET;
    Draws draws(faults.set.seed, {torn, die_, row_, erases, salt});
    uint8_t *cells = s.cells(die_, row_);
    const size_t size = data_.size(), first = way == OTX_NAND_CUT_PREFIX ? draws.below(size) : size;
    const bool some = way == OTX_NAND_CUT_SUBSET || way == OTX_NAND_CUT_PAIRED;
    for (size_t i = 0; i < first; i++) cells[i] |= uint8_t(~data_[i] & (some ? draws.next() >> 40 : 0xFF));
    const uint64_t seed = mixed(faults.set.seed + salt) + erases;
    if (way == OTX_NAND_CUT_UNREADABLE) damage(s, die_, row_, seed);
    if (way == OTX_NAND_CUT_FADES) s.good_reads(die_, row_) = uint8_t(2 + draws.below(7));
    if (way == OTX_NAND_CUT_PAIRED && upper) damage(s, die_, lower_row_, seed);
}

void Cut::tear_erase(const Faults &faults, Store &s, uint32_t way, uint64_t salt) {
    const uint32_t erases = s.block(die_, row_ / s.geometry().pages).erases, mark = s.geometry().page_bytes;
    if (way == OTX_NAND_CUT_ERASE_ANY)
        way = OTX_NAND_CUT_PARTLY + uint32_t(Draws(faults.set.seed, {way_of_erase, die_, row_, erases, salt}).below(2));
    for (uint32_t row = row_; row < row_ + s.geometry().pages; row++) {
        Draws draws(faults.set.seed, {erased, die_, row, erases, salt});
        const uint64_t outcome = way == OTX_NAND_CUT_LOOKS_ERASED ? 0 : draws.below(3);
        uint8_t *cells = s.cells(die_, row), kept = cells[mark];
        if (outcome == 0) std::fill(cells, cells + s.row_bytes(), uint8_t(0));
        if (outcome == 1)
            for (size_t i = 0; i < s.row_bytes(); i++) cells[i] &= uint8_t(draws.next() >> 40);
        cells[mark] = kept;
    }
}

}  // namespace otx
