// SPDX-License-Identifier: Apache-2.0
// Writes the events of a client as history lines (docs/reference/history.md) into memory, and counts what was seen.
#ifndef OTX_TRAFFIC_RECORDER_H
#define OTX_TRAFFIC_RECORDER_H

#include <cstdint>
#include <string>
#include <vector>

#include "otx_sim.h"

namespace otx {

// Stamp of a block read: -1 is none (torn), 0 zeroes.
int64_t stamp_of(const uint8_t *block);
void fill_block(uint8_t *block, uint64_t stamp);

const char *op_name(uint8_t opcode);
const char *status_name(uint8_t status);

class Recorder {
  public:
    void head(uint32_t lbas, const char *fields);
    void submit(uint64_t id, const otx_cmd &cmd, uint64_t stamp);  // of a WRITE: stamps stamp, stamp + 1, ...
    void done(uint64_t id, const otx_cmd &cmd, const otx_cpl &cpl, const uint8_t *data);
    void event(const char *kind, const char *fields);
    const char *take(size_t *length);

    enum Seen : uint32_t {
        commands,
        of_1,
        of_2_to_8,
        of_9_to_31,
        of_32,
        all_tags,
        plain_writes,
        fua_writes,
        tx_writes,
        trims,
        zeroes,
        tx_trims,
        begins,
        implied_opens,
        commits,
        relaxed_commits,
        write_commits,
        aborts,
        flushes,
        recovers,
        queries,
        reads,
        tx_reads,
        reads_of_32,
        bad_input,
        refused,
        trim_only_commits,
        mixed_commits,
        overlapping_commits,
        empty_commits,
        all_txids,
        capacity,
        tx_full,
        tx_busy,
        tx_invalid,
        media_errors,
        read_only,
        torn_blocks,
        long_lists,
        prepares,
        barriers,
        barrier_flags,
        orderless,
        rflushes,
        kinds
    };
    void see(Seen what, bool yes = true) { counts_[what] += yes; }
    static const char *name(uint32_t number);
    uint64_t count(uint32_t number) const { return number < kinds ? counts_[number] : 0; }

  private:
    void add(const char *format, ...) __attribute__((format(printf, 2, 3)));

    std::string lines_, taken_;
    uint64_t counts_[kinds] = {};
};

}  // namespace otx
#endif
