// SPDX-License-Identifier: Apache-2.0
// The transport of a simulated drive with the NVMe front end (preset nvme), beside otx_sim.h: accesses to BAR 0, host
// memory, messages of interrupts. Its library has no otx_submit, otx_stop_data and otx_poll.
//
// Nothing happens but when clocks pass (otx_step, which returns early as soon as there is an answer or a message to
// take). Host memory is memory of this process; what the drive reads and writes of it, it does while clocks pass.
#ifndef OTX_NVME_SIM_H
#define OTX_NVME_SIM_H

#include "otx_sim.h"

#ifdef __cplusplus
extern "C" {
#endif

// An access to the eight bytes at `address`, a multiple of 8 below 16 KiB, in the order of the calls. A write is of the
// bytes whose mask bit is 1. A read is answered once, in the order of the reads.
void otx_bar_write(uint32_t address, uint64_t data, uint8_t mask);
void otx_bar_read(uint32_t address);
int otx_bar_answer(uint64_t *data);  // takes the oldest answer: 1, or 0 if there is none

// Host memory: `size` bytes at bus address `address` are those at `memory`, until otx_host_unmap, which takes all away.
void otx_host_map(uint64_t address, void *memory, uint64_t size);
void otx_host_unmap(void);
// Memory that is not mapped: `access` is called for it while clocks pass, once for a read or a write of the drive (of
// at most 4 KiB, within a page), with `user`; it gives or takes the bytes and returns 0, or -1: nobody has them. NULL:
// nobody has any. It must call nothing of these two headers.
void otx_host_elsewhere(int (*access)(void *user, uint64_t address, void *bytes, uint32_t size, int write), void *user);
// A host that stops: reads of these `size` bytes, and all that are asked for behind them, are not answered until the
// next call. 0: none.
void otx_host_hold(uint64_t address, uint64_t size);
// Bus master enable, at first 1. 0: the drive reaches nothing: its reads fail, its writes and messages are dropped.
void otx_host_master(int enabled);
// Accesses of the drive to bytes that nobody has, since it was opened: reads fail, and the drive knows it; writes are
// lost, and it does not, as with PCIe.
uint64_t otx_host_faults(void);

// Takes the oldest message of an interrupt: 1, or 0 if there is none.
int otx_host_message(uint64_t *address, uint32_t *data);

// Message control of the MSI-X capability: enable, function mask.
void otx_msix_control(int enable, int mask);
// A reset of the function, of one clock. Accesses to BAR 0 that wait are forgotten.
void otx_function_reset(void);

// The clock of the last transfer, access or message.
uint64_t otx_host_seen(void);
// Whether anything that the host has asked for is under way, also in firmware; an Asynchronous Event Request is not.
int otx_host_active(void);

#ifdef __cplusplus
}
#endif
#endif
