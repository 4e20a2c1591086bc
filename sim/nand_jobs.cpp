// SPDX-License-Identifier: Apache-2.0
#include "nand_jobs.h"

#include <algorithm>
#include <cstring>

namespace otx {
namespace {

constexpr uint8_t unerased = 255;  // program count of the pages of a block whose erase is not finished

}  // namespace

void Jobs::program(std::vector<Target> &&targets, bool locked, bool follows) {
    failed_before_ = follows ? failed_ : 0;
    begin(What::Program, std::move(targets), locked);
}

void Jobs::erase(std::vector<Target> &&targets, bool locked) {
    failed_before_ = 0;
    begin(What::Erase, std::move(targets), locked);
}

void Jobs::begin(What what, std::vector<Target> &&targets, bool locked) {
    failed_ = 0, what_ = what;
    jobs_.clear();
    for (Target &target : targets) {
        Job &job = jobs_.emplace_back();
        job.row = target.row, job.page = std::move(target.page), job.locked = job.failing = locked;
        if (!locked) what == What::Program ? start_program(job) : start_erase(job);
    }
    if (!locked) drive_.counts[what == What::Program ? programs : erases] += jobs_.size();
    if (!locked && jobs_.size() > 1) drive_.counts[shared] += jobs_.size();
}

void Jobs::check_program(const Job &job) {
    Store &s = drive_.store;
    const uint32_t pages = s.geometry().pages, block = job.row / pages, page = job.row % pages,
                   done = s.programs(die_, job.row), nop = drive_.faults.nop();
    const Block &b = s.block(die_, block);
    const std::string where = "page " + std::to_string(page) + " of block " + std::to_string(block);
    if (drive_.faults.set.rule_marks && drive_.faults.bad(die_, block))
        return broken_("program of " + where + ", which has a factory mark");
    if (b.next == Block::unfinished) return broken_("program of " + where + ", whose erase was not finished");
    if (done && nop == 1) return broken_("program of " + where + ", which is programmed already");
    if (done >= nop)
        return broken_("program of " + where + ", which has been programmed " + std::to_string(nop) + " times already");
    if (page + (done ? 1 : 0) < b.next)
        return broken_("program of " + where + " after page " + std::to_string(b.next - 1) + ", pages must rise");
    const uint8_t *cells = s.cells(die_, job.row);
    for (size_t i = 0; done && i < job.page.size(); i++)
        if (cells[i] & uint8_t(~job.page[i]))
            return broken_("program of " + where + " over programmed cells, in column " + std::to_string(i));
}

void Jobs::start_program(Job &job) {
    Store &s = drive_.store;
    Faults &faults = drive_.faults;
    const uint32_t pages = s.geometry().pages, block = job.row / pages, page = job.row % pages;
    if (faults.on) faults.program_begins(s, die_, job.row);
    check_program(job);
    Block &b = s.block(die_, block);
    uint8_t *cells = s.cells(die_, job.row), &done = s.programs(die_, job.row);
    job.failing = next_fails(0) || s.cells(die_, block * pages)[s.geometry().page_bytes];
    done = faults.nop() == 1 || done == unerased ? 1 : uint8_t(std::min(done + 1, int(unerased) - 1));
    if (b.next != Block::unfinished) b.next = page + 1;
    // Torn until it is finished.
    const std::vector<uint8_t> &data = job.page;
    if (faults.on) {
        job.failing |= faults.program_fails(s, die_, job.row);
        job.cut.program(faults, s, die_, job.row, data,
                        job.failing ? uint32_t(OTX_NAND_CUT_SUBSET) : faults.set.cut_program);
    } else {  // some bytes from the start, or a random part of the bits everywhere
        const uint64_t r = drive_.random();
        const size_t prefix = r & 1 ? (r >> 1) % data.size() : 0;
        for (size_t i = 0; i < prefix; i++) cells[i] |= uint8_t(~data[i]);
        if (!prefix) {
            for (size_t i = 0; i < data.size(); i++)
                cells[i] |= uint8_t(uint8_t(~data[i]) & uint8_t(drive_.random() >> 40));
        }
    }
}

void Jobs::start_erase(Job &job) {
    Store &s = drive_.store;
    Faults &faults = drive_.faults;
    const uint32_t pages = s.geometry().pages, block = job.row / pages;
    const size_t size = s.row_bytes();
    Block &b = s.block(die_, block);
    job.failing = next_fails(1) || s.cells(die_, job.row)[s.geometry().page_bytes];
    if (faults.on) {
        if (faults.set.rule_marks && faults.bad(die_, block))
            broken_("erase of block " + std::to_string(block) + ", which has a factory mark");
        const bool fails = faults.erase_fails(s, die_, block);
        job.failing = fails || (job.failing && !faults.bad(die_, block));
    }
    b.erases++;
    b.next = Block::unfinished;
    memset(&s.programs(die_, job.row), unerased, pages);
    if (faults.on)
        job.cut.erase(faults, s, die_, job.row, job.failing ? uint32_t(OTX_NAND_CUT_PARTLY) : faults.set.cut_erase);
    // Until it is finished: each page is as it was, erased, or has lost some of its bits; a factory mark stays.
    for (uint32_t row = job.row; row < job.row + pages && !faults.on; row++) {
        uint8_t *cells = s.cells(die_, row), mark = cells[s.geometry().page_bytes];
        const uint64_t r = drive_.random();
        const bool blank = std::all_of(cells, cells + size, [](uint8_t c) { return c == 0; });
        if (!blank && r % 3 == 0) memset(cells, 0, size);
        if (!blank && r % 3 == 1)
            for (size_t i = 0; i < size; i++) cells[i] &= uint8_t(drive_.random() >> 40);
        cells[s.geometry().page_bytes] = mark;
    }
}

void Jobs::finish() {
    for (Job &job : jobs_) {
        finish(job);
        if (job.failing) failed_ |= 1u << drive_.plane_of(job.row);
    }
    drop();
}

void Jobs::finish(Job &job) {
    Store &s = drive_.store;
    const uint32_t pages = s.geometry().pages, block = job.row / pages;
    if (job.locked) return;
    if (what_ == What::Program) {
        if (job.failing) return;
        uint8_t *cells = s.cells(die_, job.row);
        job.cut.undo(s);
        for (size_t i = 0; i < job.page.size(); i++) cells[i] |= uint8_t(~job.page[i]);
        if (drive_.faults.on) drive_.faults.programmed(s, die_, job.row);
    } else if (!job.failing) {
        memset(s.cells(die_, job.row), 0, s.row_bytes() * pages);
        memset(&s.programs(die_, job.row), 0, pages);
        memset(&s.good_reads(die_, job.row), 0, pages);
        Block &b = s.block(die_, block);
        b.next = b.reads = b.began = b.weak = 0;
    } else if (drive_.faults.on) {
        drive_.faults.erase_failed(s, die_, block);
    }
}

void Jobs::finish_some(uint64_t seed) {
    for (Job &job : jobs_) {
        if (seed & 1) finish(job);
        seed >>= 1;
    }
}

void Jobs::tear(uint32_t program, uint32_t erase, uint64_t seed) {
    for (Job &job : jobs_) job.cut.again(drive_.faults, drive_.store, program, erase, seed);
}

bool Jobs::has_row(uint32_t row) const {
    return std::any_of(jobs_.begin(), jobs_.end(), [&](const Job &job) { return job.row == row; });
}

bool Jobs::has_block(uint32_t block) const {
    return std::any_of(jobs_.begin(), jobs_.end(),
                       [&](const Job &job) { return job.row / drive_.store.geometry().pages == block; });
}

int Jobs::under_way() const {
    return what_ == What::Nothing ? 0
           : what_ == What::Erase ? 256
                                  : jobs_.front().page[drive_.store.geometry().page_bytes + 1];
}

uint8_t Jobs::results(int plane) const {
    const uint32_t of = plane < 0 ? ~0u : 1u << plane;
    return uint8_t((failed_ & of ? 1 : 0) | (failed_before_ & of ? 2 : 0));
}

}  // namespace otx
