// SPDX-License-Identifier: Apache-2.0
// The faults of the modelled DRAM, for otx_sim_dram_fault.sv; a test sets them before it boots the drive.
#include <cstdint>

namespace {
int32_t fault;
}

extern "C" int otx_dram_fault() { return fault; }

extern "C" void otx_sim_dram_set_fault(int32_t bits) { fault = bits; }
