// SPDX-License-Identifier: Apache-2.0
// One die at pin level: decodes cycles, checks rules, says when R/B# is low and when the array is at work. See
// nand_model.h.

#ifndef OTX_NAND_DIE_H
#define OTX_NAND_DIE_H

#include <climits>
#include <string>
#include <vector>

#include "nand_jobs.h"

namespace otx {

class Die {
  public:
    Die(Drive &drive, uint32_t number)
        : drive_(drive),
          number_(number),
          page_(drive.store.row_bytes(), 0xFF),
          jobs_(drive, number, [this](const std::string &rule) { broken(rule); }) {
        die_if_dead();
    }

    int pins(long long now, int clk, int pins, long long &wake);
    void finish_some(uint64_t seed);  // each program or erase under way becomes complete, or not
    // they stay unfinished, in that way
    void tear(uint32_t program, uint32_t erase, uint64_t seed) { jobs_.tear(program, erase, seed); }
    void die_if_dead();
    void fail(int what, uint32_t n) { what == 2 ? void(hang_ = n) : jobs_.fail(what, n); }
    int mode() const;  // SDR timing mode, -1: none, the part's own times
    int under_way() const { return wait_ == Wait::Dead ? 0 : jobs_.under_way(); }

    // Whole operations without a bus, for sim/traffic/page_nand.cpp; of a die whose pins rest.
    void page_begins(Jobs::What what, uint32_t row, const std::vector<uint8_t> &page);
    bool page_ends();  // whether it failed
    void page_read(uint32_t row, std::vector<uint8_t> &page) { begin_read(), work(1, 0, 0), read_cells(row, page); }

  private:
    // What R/B# is low for. Array: programs or erases, from their command to their end; LastProgram: 10h behind a cache
    // program, until that one is over; Planes: 11h, D1h.
    enum class Wait {
        None,
        Reset,
        Read,
        Param,
        Features,
        Array,
        CacheProgram,
        LastProgram,
        Planes,
        CacheRead,
        CacheEnd,
        Suspend,
        Dead
    };
    enum class Ahead { None, Reading, Read };  // the page of 31h
    enum class Input { None, Address, Data };
    enum class Output { None, Status, Id, Onfi, Param, Features, Page };
    using What = Jobs::What;
    static constexpr long long never = LLONG_MAX, past = LLONG_MIN / 4;

    void broken(const std::string &rule) const;
    void at_least(long long since, int ns, const char *name, const char *what) const;
    void pin_edges(int pins);
    void cycle(bool cle, bool ale, uint8_t byte);
    void command(uint8_t c);
    std::string forbids(uint8_t c) const;  // why this command must not come now, "" if it may
    bool has(uint8_t c) const;             // the part can do so
    bool has_feature(uint8_t a) const;
    void address(uint8_t a);
    void data_in(uint8_t byte);
    void feature_in(uint8_t byte);
    const otx_nand_times &times() const;  // that hold now
    bool expect(uint8_t c, uint8_t cycles, uint8_t before);
    void output_byte();
    uint8_t status() const;
    void hold(Wait what, long long ns);
    void start(Wait what, long long ns);
    void program(uint8_t c);
    void erase(uint8_t c);
    std::string misfit(uint32_t row, bool erase) const;
    void to_array(What what, long long at);
    void work(uint32_t operations, long long at, long long ns);
    void reset();
    void read(bool ahead);
    void begin_read();
    void suspend(What what, uint8_t c);
    void resume(What what, uint8_t c);
    void go_on();
    void array_ends();
    void ready();
    void show(Output what);
    void take_ahead();
    void read_cells(uint32_t row, std::vector<uint8_t> &page);
    uint32_t row_of(int first);
    bool busy() const { return now_ < ready_at_; }
    bool suspended() const { return paused_ != What::Nothing; }
    bool programs_or_erases() const { return jobs_.what() != What::Nothing && !suspended(); }
    bool at_work() const { return programs_or_erases() || ahead_ == Ahead::Reading; }

    Drive &drive_;
    const uint32_t number_;
    std::vector<uint8_t> page_;  // page register
    std::vector<uint8_t> param_;
    Jobs jobs_;

    long long now_ = 0;
    bool seen_ = false, needs_reset_ = true, hung_ = false;
    int last_ = 0;
    long long ce_fell_ = past, ce_rose_ = past, we_fell_ = past, we_rose_ = past, re_fell_ = past, re_rose_ = past,
              cle_moved_ = past, ale_moved_ = past, dq_moved_ = past;
    long long addressed_ = past, rb_rose_ = past;

    Input input_ = Input::None;
    Output output_ = Output::None;
    uint8_t opened_ = 0;  // the command that addresses or data belong to
    uint8_t addresses_[5] = {};
    int cycles_ = 0, cycles_due_ = 0;
    int mode_ = 0, next_mode_ = 0;        // of an ONFI part
    uint8_t level_ = 0, next_level_ = 0;  // of read retry
    uint8_t read_level_ = 0;              // at which the array reads
    uint8_t feature_[4] = {};
    uint32_t column_ = 0, row_ = 0, loaded_ = 0, id_at_ = 0;
    int status_plane_ = -1;  // of 78h
    bool random_in_ = false, page_valid_ = false;

    Wait wait_ = Wait::None;
    long long busy_from_ = past, ready_at_ = past;  // R/B# falls at busy_from_
    long long array_until_ = past;                  // the end of what the array works on
    uint32_t hang_ = 0;
    // by 11h or D1h, to go to the array with the last plane; of 15h and 10h until they do
    std::vector<Jobs::Target> given_;
    // last page by 15h; cache sequence goes on; what is in the array is no part of one, nor of several planes
    bool cached_ = false, sequence_ = false, alone_ = false;
    bool read_ = false;  // a page of 30h that 31h may follow
    Ahead ahead_ = Ahead::None;
    uint32_t ahead_row_ = 0;
    std::vector<uint8_t> ahead_page_;
    What paused_ = What::Nothing;  // a program or erase that does not go on for now
    long long left_ = 0;           // of it, ps
    uint8_t out_ = 0xFF;
    long long out_from_ = past, out_to_ = past, driven_to_ = past;
};

std::vector<uint8_t> onfi_parameter_page(const Drive &drive, uint32_t die);

}  // namespace otx

#endif
