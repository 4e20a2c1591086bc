// SPDX-License-Identifier: Apache-2.0
#include "nand_die.h"

#include <algorithm>
#include <cstdio>
#include <initializer_list>

namespace otx {
namespace {

constexpr int we_bit = 1 << 8, re_bit = 1 << 9, ale_bit = 1 << 10, cle_bit = 1 << 11, ce_bit = 1 << 12,
              wp_bit = 1 << 13;
constexpr long long hold_ps = 15'000, float_ps = 30'000;  // tRHOH at least (none in mode 0), tCHZ at most
constexpr int feature_ns = 1'000;                         // tFEAT
constexpr int planes_ns = 500, cache_program_ns = 1'000, cache_read_ns = 500;  // tDBSY, tCBSY, tRCBSY

bool one_of(uint8_t c, std::initializer_list<uint8_t> list) {
    return std::find(list.begin(), list.end(), c) != list.end();
}

std::string hex(int v) {
    char text[8];
    snprintf(text, sizeof text, "%02Xh", v);
    return text;
}

}  // namespace

int Die::mode() const {
    if (!drive_.part.onfi) return -1;
    if (drive_.part.features) return mode_;
    for (int m = 5; m > 0; m--)
        if (drive_.part.modes >> m & 1) return m;
    return 0;
}

const otx_nand_times &Die::times() const { return drive_.part.onfi ? drive_.modes[mode()] : drive_.times; }

void Die::broken(const std::string &rule) const {
    char head[64];
    snprintf(head, sizeof head, "at %.3f us die %u: ", double(now_) / 1e6, number_);
    rule_broken(head + rule);
}

void Die::at_least(long long since, int ns, const char *name, const char *what) const {
    if (since != past && now_ - since < ns * 1000LL)
        broken(std::string(name) + ", " + what + ", was " + std::to_string((now_ - since) / 1000.0).substr(0, 6) +
               " ns, must be " + std::to_string(ns) + " ns or more");
}

// ---- pins

int Die::pins(long long now, int clk, int pins, long long &wake) {
    now_ = now;
    go_on();
    if (!seen_) last_ = pins | ce_bit | we_bit | re_bit;  // the first look: as if nothing was selected before
    seen_ = true;
    pin_edges(pins);
    last_ = pins & ce_bit ? pins | we_bit | re_bit : pins;  // strobes of other dies do not count

    const long long next = now + clk;  // when the other side looks at the answer
    const bool drives = !(pins & ce_bit) && !(pins & re_bit) ? true : next <= driven_to_;
    const bool valid = next >= out_from_ && (!(pins & re_bit) || next <= out_to_) && !(pins & ce_bit);
    const bool low = now >= busy_from_ && busy();
    wake = never;
    auto soon = [&](long long t) {
        if (t > now) wake = std::min(wake, t);
    };
    if (busy()) soon(busy_from_), soon(ready_at_);
    if (at_work()) soon(array_until_);
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
        if (input_ != Input::None && !(opened_ == 0x00 && cycles_ == 0 && page_valid_))
            broken("CE# rose in the middle of command " + hex(opened_));
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
    if (busy() && wait_ == Wait::Dead) return;
    if (busy() && !(ale && input_ == Input::Address))
        return broken((ale ? "an address" : "data") + std::string(" while busy"));
    if (ale) return address(byte);
    data_in(byte);
}

bool Die::expect(uint8_t c, uint8_t cycles, uint8_t before) {
    const bool there = opened_ == c && cycles_ == cycles;
    if (!there)
        broken("command " + hex(before) + " needs " + hex(c) + " and " + std::to_string(cycles) +
               " address cycles before it, there were " + hex(opened_) + " and " + std::to_string(cycles_));
    input_ = Input::None;
    cycles_ = 0;
    return there;
}

bool Die::has(uint8_t c) const {
    const otx_nand_part &part = drive_.part;
    switch (c) {
        case 0x15:
        case 0x31:
        case 0x3F: return part.cache;
        case 0x11:
        case 0xD1: return drive_.planes() > 1;
        case 0x78: return part.status_enhanced;
        case 0x84:
        case 0x61: return part.suspend_ns;
        case 0xEC: return part.onfi;
        case 0xEE:
        case 0xEF: return has_feature(0x01) || has_feature(0x89);
        default: return true;
    }
}

bool Die::has_feature(uint8_t a) const {
    const otx_nand_part &part = drive_.part;
    return a == 0x01 ? part.onfi && part.features : a == 0x89 && part.retries;
}

std::string Die::forbids(uint8_t c) const {
    const bool asks = one_of(c, {0x70, 0xFF}) || (c == 0x78 && has(c)), suspends = one_of(c, {0x84, 0x61}) && has(c);
    if (asks) return "";
    if (busy()) return suspends ? "" : "while busy";
    if (suspended())
        return one_of(c, {0x00, 0x30, 0x05, 0xE0, 0x13, 0xD2}) ? "" : "while a program or erase is suspended";
    if (programs_or_erases())
        return suspends || one_of(c, {0x80, 0x85, 0x15, 0x10}) ? "" : "while the array is at work";
    if (ahead_ == Ahead::Reading) return one_of(c, {0x00, 0x05, 0xE0, 0x31, 0x3F}) ? "" : "while the array is at work";
    if (!given_.empty() && given_[0].page.empty())
        return one_of(c, {0x60, 0xD0, 0xD1}) ? "" : "between the planes of an erase";
    if (!given_.empty()) return one_of(c, {0x80, 0x85, 0x10, 0x11, 0x15}) ? "" : "between the planes of a program";
    return "";
}

void Die::command(uint8_t c) {
    auto open = [&](int cycles) {
        opened_ = c, cycles_ = 0, cycles_due_ = cycles;
        input_ = Input::Address;
    };
    if (needs_reset_ && wait_ == Wait::Dead) return;
    if (needs_reset_ && c != 0xFF)
        return broken("command " + hex(c) + " before the first reset command after power-up");
    if (const std::string why = forbids(c); !why.empty()) return broken("command " + hex(c) + " " + why);
    const bool continues = one_of(c, {0x30, 0xE0, 0x10, 0x85, 0xD0}) || (one_of(c, {0x31, 0x11, 0x15, 0xD1}) && has(c));
    if (!continues && c != 0xFF && input_ != Input::None)
        broken("command " + hex(c) + " in the middle of command " + hex(opened_));
    if (!has(c)) return broken("unknown command " + hex(c));
    if (!one_of(c, {0x70, 0x78, 0x80, 0x85, 0x15, 0x10})) sequence_ = false;
    if (!one_of(c, {0x70, 0x78, 0x00, 0x05, 0xE0, 0x31, 0x3F})) read_ = false, ahead_ = Ahead::None;
    switch (c) {
        case 0xFF: return reset();
        case 0xEE:
        case 0xEF: return open(1);
        case 0x70: input_ = Input::None, output_ = Output::Status, status_plane_ = -1; return;
        case 0x78: return open(3);
        case 0x90: return open(1);
        case 0xEC: return open(1);
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
        case 0x30: return read(false);
        case 0x31: return read(true);
        case 0x3F:
            if (ahead_ == Ahead::None) return broken("command 3Fh without a page that is read ahead");
            return hold(Wait::CacheEnd, cache_read_ns);
        case 0xE0:
            if (expect(0x05, 2, c)) column_ = addresses_[0] | addresses_[1] << 8;
            return;
        case 0x10:
        case 0x11:
        case 0x15: return program(c);
        case 0xD0:
        case 0xD1: return erase(c);
        case 0x84: return suspend(What::Program, c);
        case 0x13: return resume(What::Program, c);
        case 0x61: return suspend(What::Erase, c);
        case 0xD2: return resume(What::Erase, c);
        default: broken("unknown command " + hex(c));
    }
}

void Die::address(uint8_t a) {
    if (input_ != Input::Address) return broken("an address cycle without a command");
    if (cycles_ >= cycles_due_)
        return broken("address cycle " + std::to_string(cycles_ + 1) + " of command " + hex(opened_) + ", which has " +
                      std::to_string(cycles_due_));
    addresses_[cycles_++] = a;
    addressed_ = now_;
    if (cycles_ < cycles_due_) return;
    switch (opened_) {
        case 0x90:
            input_ = Input::None;
            output_ = a == 0x20 && drive_.part.onfi ? Output::Onfi : Output::Id;
            id_at_ = 0;
            return;
        case 0xEC: input_ = Input::None, output_ = Output::None; return start(Wait::Param, drive_.times.t_r);
        case 0xEE:
        case 0xEF:
            if (!has_feature(a)) return broken("feature " + hex(a) + ", which the part has not");
            column_ = 0, output_ = Output::None;
            input_ = opened_ == 0xEF ? Input::Data : Input::None;
            if (opened_ == 0xEF) return;
            feature_[0] = uint8_t(a == 0x89 ? level_ : mode_), feature_[1] = feature_[2] = feature_[3] = 0;
            next_mode_ = mode_, next_level_ = level_;
            return start(Wait::Features, feature_ns);
        case 0x78:
            input_ = Input::None, output_ = Output::Status;
            status_plane_ = int(drive_.plane_of(row_of(0)));
            return;
        case 0x80:
            row_ = row_of(2);
            if (programs_or_erases() && !jobs_.has_block(row_ / drive_.store.geometry().pages))
                broken("command 80h of another block while the array is at work");
            [[fallthrough]];
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
    if (column_ >= page_.size())
        return broken("data in past the end of the page of " + std::to_string(page_.size()) + " bytes");
    page_[column_++] = byte;
    loaded_++;
}

void Die::feature_in(uint8_t byte) {
    feature_[column_++] = byte;
    if (column_ < 4) return;
    input_ = Input::None, output_ = Output::None;
    const bool more = feature_[1] || feature_[2] || feature_[3];
    next_mode_ = mode_, next_level_ = level_;
    if (addresses_[0] == 0x89) {
        const bool fits = feature_[0] <= drive_.part.retries && !more;
        if (!fits) broken("SET FEATURES to a read retry level that the part has not");
        if (fits && !drive_.wrong.refuses) next_level_ = feature_[0];
    } else {
        if (feature_[0] > 5 || !(drive_.part.modes >> feature_[0] & 1) || more)
            broken("SET FEATURES to a timing mode that the part has not");
        if (!drive_.wrong.refuses) next_mode_ = std::min<int>(feature_[0], 5);
    }
    start(Wait::Features, feature_ns);
}

void Die::output_byte() {
    static const uint8_t onfi[4] = {'O', 'N', 'F', 'I'};
    const bool was_busy = busy();
    if (was_busy && output_ != Output::Status) {
        if (wait_ != Wait::Dead) return broken("data out while busy");
        out_ = 0xFF;
        return;
    }
    if (input_ != Input::None) {
        if (opened_ == 0x00 && cycles_ == 0 && page_valid_) input_ = Input::None;
        else return broken("data out in the middle of command " + hex(opened_));
    }
    switch (output_) {
        case Output::Status: out_ = status(); return;
        case Output::Id: out_ = id_at_ < 5 ? drive_.id[id_at_++] : 0; return;
        case Output::Onfi: out_ = id_at_ < 4 ? onfi[id_at_++] : 0; return;
        case Output::Features: out_ = column_ < 4 ? feature_[column_++] : 0; return;
        case Output::Param: out_ = column_ < param_.size() ? param_[column_++] : 0; return;
        case Output::Page:
            if (column_ >= page_.size())
                return broken("data out past the end of the page of " + std::to_string(page_.size()) + " bytes");
            out_ = page_[column_++];
            return;
        default: return broken("data out without a command that gives data");
    }
}

// Bit 6: commands may come, as R/B#; bit 5: the array has nothing to do; bit 2: something is suspended; bit 1: the
// program before the last one failed, bit 0: the last program or erase.
uint8_t Die::status() const {
    return uint8_t((last_ & wp_bit ? 0x80 : 0) | (busy() ? 0 : 0x40) | (busy() || at_work() ? 0 : 0x20) |
                   (!busy() && suspended() ? 4 : 0) | jobs_.results(status_plane_));
}

// ---- commands of the array

uint32_t Die::row_of(int first) {
    const uint32_t row = addresses_[first] | addresses_[first + 1] << 8 | addresses_[first + 2] << 16;
    if (row < drive_.store.rows()) return row;
    broken("row " + std::to_string(row) + " is out of range, the die has " + std::to_string(drive_.store.rows()));
    return 0;
}

// R/B# goes low, until so long after the array has done what it is at.
void Die::hold(Wait what, long long ns) {
    wait_ = what;
    busy_from_ = now_ + times().t_wb * 1000LL;
    ready_at_ = hung_ ? never : std::max(busy_from_, array_until_) + ns * 1000LL;
    if (drive_.faults.on) die_if_dead();
}

void Die::start(Wait what, long long ns) {
    if (drive_.faults.on && what == Wait::Read) drive_.store.operations(number_)++;
    if (hang_) hang_ = 0, hung_ = true;
    hold(what, ns);
}

void Die::die_if_dead() {
    if (!drive_.faults.dead(drive_.store, number_)) return;
    wait_ = Wait::Dead, ready_at_ = never, needs_reset_ = true;
    busy_from_ = drive_.faults.set.dead_kind == OTX_NAND_DEAD_BUSY ? past : never;
    input_ = Input::None, output_ = Output::None;
}

// Programs and erases under way stay torn, a page in the page register is lost.
void Die::reset() {
    input_ = Input::None, output_ = Output::None;
    page_valid_ = needs_reset_ = false;
    jobs_.drop(), jobs_.forget();
    given_.clear();
    paused_ = What::Nothing;
    array_until_ = past;
    mode_ = next_mode_ = 0;
    hold(Wait::Reset, drive_.times.t_rst);
}

void Die::read(bool ahead) {
    if (!expect(0x00, 5, ahead ? 0x31 : 0x30)) return;
    if (ahead && !read_ && ahead_ == Ahead::None) return broken("command 31h without a page read before it");
    output_ = Output::None;
    row_ = row_of(2);
    if (ahead) {
        drive_.counts[cache_reads]++;
        return hold(Wait::CacheRead, cache_read_ns);
    }
    column_ = addresses_[0] | addresses_[1] << 8;
    if (column_ >= page_.size()) broken("column " + std::to_string(column_) + " is past the end of the page");
    if (paused_ == What::Program && jobs_.has_row(row_)) broken("read of a page whose program is suspended");
    if (paused_ == What::Erase && jobs_.has_block(row_ / drive_.store.geometry().pages))
        broken("read of a block whose erase is suspended");
    begin_read();
    start(Wait::Read, drive_.times.t_r);
}

void Die::begin_read() {
    read_level_ = level_;
    drive_.counts[reads]++;
    drive_.counts[retried] += read_level_ != 0;
}

std::string Die::misfit(uint32_t row, bool erase) const {
    const uint32_t pages = drive_.store.geometry().pages, plane = drive_.plane_of(row);
    for (const Jobs::Target &other : given_) {
        if (drive_.plane_of(other.row) == plane) return "of plane " + std::to_string(plane) + ", which has one already";
        if (!erase && other.row % pages != row % pages)
            return "of page " + std::to_string(row % pages) + ", that of the other plane is " +
                   std::to_string(other.row % pages);
    }
    return "";
}

void Die::program(uint8_t c) {
    const uint32_t pages = drive_.store.geometry().pages;
    if (input_ != Input::Data || opened_ == 0xEF)
        return broken("command " + hex(c) + " without 80h, addresses and data");
    if (!random_in_ && loaded_ + drive_.unused != page_.size() && drive_.faults.nop() == 1)
        broken("program of " + std::to_string(loaded_) + " bytes, the page has " + std::to_string(page_.size()));
    input_ = Input::None, output_ = Output::None;
    if (c == 0x15 && !given_.empty()) return broken("command 15h after 11h, a cache program is of one plane");
    if (c == 0x15 && row_ % pages == pages - 1)
        return broken("command 15h of page " + std::to_string(pages - 1) + ", the last of block " +
                      std::to_string(row_ / pages));
    if (const std::string why = misfit(row_, false); !why.empty()) return broken("program " + why);
    given_.push_back({row_, page_});
    cached_ = c == 0x15;
    if (c == 0x11) return hold(Wait::Planes, planes_ns);
    if (cached_) {
        drive_.counts[cache_programs]++;
        return hold(Wait::CacheProgram, cache_program_ns);
    }
    if (at_work()) return hold(Wait::LastProgram, 0);
    to_array(What::Program, now_ + times().t_wb * 1000LL);
    hold(Wait::Array, 0);
}

void Die::erase(uint8_t c) {
    if (!expect(0x60, 3, c)) return;
    output_ = Output::None;
    page_valid_ = false;
    const uint32_t pages = drive_.store.geometry().pages, row = row_of(0) / pages * pages;
    if (const std::string why = misfit(row, true); !why.empty()) return broken("erase " + why);
    given_.push_back({row, {}});
    if (c == 0xD1) return hold(Wait::Planes, planes_ns);
    to_array(What::Erase, now_ + times().t_wb * 1000LL);
    hold(Wait::Array, 0);
}

// What was given goes to the array, which begins with it at that time.
void Die::to_array(What what, long long at) {
    const bool locked = !(last_ & wp_bit), follows = sequence_;
    const uint32_t count = uint32_t(given_.size());
    sequence_ = what == What::Program && cached_;
    alone_ = count == 1 && !follows && !sequence_;
    if (what == What::Program) jobs_.program(std::move(given_), locked, follows);
    else jobs_.erase(std::move(given_), locked);
    given_.clear();
    work(count, at, locked ? 0 : what == What::Program ? drive_.times.t_prog : drive_.times.t_bers);
}

void Die::work(uint32_t operations, long long at, long long ns) {
    if (drive_.faults.on) drive_.store.operations(number_) += operations;
    if (hang_) hang_ = 0, hung_ = true;
    array_until_ = hung_ ? never : at + ns * 1000LL;
    if (drive_.faults.on) die_if_dead();
}

// An array that is ready by itself before it is suspended, or was ready, goes on as if nothing had been said.
void Die::suspend(What what, uint8_t c) {
    input_ = Input::None, output_ = Output::None;
    if (!busy() && !programs_or_erases()) return;
    const bool in_parts = wait_ == Wait::CacheProgram || wait_ == Wait::LastProgram || wait_ == Wait::Planes ||
                          (programs_or_erases() && !alone_);
    if (in_parts)
        return broken("command " + hex(c) +
                      ", but a cache program or an operation of several planes cannot be suspended");
    if (wait_ != Wait::Array || jobs_.what() != what)
        return broken("command " + hex(c) + ", but the array does something else");
    const long long at = now_ + times().t_wb * 1000LL + drive_.part.suspend_ns * 1000LL;
    if (hung_ || ready_at_ <= at) return;
    paused_ = what, left_ = ready_at_ - at;
    wait_ = Wait::Suspend;
    drive_.counts[suspensions]++;
    ready_at_ = at, array_until_ = past;
}

void Die::resume(What what, uint8_t c) {
    if (paused_ != what) return broken("command " + hex(c) + ", but no such operation is suspended");
    input_ = Input::None, output_ = Output::None;
    paused_ = What::Nothing;
    page_valid_ = false;
    wait_ = Wait::Array;
    busy_from_ = now_ + times().t_wb * 1000LL;
    ready_at_ = array_until_ = busy_from_ + left_;
}

// ---- what happens by itself

// All that is due by now, in its order.
void Die::go_on() {
    while (wait_ != Wait::Dead) {
        if (at_work() && array_until_ <= now_ && (wait_ == Wait::None || array_until_ <= ready_at_)) array_ends();
        else if (wait_ != Wait::None && ready_at_ <= now_) ready();
        else return;
    }
}

void Die::array_ends() {
    if (ahead_ == Ahead::Reading) {
        read_cells(ahead_row_, ahead_page_);
        ahead_ = Ahead::Read;
    }
    if (programs_or_erases()) jobs_.finish();
}

void Die::ready() {
    const Wait what = wait_;
    wait_ = Wait::None;
    rb_rose_ = now_;
    switch (what) {
        case Wait::Read:
            read_cells(row_, page_);
            page_valid_ = read_ = true;
            return show(Output::Page);
        case Wait::Param:
            param_ = onfi_parameter_page(drive_, number_);
            column_ = 0;
            return show(Output::Param);
        case Wait::Features:
            mode_ = next_mode_, level_ = next_level_;
            column_ = 0;
            if (opened_ == 0xEE) show(Output::Features);
            return;
        case Wait::CacheProgram: return to_array(What::Program, ready_at_);
        case Wait::LastProgram:
            wait_ = Wait::Array;
            to_array(What::Program, ready_at_);
            ready_at_ = std::max(ready_at_, array_until_);
            return;
        case Wait::CacheRead:
            take_ahead();
            ahead_ = Ahead::Reading, ahead_row_ = row_;
            begin_read();
            return work(1, ready_at_, drive_.times.t_r);
        case Wait::CacheEnd: return take_ahead();
        default: return;
    }
}

// Status stays until 00h.
void Die::show(Output what) {
    if (output_ != Output::Status) output_ = what;
}

void Die::take_ahead() {
    if (ahead_ == Ahead::Read) page_.swap(ahead_page_);
    read_ = false, ahead_ = Ahead::None;
    column_ = 0;
    page_valid_ = true;
    show(Output::Page);
}

void Die::read_cells(uint32_t row, std::vector<uint8_t> &page) {
    const uint8_t *cells = drive_.store.cells(number_, row);
    page.resize(drive_.store.row_bytes());
    for (size_t i = 0; i < page.size(); i++) page[i] = uint8_t(~cells[i]);
    if (drive_.faults.on) drive_.faults.read(drive_.store, number_, row, page, read_level_, drive_.part.retries);
}

void Die::page_begins(What what, uint32_t row, const std::vector<uint8_t> &page) {
    std::vector<Jobs::Target> targets;
    targets.push_back({row, page});
    if (what == What::Program) jobs_.program(std::move(targets), false, false);
    else jobs_.erase(std::move(targets), false);
    work(1, 0, 0);
}

bool Die::page_ends() {
    jobs_.finish();
    return jobs_.results(-1) & 1;
}

void Die::finish_some(uint64_t seed) {
    if (!hung_ && !suspended() && wait_ != Wait::Dead) jobs_.finish_some(seed);
}

}  // namespace otx
