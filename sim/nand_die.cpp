// SPDX-License-Identifier: Apache-2.0
#include "nand_die.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace otx {
namespace {

constexpr int we_bit = 1 << 8, re_bit = 1 << 9, ale_bit = 1 << 10, cle_bit = 1 << 11, ce_bit = 1 << 12, wp_bit = 1 << 13;
constexpr long long hold_ps = 15'000, float_ps = 30'000;  // tRHOH at least (none in mode 0), tCHZ at most
constexpr int feature_ns = 1'000;                        // tFEAT
constexpr uint8_t unerased = 255;                        // program count of the pages of a block whose erase is not finished

}  // namespace

int Die::mode() const {
  if (!drive_.part.onfi) return -1;
  if (drive_.part.features) return mode_;
  for (int m = 5; m > 0; m--) if (drive_.part.modes >> m & 1) return m;
  return 0;
}

const otx_nand_times &Die::times() const { return drive_.part.onfi ? drive_.modes[mode()] : drive_.times; }

std::string Die::hex(int v) const {
  char text[8];
  snprintf(text, sizeof text, "%02Xh", v);
  return text;
}

void Die::broken(const std::string &rule) const {
  char head[64];
  snprintf(head, sizeof head, "at %.3f us die %u: ", double(now_) / 1e6, number_);
  rule_broken(head + rule);
}

void Die::at_least(long long since, int ns, const char *name, const char *what) const {
  if (since != past && now_ - since < ns * 1000LL)
    broken(std::string(name) + ", " + what + ", was " + std::to_string((now_ - since) / 1000.0).substr(0, 6) + " ns, must be " + std::to_string(ns) + " ns or more");
}

// ---- pins

int Die::pins(long long now, int clk, int pins, long long &wake) {
  now_ = now;
  if (array_ != Array::Idle && !busy()) finish();
  if (!seen_) last_ = pins | ce_bit | we_bit | re_bit;  // the first look: as if nothing was selected before
  seen_ = true;
  pin_edges(pins);
  last_ = pins & ce_bit ? pins | we_bit | re_bit : pins;  // strobes of other dies do not count

  const long long next = now + clk;  // when the other side looks at the answer
  const bool drives = !(pins & ce_bit) && !(pins & re_bit) ? true : next <= driven_to_;
  const bool valid = next >= out_from_ && (!(pins & re_bit) || next <= out_to_) && !(pins & ce_bit);
  const bool low = now >= busy_from_ && busy();
  wake = never;
  auto soon = [&](long long t) { if (t > now) wake = std::min(wake, t); };
  if (busy()) soon(busy_from_), soon(ready_at_);
  if (!valid && next < out_from_) soon(std::max(out_from_ - clk, now + 1));
  if (drives && (pins & re_bit)) soon(valid ? out_to_ - clk + 1 : driven_to_ - clk + 1);
  return (low ? 0 : 1 << 9) | (drives ? 1 << 8 : 0) | (valid ? out_ : out_ ^ 0xA5);
}

