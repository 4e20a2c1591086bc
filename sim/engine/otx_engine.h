// SPDX-License-Identifier: Apache-2.0
// The remap engine alone as a C library: hand over ops and tx requests, let clocks pass, take responses, releases and
// events. Streams are those of docs/interfaces.md, "Remap engine"; only the ports of otx_remap_engine are used, and
// table memory is table_memory.h. Some million clocks per second.
//
// Ops enter in the order they were handed over, tx requests too, the two streams side by side; in the clock in which
// both pass, tx comes first. Clock numbers count rising edges since the end of reset: a beat that passes at edge n has
// clock n. The same calls give the same clocks. Any number of engines per process.
// If the engine breaks a stream or AXI rule, or answers without an op, `otx_engine_step` stops for ever and
// `otx_engine_error` says why.
#ifndef OTX_ENGINE_H
#define OTX_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct otx_engine_config {
    uint32_t min_latency, max_latency;  // of table memory in clocks, 1 or more
    uint32_t outstanding;               // its reads, and its writes, under way at once
    uint32_t stall_percent;             // of the clocks in which a stream waits although it need not
    uint32_t adversary;                 // 1: memory answers in any order that AXI4 allows
    uint32_t reserved;
    uint64_t seed;
};

// `location`, `new_location`: words, kind in bits 31:30. `tag` is the caller's, any 32 bits, and comes back with the
// response; responses come in the order of the engine.
struct otx_engine_op {
    uint8_t op, has_tx, txid, last;
    uint32_t lpn, location, new_location, tag, blocks;
};

struct otx_engine_rsp {
    uint32_t tag, location;
    uint8_t own, committing, hit, error;
    uint32_t reserved;
    uint64_t taken, answered;  // clocks of the op and of the response
};

struct otx_engine_release {
    uint32_t location, reserved;
    uint64_t clock;
};

enum {
    // a tx request was taken: op, txid, its state and entries (`value`) in that clock, `offered` since when it had
    // waited
    OTX_EVENT_TX = 0,
    OTX_EVENT_TAKEN = 1,    // a COMMIT of txid was taken and is legal (port evCommitTaken)
    OTX_EVENT_VISIBLE = 2,  // first clock in which txid is COMMITTED (port evCommitVisible)
    OTX_EVENT_OP = 3,       // an op was taken: its caller's tag in `value`
    OTX_EVENT_FREE = 4,     // first clock in which txid is FREE again
};

struct otx_engine_event {
    uint8_t kind, op, txid, state;
    uint32_t value;
    uint64_t clock, offered;
};

// When a step ends before its clocks are over: everything handed over is taken and answered; no walk is pending; a
// COMMIT has become visible.
enum { OTX_UNTIL_ANSWERED = 1, OTX_UNTIL_WALKED = 2, OTX_UNTIL_VISIBLE = 4 };

typedef struct otx_engine otx_engine;

// An engine out of reset that takes requests. NULL if the configuration is wrong (a latency of 0, min over max, nothing
// outstanding, stalls of 100 % or more).
otx_engine *otx_engine_open(const struct otx_engine_config *config);
void otx_engine_close(otx_engine *engine);

void otx_engine_ops(otx_engine *engine, const struct otx_engine_op *ops, size_t count);
void otx_engine_tx(otx_engine *engine, uint8_t op, uint8_t txid);
// Takes back all ops that are not yet offered; returns how many.
size_t otx_engine_forget_ops(otx_engine *engine);
// 0: no release is taken until it is set to 1 again.
void otx_engine_take_releases(otx_engine *engine, int take);

// Lets up to `clocks` pass, until all conditions of `until` hold (0: none). Returns 1 if it ended for them, else 0.
int otx_engine_step(otx_engine *engine, uint64_t clocks, uint32_t until);

// The oldest of each, at most `max`, which are then forgotten; returns how many.
size_t otx_engine_rsps(otx_engine *engine, struct otx_engine_rsp *out, size_t max);
size_t otx_engine_releases(otx_engine *engine, struct otx_engine_release *out, size_t max);
size_t otx_engine_events(otx_engine *engine, struct otx_engine_event *out, size_t max);

// Beats of the last clock, a bit each.
enum {
    OTX_BEAT_OP = 1,  // op, rsp, tx, released passed
    OTX_BEAT_RSP = 2,
    OTX_BEAT_TX = 4,
    OTX_BEAT_RELEASED = 8,
    OTX_BEAT_AR = 16,  // table memory: addresses and answers
    OTX_BEAT_R = 32,
    OTX_BEAT_AW = 64,
    OTX_BEAT_B = 128,
    OTX_BEAT_TAKEN = 256,  // ports evCommitTaken, evCommitVisible, walking
    OTX_BEAT_VISIBLE = 512,
    OTX_BEAT_WALKING = 1024,
};
uint32_t otx_engine_beats(const otx_engine *engine);

uint64_t otx_engine_clock(const otx_engine *engine);
size_t otx_engine_waiting(const otx_engine *engine);  // ops and tx requests not taken, ops not answered
int otx_engine_walking(const otx_engine *engine);
uint32_t otx_engine_state(const otx_engine *engine, uint8_t txid);  // ports txState, txCount, useCount, memoryErrors
uint32_t otx_engine_count(const otx_engine *engine, uint8_t txid);
uint32_t otx_engine_use(otx_engine *engine, uint8_t txid);
uint32_t otx_engine_memory_errors(const otx_engine *engine);
uint64_t otx_engine_accesses(const otx_engine *engine);  // of table memory, so far
uint32_t otx_engine_get32(const otx_engine *engine, uint32_t address);
void otx_engine_put32(otx_engine *engine, uint32_t address, uint32_t value);
const char *otx_engine_error(const otx_engine *engine);  // "" while all is well

// The geometry the engine was generated for.
uint32_t otx_engine_lbas(void);
uint32_t otx_engine_tx_entries(void);

#ifdef __cplusplus
}
#endif
#endif
