// SPDX-License-Identifier: Apache-2.0
// What all dies share. See nand_model.h.

#ifndef OTX_NAND_DRIVE_H
#define OTX_NAND_DRIVE_H

#include <string>

#include "nand_fault_model.h"
#include "nand_store.h"

namespace otx {

// of otx_nand_count
enum Count { reads, programs, erases, suspensions, cache_reads, cache_programs, shared, retried, counters };

struct Drive {
    Store store;
    otx_nand_times times;
    otx_nand_times modes[6];  // those of the SDR timing modes, with the array's own
    uint8_t id[5];
    otx_nand_part part{};
    otx_nand_part_faults wrong{};
    uint64_t seed = 1;
    uint64_t counts[counters] = {};
    Faults faults;
    uint32_t unused = 0;  // spare bytes at the end of a page that no program needs to send
    uint64_t random();    // the next number of the seed
    uint32_t planes() const { return part.planes ? part.planes : 1; }
    uint32_t plane_of(uint32_t row) const { return row / store.geometry().pages & (planes() - 1); }
};

void rule_broken(const std::string &text);
const Drive &page_drive();

}  // namespace otx

#endif