void Die::pin_edges(int pins) {
  const otx_nand_times &t = times();
  const long long hold = mode() == 0 ? 0 : hold_ps;
  const int moved = pins ^ last_, rose = moved & pins, fell = moved & ~pins;
  if (fell & ce_bit) ce_fell_ = now_;
  if (rose & ce_bit) {
    at_least(we_rose_, t.t_ch, "tCH", "WE# high to CE# high");
    if (!(last_ & we_bit) || !(last_ & re_bit)) broken("CE# rose while WE# or RE# was low");
    if (input_ != Input::None && !(opened_ == 0x00 && cycles_ == 0 && page_valid_)) broken("CE# rose in the middle of command " + hex(opened_));
    input_ = Input::None;
    ce_rose_ = now_;
    driven_to_ = std::min(driven_to_, now_ + float_ps);
    return;
  }
  if (pins & ce_bit) return;
  if (moved & cle_bit) at_least(we_rose_, t.t_clh, "tCLH", "WE# high to CLE change"), cle_moved_ = now_;
  if (moved & ale_bit) at_least(we_rose_, t.t_alh, "tALH", "WE# high to ALE change"), ale_moved_ = now_;
  if (moved & 0xFF) at_least(we_rose_, t.t_dh, "tDH", "WE# high to data change"), dq_moved_ = now_;
  if (fell & we_bit) {
    at_least(we_rose_, t.t_wh, "tWH", "WE# high time");
    at_least(we_fell_, t.t_wc, "tWC", "WE# cycle time");
    at_least(re_rose_, t.t_rhw, "tRHW", "RE# high to WE# low");
    if (!(pins & re_bit)) broken("WE# fell while RE# was low");
    we_fell_ = now_;
  }
  if (rose & we_bit) {
    at_least(we_fell_, t.t_wp, "tWP", "WE# low time");
    at_least(cle_moved_, t.t_cls, "tCLS", "CLE set-up to WE# high");
    at_least(ale_moved_, t.t_als, "tALS", "ALE set-up to WE# high");
    at_least(dq_moved_, t.t_ds, "tDS", "data set-up to WE# high");
    at_least(ce_fell_, t.t_cs, "tCS", "CE# set-up to WE# high");
    we_rose_ = now_;
    cycle(pins & cle_bit, pins & ale_bit, uint8_t(pins));
  }
  if (fell & re_bit) {
    at_least(re_rose_, t.t_reh, "tREH", "RE# high time");
    at_least(re_fell_, t.t_rc, "tRC", "RE# cycle time");
    at_least(we_rose_, t.t_whr, "tWHR", "WE# high to RE# low");
    if (output_ != Output::Status) at_least(rb_rose_, t.t_rr, "tRR", "R/B# high to RE# low");
    if (pins & (cle_bit | ale_bit)) broken("RE# fell while CLE or ALE was high");
    re_fell_ = now_;
    output_byte();
    if (drive_.wrong.noisy_from && mode() >= int(drive_.wrong.noisy_from)) out_ ^= 0x10;
    out_from_ = now_ + t.t_rea * 1000LL;
    out_to_ = driven_to_ = never;
  }
  if (rose & re_bit) {
    at_least(re_fell_, t.t_rp, "tRP", "RE# low time");
    re_rose_ = now_;
    out_to_ = now_ + hold;
    driven_to_ = now_ + std::max(hold, t.t_rhw * 1000LL);
  }
}

// ---- cycles

void Die::cycle(bool cle, bool ale, uint8_t byte) {
  if (cle && ale) return broken("a cycle with both CLE and ALE high");
  if (cle) return command(byte);
  if (busy() && array_ == Array::Dead) return;
  if (busy()) return broken((ale ? "an address" : "data") + std::string(" while busy"));
  if (ale) return address(byte);
  data_in(byte);
}

void Die::expect(uint8_t c, uint8_t cycles, const char *name) {
  if (opened_ != c || cycles_ != cycles)
    broken(std::string("command ") + name + " needs " + hex(c) + " and " + std::to_string(cycles) + " address cycles before it, there were " + hex(opened_) + " and " + std::to_string(cycles_));
}

