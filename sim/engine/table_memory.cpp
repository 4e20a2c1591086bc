// SPDX-License-Identifier: Apache-2.0
#include "table_memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <new>

namespace otx {

namespace {
constexpr uint32_t bytes_per_word = sizeof(Word), size_of_word = 4;  // as AXI4 says it
constexpr Word pattern = Word(0xA55A'C33C'9669'0FF0) << 64 | 0x5AA5'3CC3'6996'F00F;
constexpr uint8_t okay = 0, slverr = 2, incr = 1;
}  // namespace

uint64_t Random::next() {
    uint64_t z = state_ += 0x9E37'79B9'7F4A'7C15;  // splitmix64
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
}

TableMemory::TableMemory(const TableConfig &config, uint32_t base, uint32_t tx_base, uint64_t bytes)
    : config_(config), base_(base), tx_base_(tx_base), bytes_(bytes), random_(config.seed) {
    void *words = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED) throw std::bad_alloc();
    words_ = static_cast<Word *>(words);
}

TableMemory::~TableMemory() { munmap(words_, bytes_); }

Word TableMemory::word(uint32_t address) const {
    return inside(address) ? words_[(address - base_) / bytes_per_word] ^ (address >= tx_base_ ? pattern : 0) : 0;
}

void TableMemory::put(uint32_t address, Word data, uint16_t strobes) {
    if (!inside(address)) return;
    Word mask = 0;
    for (uint32_t b = 0; b < bytes_per_word; b++)
        if (strobes >> b & 1) mask |= Word(0xFF) << 8 * b;
    Word &at = words_[(address - base_) / bytes_per_word];
    at = (at & ~mask) | ((data ^ (address >= tx_base_ ? pattern : 0)) & mask);
}

uint32_t TableMemory::get32(uint32_t address) const { return uint32_t(word(address & ~15u) >> 8 * (address & 12)); }

void TableMemory::put32(uint32_t address, uint32_t value) {
    put(address & ~15u, Word(value) << 8 * (address & 12), uint16_t(0xF << (address & 12)));
}

void TableMemory::check(const TableRequest::Address &a) {
    char words[120] = "";
    if (a.burst != incr || a.size != size_of_word || a.addr % bytes_per_word)
        std::snprintf(words, sizeof words, "a burst at %08x is not INCR of whole words", a.addr);
    else if ((a.addr & 4095) + (a.len + 1u) * bytes_per_word > 4096)
        std::snprintf(words, sizeof words, "a burst of %d beats at %08x crosses 4 KiB", a.len + 1, a.addr);
    if (*words && error_.empty()) error_ = words;
    accesses_++;
}

// The access that is answered next, or -1: the oldest; with an adversary any that is due and the oldest of its id.
template <class Accesses>
int TableMemory::choose(const Accesses &accesses) {
    int found = -1;
    uint64_t ids = 0;
    uint32_t candidates = 0;
    for (size_t i = 0; i < accesses.size(); i++) {
        const bool first = !(ids >> accesses[i].id & 1);
        ids |= uint64_t(1) << accesses[i].id;
        if (first && accesses[i].due <= now_ && random_.below(++candidates) == 0) found = int(i);
        if (!config_.adversary) break;
    }
    return found;
}

void TableMemory::offer_read() {
    if (answer_.r_valid) return;  // stays as it is until it has passed
    if (reading_ < 0) reading_ = choose(reads_);
    if (reading_ < 0 || random_.percent(config_.stall_percent)) return;
    const Read &r = reads_[size_t(reading_)];
    const uint32_t at = r.addr + bytes_per_word * r.beat;
    answer_.r_valid = true;
    answer_.r_data = r.early.empty() ? word(at) : r.early[r.beat];
    answer_.r_id = r.id;
    answer_.r_resp = inside(at) ? okay : slverr;
    answer_.r_last = r.beat == r.len;
}

void TableMemory::offer_answer() {
    if (answer_.b_valid) return;
    if (answering_ < 0) answering_ = choose(writes_);
    if (answering_ < 0 || random_.percent(config_.stall_percent)) return;
    land_up_to(size_t(answering_));
    const Write &w = writes_[size_t(answering_)];
    answer_.b_valid = true;
    answer_.b_id = w.id;
    answer_.b_resp = inside(w.addr) && inside(w.addr + bytes_per_word * w.len) ? okay : slverr;
}

const TableAnswer &TableMemory::drive() {
    now_++;
    answer_.ar_ready = reads_.size() < config_.outstanding && !random_.percent(config_.stall_percent);
    answer_.aw_ready = writes_.size() < config_.outstanding && !random_.percent(config_.stall_percent);
    answer_.w_ready = !random_.percent(config_.stall_percent);
    offer_read();
    offer_answer();
    return answer_;
}

// Writes land in their order, so that of two to one word the later one stays.
void TableMemory::land_up_to(size_t index) {
    for (size_t i = 0; i <= index; i++) {
        Write &w = writes_[i];
        if (w.landed || !w.complete) continue;
        for (size_t b = 0; b < w.beats.size(); b++)
            put(w.addr + uint32_t(bytes_per_word * b), w.beats[b].data, w.beats[b].strobes);
        w.landed = true;
    }
}

// The beats in hand belong to the oldest writes that have none.
void TableMemory::complete_writes() {
    for (size_t i = 0; i < writes_.size(); i++) {
        Write &w = writes_[i];
        if (w.complete) continue;
        const size_t count = size_t(w.len) + 1;
        if (loose_.size() < count) return;
        w.beats.assign(loose_.begin(), loose_.begin() + long(count));
        loose_.erase(loose_.begin(), loose_.begin() + long(count));
        for (size_t b = 0; b < count; b++)
            if (w.beats[b].last != (b + 1 == count) && error_.empty()) error_ = "last is wrong in a write burst";
        w.complete = true;
        w.due = due();
        if (!config_.adversary || random_.percent(50)) land_up_to(i);
    }
}

void TableMemory::sample(const TableRequest &q) {
    if (answer_.r_valid && q.r_ready) {
        answer_.r_valid = false;
        Read &r = reads_[size_t(reading_)];
        if (r.beat++ == r.len) {
            reads_.erase(reads_.begin() + reading_);
            reading_ = -1;
        }
    }
    if (answer_.b_valid && q.b_ready) {
        answer_.b_valid = false;
        writes_.erase(writes_.begin() + answering_);
        answering_ = -1;
    }
    if (q.ar.valid && answer_.ar_ready) {
        check(q.ar);
        Read r = {due(), q.ar.addr, q.ar.id, q.ar.len, 0, {}};
        if (config_.adversary && random_.percent(50))
            for (uint32_t b = 0; b <= r.len; b++) r.early.push_back(word(r.addr + bytes_per_word * b));
        reads_.push_back(r);
    }
    if (q.aw.valid && answer_.aw_ready) {
        check(q.aw);
        writes_.push_back({~UINT64_C(0), q.aw.addr, q.aw.id, q.aw.len, false, false, {}});
    }
    if (q.w_valid && answer_.w_ready) loose_.push_back({q.w_data, q.w_strb, q.w_last});
    if (!loose_.empty()) complete_writes();
}

}  // namespace otx
