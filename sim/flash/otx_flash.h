// SPDX-License-Identifier: Apache-2.0
// The flash back end with its dies (cocotb_tests/tb/tb_flash_backend.sv) as a C library: hand over ops, let clocks
// pass, take dones. Frame memory is inside: 64-bit beats, answers after FRAME_LATENCY clocks, then one beat per clock
// in each direction.
//
// Ops of one client enter in the order they were handed over. Clock numbers count rising edges since the end of reset.
// The same calls give the same clocks. One drive per process, because the NAND model is one; it ends the process with
// code 70 when a rule of the chips is broken. The library is built for one geometry (sim/flash/Makefile).
#ifndef OTX_FLASH_H
#define OTX_FLASH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OTX_FLASH_WRITE, OTX_FLASH_READ, OTX_FLASH_LOG, OTX_FLASH_FIRMWARE, OTX_FLASH_CLIENTS };

struct otx_flash_done {
    uint32_t client, cookie, status, reserved;
    uint64_t handed, clock;  // when the op was handed over and when its done beat passed
};

// Blank dies, reset of the controller. Again: from the start.
void otx_flash_open(uint64_t seed);
void otx_flash_op(uint32_t client, uint32_t op, uint32_t ppn, uint32_t frame, uint32_t lpn, uint32_t cookie);
// Clocks until a done beat (1, and it is in `done`) or until clock number `until` (0).
int otx_flash_step(uint64_t until, struct otx_flash_done *done);
uint64_t otx_flash_clock(void);
uint64_t *otx_flash_frame(uint32_t frame);  // its 512 words

#ifdef __cplusplus
}
#endif

#endif