void Die::command(uint8_t c) {
  auto open = [&](int cycles) {
    opened_ = c, cycles_ = 0, cycles_due_ = cycles;
    input_ = Input::Address;
  };
  if (needs_reset_ && array_ == Array::Dead) return;
  if (needs_reset_ && c != 0xFF) return broken("command " + hex(c) + " before the first reset command after power-up");
  const bool suspends = drive_.part.suspend_ns && (c == 0x84 || c == 0x61);
  if (busy() && c != 0x70 && c != 0xFF && !suspends) return broken("command " + hex(c) + " while busy");
  if (suspended_.what != Array::Idle && c != 0x70 && c != 0xFF && c != 0x00 && c != 0x30 && c != 0x05 && c != 0xE0 && c != 0x13 && c != 0xD2)
    return broken("command " + hex(c) + " while a program or erase is suspended");
  const bool continues = c == 0x30 || c == 0xE0 || c == 0x10 || c == 0x85 || c == 0xD0;
  if (!continues && c != 0xFF && input_ != Input::None) broken("command " + hex(c) + " in the middle of command " + hex(opened_));
  switch (c) {
    case 0xFF:  // a program or erase under way stays torn
      input_ = Input::None, output_ = Output::None;
      page_valid_ = failed_ = needs_reset_ = false;
      suspended_.what = Array::Idle;
      return start(Array::Reset, drive_.times.t_rst);
    case 0xEE: case 0xEF:
      if (!drive_.part.onfi || !drive_.part.features) return broken("unknown command " + hex(c));
      return open(1);
    case 0x70: input_ = Input::None, output_ = Output::Status; return;
    case 0x90: return open(1);
    case 0xEC:
      if (!drive_.part.onfi) return broken("unknown command " + hex(c));
      return open(1);
    case 0x00:
      if (page_valid_) output_ = Output::Page;
      return open(5);
    case 0x60: return open(3);
    case 0x80:
      std::fill(page_.begin(), page_.end(), uint8_t(0xFF));
      page_valid_ = random_in_ = false;
      loaded_ = 0;
      return open(5);
    case 0x05:
      if (output_ != Output::Page) broken("command 05h without a page to read");
      return open(2);
    case 0x85:
      if (input_ != Input::Data) broken("command 85h without 80h");
      random_in_ = true;
      return open(2);
    case 0x30:
      expect(0x00, 5, "30h");
      input_ = Input::None, output_ = Output::None;
      row_ = row_of(2);
      column_ = addresses_[0] | addresses_[1] << 8;
      if (column_ >= page_.size()) broken("column " + std::to_string(column_) + " is past the end of the page");
      if (suspended_.what == Array::Program && row_ == suspended_.row) broken("read of a page whose program is suspended");
      if (suspended_.what == Array::Erase && row_ / drive_.store.geometry().pages == suspended_.row / drive_.store.geometry().pages) broken("read of a block whose erase is suspended");
      drive_.counts[0]++;
      return start(Array::Read, drive_.times.t_r);
    case 0xE0:
      expect(0x05, 2, "E0h");
      input_ = Input::None;
      column_ = addresses_[0] | addresses_[1] << 8;
      return;
    case 0x10: return start_program();
    case 0xD0: return start_erase();
    case 0x84: return suspend(Array::Program, "84h");
    case 0x13: return resume(Array::Program, "13h");
    case 0x61: return suspend(Array::Erase, "61h");
    case 0xD2: return resume(Array::Erase, "D2h");
    default: broken("unknown command " + hex(c));
  }
}

void Die::address(uint8_t a) {
  if (input_ != Input::Address) return broken("an address cycle without a command");
  if (cycles_ >= cycles_due_) return broken("address cycle " + std::to_string(cycles_ + 1) + " of command " + hex(opened_) + ", which has " + std::to_string(cycles_due_));
  addresses_[cycles_++] = a;
  addressed_ = now_;
  if (cycles_ < cycles_due_) return;
  switch (opened_) {
    case 0x90:
      input_ = Input::None;
      output_ = a == 0x20 && drive_.part.onfi ? Output::Onfi : Output::Id;
      id_at_ = 0;
      return;
    case 0xEC:
      input_ = Input::None;
      return start(Array::Param, drive_.times.t_r);
    case 0xEE: case 0xEF:
      if (a != 0x01) return broken("feature " + hex(a) + ", there is only 01h");
      column_ = 0;
      input_ = opened_ == 0xEF ? Input::Data : Input::None;
      if (opened_ == 0xEF) return;
      feature_[0] = uint8_t(mode_), feature_[1] = feature_[2] = feature_[3] = 0;
      next_mode_ = mode_;
      return start(Array::Features, feature_ns);
    case 0x80: row_ = row_of(2); [[fallthrough]];
    case 0x85:
      column_ = addresses_[0] | addresses_[1] << 8;
      input_ = Input::Data;
      return;
    default: return;
  }
}

void Die::data_in(uint8_t byte) {
  if (input_ != Input::Data) return broken("data in without 80h and its addresses");
  if (addressed_ != past) at_least(addressed_, times().t_adl, "tADL", "last address to first data");
  addressed_ = past;
  if (opened_ == 0xEF) return feature_in(byte);
  if (column_ >= page_.size()) return broken("data in past the end of the page of " + std::to_string(page_.size()) + " bytes");
  page_[column_++] = byte;
  loaded_++;
}

