// SPDX-License-Identifier: Apache-2.0
// One die at pin level: decodes cycles, checks rules, runs the array. See nand_model.h.

#ifndef OTX_NAND_DIE_H
#define OTX_NAND_DIE_H

#include <climits>
#include <string>
#include <vector>

#include "nand_cut.h"
#include "nand_fate.h"
#include "nand_store.h"

namespace otx {

// What all dies share.
struct Drive {
  Store store;
  otx_nand_times times;
  otx_nand_times modes[6];  // those of the SDR timing modes, with the array's own
  uint8_t id[5];
  otx_nand_part part{};
  otx_nand_part_faults wrong{};
  uint64_t seed = 1;
  uint64_t counts[4] = {0, 0, 0, 0};
  Faults faults;
  uint32_t unused = 0;  // spare bytes at the end of a page that no program needs to send
  uint64_t random();  // the next number of the seed
};

void rule_broken(const std::string &text);

class Die {
 public:
  Die(Drive &drive, uint32_t number) : drive_(drive), number_(number), page_(drive.store.row_bytes(), 0xFF) { die_if_dead(); }

  int pins(long long now, int clk, int pins, long long &wake);
  void finish_some(uint64_t seed);  // a program or erase under way becomes complete, or not
  void tear(uint32_t program, uint32_t erase, uint64_t seed) { cut_.again(drive_.faults, drive_.store, program, erase, seed); }  // it stays unfinished, in that way
  void die_if_dead();
  void fail(int what, uint32_t n) { fail_[what] = n; }
  int mode() const;  // SDR timing mode, -1: none, the part's own times
  int under_way() const;

 private:
  enum class Array { Idle, Reset, Read, Param, Features, Program, Erase, Suspend, Dead };
  enum class Input { None, Address, Data };
  enum class Output { None, Status, Id, Onfi, Param, Features, Page };
  static constexpr long long never = LLONG_MAX, past = LLONG_MIN / 4;

  void broken(const std::string &rule) const;
  void at_least(long long since, int ns, const char *name, const char *what) const;
  void pin_edges(int pins);
  void cycle(bool cle, bool ale, uint8_t byte);
  void command(uint8_t c);
  void address(uint8_t a);
  void data_in(uint8_t byte);
  void feature_in(uint8_t byte);
  const otx_nand_times &times() const;  // that hold now
  void expect(uint8_t c, uint8_t cycles, const char *name);
  void output_byte();
  void start(Array what, long long ns);
  void check_program();
  void start_program();
  void start_erase();
  void suspend(Array what, const char *name);
  void resume(Array what, const char *name);
  void finish();
  bool next_fails(int what);
  uint32_t row_of(int first);
  bool busy() const { return now_ < ready_at_; }
  std::string hex(int v) const;

  Drive &drive_;
  const uint32_t number_;
  std::vector<uint8_t> page_;  // page register
  std::vector<uint8_t> param_;
  Cut cut_;

  long long now_ = 0;
  bool seen_ = false, needs_reset_ = true, hung_ = false;
  int last_ = 0;
  long long ce_fell_ = past, ce_rose_ = past, we_fell_ = past, we_rose_ = past, re_fell_ = past, re_rose_ = past, cle_moved_ = past, ale_moved_ = past, dq_moved_ = past;
  long long addressed_ = past, rb_rose_ = past;

  Input input_ = Input::None;
  Output output_ = Output::None;
  uint8_t opened_ = 0;      // the command that addresses or data belong to
  uint8_t addresses_[5] = {};
  int cycles_ = 0, cycles_due_ = 0;
  int mode_ = 0, next_mode_ = 0;  // of an ONFI part
  uint8_t feature_[4] = {};
  uint32_t column_ = 0, row_ = 0, loaded_ = 0, id_at_ = 0;
  bool random_in_ = false, page_valid_ = false;

  Array array_ = Array::Idle;
  long long busy_from_ = past, ready_at_ = past;  // R/B# falls at busy_from_
  bool failed_ = false, failing_ = false;
  uint32_t fail_[3] = {0, 0, 0};
  struct {  // a program or erase that does not go on for now
    Array what = Array::Idle;
    uint32_t row = 0;
    long long left = 0;  // ps
    bool failing = false;
    std::vector<uint8_t> page;
  } suspended_;
  uint8_t out_ = 0xFF;
  long long out_from_ = past, out_to_ = past, driven_to_ = past;
};

std::vector<uint8_t> onfi_parameter_page(const Drive &drive, uint32_t die);

}  // namespace otx

#endif
