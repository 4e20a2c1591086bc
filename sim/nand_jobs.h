// SPDX-License-Identifier: Apache-2.0
// The programs or erases in the array of a die: one, or one in each of several planes in the same array time. Which of
// them fail, what they leave in the store, their results.
//
// From the moment it goes to the array the store holds a page or block torn. It is whole at `finish`, and stays torn if
// that never comes.

#ifndef OTX_NAND_JOBS_H
#define OTX_NAND_JOBS_H

#include <functional>
#include <string>
#include <vector>

#include "nand_cut.h"
#include "nand_drive.h"

namespace otx {

class Jobs {
  public:
    enum class What { Nothing, Program, Erase };
    struct Target {
        uint32_t row;  // of an erase: the first of its block
        std::vector<uint8_t> page;
    };

    Jobs(Drive &drive, uint32_t die, std::function<void(const std::string &)> broken)
        : drive_(drive), die_(die), broken_(std::move(broken)) {}

    // `locked`: by WP#, it fails and changes nothing. `follows`: the program before was of the same cache sequence, its
    // result is kept as the one before.
    void program(std::vector<Target> &&targets, bool locked, bool follows);
    void erase(std::vector<Target> &&targets, bool locked);
    void finish();
    void drop() { jobs_.clear(), what_ = What::Nothing; }  // they stay torn
    void forget() { failed_ = failed_before_ = 0; }
    void fail(int what, uint32_t n) { fail_[what] = n; }
    void finish_some(uint64_t seed);  // each one by itself
    void tear(uint32_t program, uint32_t erase, uint64_t seed);

    What what() const { return what_; }
    size_t count() const { return jobs_.size(); }
    bool has_row(uint32_t row) const;
    bool has_block(uint32_t block) const;
    int under_way() const;             // as otx_nand_under_way, of the first plane
    uint8_t results(int plane) const;  // status bits 0 and 1 of a plane, or of all (-1)

  private:
    struct Job : Target {
        bool failing = false, locked = false;
        Cut cut;
    };

    void begin(What what, std::vector<Target> &&targets, bool locked);
    void check_program(const Job &job);
    void start_program(Job &job);
    void start_erase(Job &job);
    void finish(Job &job);
    bool next_fails(int what) { return fail_[what] && --fail_[what] == 0; }

    Drive &drive_;
    const uint32_t die_;
    const std::function<void(const std::string &)> broken_;
    What what_ = What::Nothing;
    std::vector<Job> jobs_;
    uint32_t failed_ = 0, failed_before_ = 0;  // bit p: plane p
    uint32_t fail_[2] = {0, 0};                // the n-th program, erase from now on
};

}  // namespace otx

#endif