void Die::feature_in(uint8_t byte) {
  feature_[column_++] = byte;
  if (column_ < 4) return;
  input_ = Input::None, output_ = Output::None;
  if (feature_[0] > 5 || !(drive_.part.modes >> feature_[0] & 1) || feature_[1] || feature_[2] || feature_[3]) broken("SET FEATURES to a timing mode that the part has not");
  next_mode_ = drive_.wrong.refuses ? mode_ : std::min<int>(feature_[0], 5);
  start(Array::Features, feature_ns);
}

void Die::output_byte() {
  static const uint8_t onfi[4] = {'O', 'N', 'F', 'I'};
  const bool was_busy = busy();
  if (was_busy && output_ != Output::Status) {
    if (array_ != Array::Dead) return broken("data out while busy");
    out_ = 0xFF;
    return;
  }
  if (input_ != Input::None) {
    if (opened_ == 0x00 && cycles_ == 0 && page_valid_) input_ = Input::None;
    else return broken("data out in the middle of command " + hex(opened_));
  }
  switch (output_) {
    case Output::Status: out_ = uint8_t((last_ & wp_bit ? 0x80 : 0) | (was_busy ? 0 : 0x60) | (!was_busy && suspended_.what != Array::Idle ? 4 : 0) | (failed_ ? 1 : 0)); return;
    case Output::Id: out_ = id_at_ < 5 ? drive_.id[id_at_++] : 0; return;
    case Output::Onfi: out_ = id_at_ < 4 ? onfi[id_at_++] : 0; return;
    case Output::Features: out_ = column_ < 4 ? feature_[column_++] : 0; return;
    case Output::Param: out_ = column_ < param_.size() ? param_[column_++] : 0; return;
    case Output::Page:
      if (column_ >= page_.size()) return broken("data out past the end of the page of " + std::to_string(page_.size()) + " bytes");
      out_ = page_[column_++];
      return;
    default: return broken("data out without a command that gives data");
  }
}

// ---- array

uint32_t Die::row_of(int first) {
  const uint32_t row = addresses_[first] | addresses_[first + 1] << 8 | addresses_[first + 2] << 16;
  if (row < drive_.store.rows()) return row;
  broken("row " + std::to_string(row) + " is out of range, the die has " + std::to_string(drive_.store.rows()));
  return 0;
}

void Die::start(Array what, long long ns) {
  array_ = what;
  if (what == Array::Reset) cut_.end(), mode_ = next_mode_ = 0;
  else if (drive_.faults.on && what != Array::Param && what != Array::Features) drive_.store.operations(number_)++;
  if (fail_[2] && what != Array::Reset) fail_[2] = 0, hung_ = true;
  busy_from_ = now_ + times().t_wb * 1000LL;
  ready_at_ = hung_ ? never : busy_from_ + ns * 1000LL;
  if (drive_.faults.on) die_if_dead();
}

void Die::die_if_dead() {
  if (!drive_.faults.dead(drive_.store, number_)) return;
  array_ = Array::Dead, ready_at_ = never, needs_reset_ = true;
  busy_from_ = drive_.faults.set.dead_kind == OTX_NAND_DEAD_BUSY ? past : never;
  input_ = Input::None, output_ = Output::None;
}

bool Die::next_fails(int what) { return fail_[what] && --fail_[what] == 0; }

void Die::check_program() {
  Store &s = drive_.store;
  const uint32_t pages = s.geometry().pages, block = row_ / pages, page = row_ % pages, done = s.programs(number_, row_), nop = drive_.faults.nop();
  const Block &b = s.block(number_, block);
  const std::string where = "page " + std::to_string(page) + " of block " + std::to_string(block);
  if (drive_.faults.set.rule_marks && drive_.faults.bad(number_, block)) return broken("program of " + where + ", which has a factory mark");
  if (b.next == Block::unfinished) return broken("program of " + where + ", whose erase was not finished");
  if (done && nop == 1) return broken("program of " + where + ", which is programmed already");
  if (done >= nop) return broken("program of " + where + ", which has been programmed " + std::to_string(nop) + " times already");
  if (page + (done ? 1 : 0) < b.next) return broken("program of " + where + " after page " + std::to_string(b.next - 1) + ", pages must rise");
  const uint8_t *cells = s.cells(number_, row_);
  for (size_t i = 0; done && i < page_.size(); i++)
    if (cells[i] & uint8_t(~page_[i])) return broken("program of " + where + " over programmed cells, in column " + std::to_string(i));
}

