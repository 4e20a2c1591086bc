// SPDX-License-Identifier: Apache-2.0
// Random traffic for the drive of libotx.so, and the history of what it did (JSON lines, docs/reference/history.md),
// for ctypes.
//
// Traffic stands above otx_sim.h: who uses it leaves submit, step and poll alone. What is submitted depends on the seed
// and on the completions alone, so the same calls on the same drive give the same clocks and the same history, however
// `run` is cut into pieces, and fork() is safe between calls. A block's content is its stamp (8 bytes, repeated); a
// stamp is used once.
// Every status that a command may have is an answer that is recorded; whether it may have it is for the judge.
#ifndef OTX_TRAFFIC_H
#define OTX_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Flavours of a session: which moods come how often.
enum {
    OTX_FLAVOUR_MIXED,
    OTX_FLAVOUR_PLAIN,
    OTX_FLAVOUR_TX,
    OTX_FLAVOUR_RELAXED,
    OTX_FLAVOUR_LONG_LOG,
    OTX_FLAVOUR_FILL,
    OTX_FLAVOUR_REWRITE,
    OTX_FLAVOURS
};

// Until when `run` runs, besides its clocks.
enum {
    OTX_UNTIL_CLOCKS,
    OTX_UNTIL_SENT,  // a FLUSH, FUA or COMMIT is submitted
    OTX_UNTIL_KEPT,  // one of these completes
    // dies work on something of `arg`: bit k a page of kind k (docs/interfaces.md), bit 15 an erase; on `arg >> 16` of
    // them at least
    OTX_UNTIL_TORN,
    OTX_UNTIL_WALK,   // a COMMIT or ABORT of a transaction with entries completes
    OTX_UNTIL_CHANGE  // a program or erase begins or ends on some die, to the clock
};

// New traffic from `seed` on the drive that is on and enabled, in blocks `first` ... `first + blocks - 1`. The first
// call also begins the history, with these words as further fields of its head ("" or `"preset":"x"`).
void otx_traffic_begin(uint64_t seed, uint32_t flavour, uint32_t first, uint32_t blocks, const char *fields);

// Lets traffic run for `clocks`, or until. 1: until has come, 0: not, -1: commands are under way and nothing has
// completed for OTX_TRAFFIC_STUCK clocks.
enum { OTX_TRAFFIC_STUCK = 6000000 };
int otx_traffic_run(uint64_t clocks, int until, uint32_t arg);

// So many commands more, or 0, and then until all under way have completed. 0, or -1 as above.
int otx_traffic_finish(uint32_t commands);

// Reads blocks first ... first + n - 1 `times` times, 32 blocks with each READ and many READs at once. 0, or -1 as
// above.
int otx_traffic_read(uint32_t first, uint32_t n, uint32_t times);

// QUERY of `what` (its arg); its result, or -1.
int64_t otx_traffic_query(uint32_t what, int txid);

// Power fails, and comes back: into the history with otx_power_cut(seed) and otx_power_on. `up`: the words of the
// event's fields, when the drive is enabled or has given up.
// `energy`: of a drive with PLP, in clocks, as otx_power_fail; -1: it has none.
void otx_traffic_cut(uint64_t seed, int in_recovery, int64_t energy);
void otx_traffic_off(uint64_t seed);  // everything has completed and a FLUSH with it: an orderly end
void otx_traffic_up(const char *fields);

// Boots for `clocks` at most, as otx_boot, or until dies work on something of `arg`, as OTX_UNTIL_TORN, for the
// `times`-th time. 1: there, 0: the drive is enabled, -1: the clocks are over. `arg` OTX_BOOT_CHANGE: as
// OTX_UNTIL_CHANGE, counted from where the boot is.
#define OTX_BOOT_CHANGE 0xFFFFFFFFu
int otx_traffic_boot(uint64_t clocks, uint32_t arg, uint32_t times);

// Lines of history since the last call; valid until the next one.
const char *otx_traffic_take(size_t *length);

// What was seen since the first begin; name NULL behind the last.
const char *otx_traffic_counter_name(uint32_t number);
uint64_t otx_traffic_counter(uint32_t number);

#ifdef __cplusplus
}
#endif
#endif
