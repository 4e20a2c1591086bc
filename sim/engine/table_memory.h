// SPDX-License-Identifier: Apache-2.0
// The table memory behind the remap engine: an AXI4 slave of 128-bit words, stepped once per clock.
//
// Per clock: `drive` says what the memory puts on its side of the port, then the engine is evaluated, then `sample`
// takes what the engine has put there; beats that are valid and ready on both sides have passed. Latency: clocks from
// an address to its first read beat, from the last write beat to the answer; drawn between `min_latency` and
// `max_latency` for each access. The map (below `tx_base`) starts as zeroes, the tx tables as a pattern that is not
// zero. Outside of the tables: SLVERR.
//
// `adversary` 0: everything in order, a write stands in memory when its last beat is taken. 1: as much disorder as AXI4
// allows: answers of different ids in any order, a read sees memory as it is at its address or at its beats, a write
// lands at its last beat or at its answer.
//
// What AXI4 forbids the master (burst that is not INCR of whole words, crosses 4 KiB, wrong `last`) is kept as one line
// of words in `error`.
#ifndef OTX_TABLE_MEMORY_H
#define OTX_TABLE_MEMORY_H

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace otx {

using Word = unsigned __int128;  // what a beat carries

// Small and fast; the same numbers on every machine.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint32_t below(uint32_t n) { return uint32_t(next() >> 33) % n; }
    bool percent(uint32_t p) { return p && below(100) < p; }

  private:
    uint64_t state_;
};

struct TableConfig {
    uint32_t min_latency = 8, max_latency = 8;  // clocks, 1 or more
    uint32_t outstanding = 8;                   // reads, and writes, under way at once
    uint32_t stall_percent = 0;                 // of the clocks in which a ready is low or a beat is not yet offered
    bool adversary = false;
    uint64_t seed = 1;
};

// What the engine's side of the port shows.
struct TableRequest {
    struct Address {
        bool valid;
        uint32_t addr;
        uint8_t id, len, size, burst;
    } ar, aw;
    bool w_valid;
    Word w_data;
    uint16_t w_strb;
    bool w_last, r_ready, b_ready;
};

// What the memory's side shows.
struct TableAnswer {
    bool ar_ready, aw_ready, w_ready, r_valid, r_last, b_valid;
    Word r_data;
    uint8_t r_id, r_resp, b_id, b_resp;
};

class TableMemory {
  public:
    // Addresses in bytes; `bytes` from `base` on are there.
    TableMemory(const TableConfig &config, uint32_t base, uint32_t tx_base, uint64_t bytes);
    ~TableMemory();
    TableMemory(const TableMemory &) = delete;
    TableMemory &operator=(const TableMemory &) = delete;

    const TableAnswer &drive();
    void sample(const TableRequest &request);

    uint32_t get32(uint32_t address) const;
    void put32(uint32_t address, uint32_t value);
    uint64_t accesses() const { return accesses_; }
    const std::string &error() const { return error_; }

  private:
    struct Beat {
        Word data;
        uint16_t strobes;
        bool last;
    };
    struct Read {
        uint64_t due;
        uint32_t addr;
        uint8_t id, len, beat;
        std::vector<Word> early;  // the words as they were at the address; empty: looked up when the beat is offered
    };
    struct Write {
        uint64_t due;
        uint32_t addr;
        uint8_t id, len;
        bool complete, landed;
        std::vector<Beat> beats;
    };

    bool inside(uint32_t address) const { return address - base_ < bytes_; }
    Word word(uint32_t address) const;
    void put(uint32_t address, Word data, uint16_t strobes);
    uint64_t due() { return now_ + config_.min_latency + random_.below(config_.max_latency - config_.min_latency + 1); }
    void check(const TableRequest::Address &a);
    void offer_read();
    void offer_answer();
    void complete_writes();
    void land_up_to(size_t index);
    template <class Accesses>
    int choose(const Accesses &accesses);

    const TableConfig config_;
    const uint32_t base_, tx_base_;
    const uint64_t bytes_;
    Word *words_;
    Random random_;
    uint64_t now_ = 0, accesses_ = 0;
    std::deque<Read> reads_;
    std::deque<Write> writes_;
    std::deque<Beat> loose_;             // write beats that are not a whole burst with an address yet
    int reading_ = -1, answering_ = -1;  // the burst and the write that are chosen
    TableAnswer answer_ = {};
    std::string error_;
};

}  // namespace otx
#endif