void Die::start_program() {
  Store &s = drive_.store;
  Faults &faults = drive_.faults;
  const uint32_t pages = s.geometry().pages, block = row_ / pages, page = row_ % pages;
  if (input_ != Input::Data) return broken("command 10h without 80h, addresses and data");
  if (!random_in_ && loaded_ + drive_.unused != page_.size() && faults.nop() == 1) broken("program of " + std::to_string(loaded_) + " bytes, the page has " + std::to_string(page_.size()));
  input_ = Input::None, output_ = Output::None;
  failed_ = failing_ = false;
  if (!(last_ & wp_bit)) {
    failing_ = true;
    return start(Array::Program, 0);
  }
  if (faults.on) faults.program_begins(s, number_, row_);
  check_program();
  Block &b = s.block(number_, block);
  uint8_t *cells = s.cells(number_, row_), &programs = s.programs(number_, row_);
  failing_ = next_fails(0) || s.cells(number_, block * pages)[s.geometry().page_bytes];
  programs = faults.nop() == 1 || programs == unerased ? 1 : uint8_t(std::min(programs + 1, int(unerased) - 1));
  if (b.next != Block::unfinished) b.next = page + 1;
  // Torn until it is finished.
  if (faults.on) {
    failing_ |= faults.program_fails(s, number_, row_);
    cut_.program(faults, s, number_, row_, page_, failing_ ? uint32_t(OTX_NAND_CUT_SUBSET) : faults.set.cut_program);
  } else {  // some bytes from the start, or a random part of the bits everywhere
    const uint64_t r = drive_.random();
    const size_t prefix = r & 1 ? (r >> 1) % page_.size() : 0;
    for (size_t i = 0; i < prefix; i++) cells[i] |= uint8_t(~page_[i]);
    if (!prefix) {
      for (size_t i = 0; i < page_.size(); i++) cells[i] |= uint8_t(uint8_t(~page_[i]) & uint8_t(drive_.random() >> 40));
    }
  }
  drive_.counts[1]++;
  start(Array::Program, drive_.times.t_prog);
}

void Die::start_erase() {
  Store &s = drive_.store;
  Faults &faults = drive_.faults;
  const uint32_t pages = s.geometry().pages;
  expect(0x60, 3, "D0h");
  input_ = Input::None, output_ = Output::None;
  page_valid_ = failed_ = failing_ = false;
  if (!(last_ & wp_bit)) {
    failing_ = true;
    return start(Array::Erase, 0);
  }
  row_ = row_of(0) / pages * pages;
  const uint32_t block = row_ / pages;
  Block &b = s.block(number_, block);
  failing_ = next_fails(1) || s.cells(number_, row_)[s.geometry().page_bytes];
  if (faults.on) {
    if (faults.set.rule_marks && faults.bad(number_, block)) broken("erase of block " + std::to_string(block) + ", which has a factory mark");
    const bool fails = faults.erase_fails(s, number_, block);
    failing_ = fails || (failing_ && !faults.bad(number_, block));
  }
  b.erases++;
  b.next = Block::unfinished;
  memset(&s.programs(number_, row_), unerased, pages);
  if (faults.on) cut_.erase(faults, s, number_, row_, failing_ ? uint32_t(OTX_NAND_CUT_PARTLY) : faults.set.cut_erase);
  // Until it is finished: each page is as it was, erased, or has lost some of its bits; a factory mark stays.
  for (uint32_t row = row_; row < row_ + pages && !faults.on; row++) {
    uint8_t *cells = s.cells(number_, row), mark = cells[s.geometry().page_bytes];
    const uint64_t r = drive_.random();
    const bool blank = std::all_of(cells, cells + page_.size(), [](uint8_t c) { return c == 0; });
    if (!blank && r % 3 == 0) memset(cells, 0, page_.size());
    if (!blank && r % 3 == 1) for (size_t i = 0; i < page_.size(); i++) cells[i] &= uint8_t(drive_.random() >> 40);
    cells[s.geometry().page_bytes] = mark;
  }
  drive_.counts[2]++;
  start(Array::Erase, drive_.times.t_bers);
}

