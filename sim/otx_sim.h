// SPDX-License-Identifier: Apache-2.0
// The simulated drive as a C library: power on, submit commands, let clocks pass, take completions, cut the power.
//
// One drive per process and one thread that calls: NAND store, memories and firmware text are the process'. fork() is
// safe at any time between calls (the child goes on with a copy, except for an image file, which both map: there only
// one side may go on). Time is counted in clocks and nothing depends on wall time, so the same calls give the same
// clocks. Ending the process at any instant is a power cut.
#ifndef OTX_SIM_H
#define OTX_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "otx_facts.h"

#ifdef __cplusplus
extern "C" {
#endif

// Opcodes, status codes and sizes are those of otx_facts.h; docs/interfaces.md, "Host port", says what each command
// takes.
struct otx_cmd {
    uint8_t opcode, tag, txid, has_tx, fua, commit, relaxed, barrier, orderless, order, priority;
    uint16_t count, stream;
    uint32_t lba, arg;
};

struct otx_cpl {
    uint8_t tag, status;
    uint32_t result;
    uint32_t blocks;  // READ: bit b is set if block b was sent
    uint64_t clock;   // of the completion
};

// Drive of this library's preset on an image file (created if missing, all pages erased), or in memory only if `image`
// is NULL. `firmware` NULL: otx.bin beside the library.
// 0, or -1 with one line of words in `message`: the image is not one, is cut short, has another geometry, is in use; it
// is then untouched.
int otx_open(const char *image, const char *firmware, char *message, size_t size);

// Runs until the firmware has enabled the drive, at most `clocks`. 0, or -1 if it did not; otx_uart() says why in the
// firmware's words.
int otx_boot(uint64_t clocks);

// Hands a command over; it enters the drive when clocks pass and the drive takes it. `data`: count blocks, the source
// of a WRITE or the destination of a READ, must stay until the completion. 0, or -1 if the tag is under way.
int otx_submit(const struct otx_cmd *cmd, void *data);

// The host stops in the middle of a WRITE that is under way: after so many more beats of 8 bytes no more come; with
// `late` those of the blocks that were wanted come after its completion, and mean nothing.
void otx_stop_data(uint8_t tag, uint32_t beats, int late);

// Lets up to `clocks` pass, fewer if there is a completion to take. Returns how many there are.
int otx_step(uint64_t clocks);

// Takes the oldest completion: 1, or 0 if there is none.
int otx_poll(struct otx_cpl *cpl);

uint64_t otx_clock(void);  // clocks since power on
// a command is under way, or the drive holds something that a FLUSH would still have to put on NAND
int otx_busy(void);
int otx_enabled(void);          // the firmware has enabled the drive
int otx_fault(void);            // a program failed; the drive accepts no more writes
const char *otx_uart(void);     // all that the firmware has said since power on
uint32_t otx_lbas(void);        // capacity in blocks
uint32_t otx_commands(void);    // under way at once, at most: tags from 0 on
uint32_t otx_tx_entries(void);  // of a transaction at most
uint32_t otx_clock_ps(void);    // of one clock, nominal
const char *otx_preset(void);

// Writes all signals from now on to an FST file; NULL stops. 0, or -1 if the library has no tracing (libotx_trace.so
// has), power is off or the file cannot be written.
int otx_trace(const char *path);

// Leaves out (1) or takes up again (0) what happens from now on; the file stays open.
void otx_trace_pause(int pause);

// Blocks of the drive that rest are not evaluated (1, as it is from the start) or are (0): the drive does the same,
// clock by clock. otx_rests: how often a block has gone to rest.
void otx_rest(int allow);
uint64_t otx_rests(void);

// Power fails, and a drive with PLP (its firmware says so) has energy for `clocks` clocks: these pass, in which the
// host says and hears nothing more. Returns the clocks after which all was saved, or -1 if it was not, or the drive has
// no PLP. Only otx_power_cut, otx_clock or the end of the process may follow.
int64_t otx_power_fail(uint64_t clocks);

// Power fails: what is under way on NAND stays torn or is complete, by `seed`; everything else is gone. The drive must
// be opened again (in memory: otx_power_on).
void otx_power_cut(uint64_t seed);

// Power is back after otx_power_cut: a drive just switched on, on the same NAND.
void otx_power_on(void);

// Orderly power-down: FLUSH, what is open is aborted, and a checkpoint, so that the next start has nothing to replay
// (but of a drive that takes no writes); then closes. At most `clocks`. 0, or -1 if it did not become idle in these (it
// is closed all the same).
int otx_close(uint64_t clocks);

#ifdef __cplusplus
}
#endif
#endif