// An array that is ready by itself before it is suspended, or was ready, goes on as if nothing had been said.
void Die::suspend(Array what, const char *name) {
  if (!drive_.part.suspend_ns) return broken("unknown command " + hex(what == Array::Program ? 0x84 : 0x61));
  input_ = Input::None, output_ = Output::None;
  if (!busy()) return;
  if (array_ != what) return broken(std::string("command ") + name + ", but the array does something else");
  const long long at = now_ + times().t_wb * 1000LL + drive_.part.suspend_ns * 1000LL;
  if (hung_ || ready_at_ <= at) return;
  suspended_ = {what, row_, ready_at_ - at, failing_, page_};
  array_ = Array::Suspend;
  drive_.counts[3]++;
  ready_at_ = at;
}

void Die::resume(Array what, const char *name) {
  if (suspended_.what != what) return broken(std::string("command ") + name + ", but no such operation is suspended");
  input_ = Input::None, output_ = Output::None;
  array_ = what, row_ = suspended_.row, failing_ = suspended_.failing, page_ = suspended_.page;
  page_valid_ = false;
  busy_from_ = now_ + times().t_wb * 1000LL;
  ready_at_ = busy_from_ + suspended_.left;
  suspended_.what = Array::Idle;
}

int Die::under_way() const {
  const bool paused = suspended_.what != Array::Idle;
  const Array what = paused ? suspended_.what : array_;
  const std::vector<uint8_t> &page = paused ? suspended_.page : page_;
  return what == Array::Program ? page[drive_.store.geometry().page_bytes + 1] : what == Array::Erase ? 256 : 0;
}

void Die::finish() {
  Store &s = drive_.store;
  const uint32_t pages = s.geometry().pages;
  switch (array_) {
    case Array::Read: {
      const uint8_t *cells = s.cells(number_, row_);
      for (size_t i = 0; i < page_.size(); i++) page_[i] = uint8_t(~cells[i]);
      if (drive_.faults.on) drive_.faults.read(s, number_, row_, page_);
      output_ = output_ == Output::Status ? output_ : Output::Page;
      page_valid_ = true;
      break;
    }
    case Array::Param:
      param_ = onfi_parameter_page(drive_, number_);
      output_ = output_ == Output::Status ? output_ : Output::Param;
      column_ = 0;
      break;
    case Array::Features:
      mode_ = next_mode_;
      if (opened_ == 0xEE && output_ != Output::Status) output_ = Output::Features;
      column_ = 0;
      break;
    case Array::Program:
      failed_ = failing_;
      if (!failing_) {
        uint8_t *cells = s.cells(number_, row_);
        cut_.undo(s);
        for (size_t i = 0; i < page_.size(); i++) cells[i] |= uint8_t(~page_[i]);
        if (drive_.faults.on) drive_.faults.programmed(s, number_, row_);
      }
      cut_.end();
      break;
    case Array::Erase:
      failed_ = failing_;
      if (!failing_) {
        memset(s.cells(number_, row_), 0, page_.size() * pages);
        memset(&s.programs(number_, row_), 0, pages);
        memset(&s.good_reads(number_, row_), 0, pages);
        Block &b = s.block(number_, row_ / pages);
        b.next = b.reads = b.began = b.weak = 0;
      } else if (drive_.faults.on) {
        drive_.faults.erase_failed(s, number_, row_ / pages);
      }
      cut_.end();
      break;
    default: break;
  }
  array_ = Array::Idle;
  rb_rose_ = now_;
}

void Die::finish_some(uint64_t seed) {
  if ((array_ == Array::Program || array_ == Array::Erase) && !hung_ && (seed & 1)) finish();
}

}  // namespace otx
