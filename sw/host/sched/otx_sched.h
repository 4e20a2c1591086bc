// SPDX-License-Identifier: Apache-2.0
// otx-sched: an epoch-based IO scheduler. Requests may be reordered and merged on their way to a drive that knows
// barriers, and what has to stay in order does.
//
// Words. An order-preserving write belongs to an epoch: those between two barriers. An orderless request (and every
// read) belongs to none.
//
// Rules.
// 1. Order-preserving requests of one epoch leave in any order; those of the next leave after all of them.
// 2. A barrier write closes its epoch when it is put. Its barrier is taken off it, and given to whichever
//    order-preserving request of the epoch leaves last.
// 3. While a closed epoch has requests here, no order-preserving one is taken: OTX_SCHED_BLOCKED. Orderless ones are,
//    and may leave in any epoch (`block_all`: they are not taken either, as in the paper "Barrier-Enabled IO Stack for
//    Flash Storage", section 3.4).
// 4. Requests that follow each other on the drive may leave as one, up to 32 blocks, reads with reads and writes with
//    writes. It is order-preserving if one of them is.
// 5. Of two requests that share a block, one of them a write, the older one leaves first.
// 6. With `patience` n no request is passed by more than n others that came later.
//
// No memory is allocated and nothing waits: whoever is told BLOCKED or FULL puts the request again after a get. One
// thread at a time. Costs grow with the square of the requests here: a queue has some hundred.
#ifndef OTX_SCHED_H
#define OTX_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OTX_SCHED_MAX_BLOCKS = 32 };  // of a request, merged ones too

struct otx_sched_request {
    uint32_t lba, count;    // 1 to 32 blocks
    bool write;             // else a read
    bool ordered, barrier;  // of a write; a barrier write is order-preserving
    void *cookie;           // the caller's own
};

// A request in the queue.
struct otx_sched_entry {
    struct otx_sched_request request;
    uint64_t turn;    // when it came
    uint32_t passed;  // by so many that came later
};

struct otx_sched;

// How the next request is chosen. `pick` returns the index of one for which otx_sched_may_go is true; there is one.
struct otx_sched_discipline {
    size_t (*pick)(const struct otx_sched *sched);
    bool merge;
};

extern const struct otx_sched_discipline otx_sched_fifo;      // as they came, nothing merged
extern const struct otx_sched_discipline otx_sched_elevator;  // by lba, upwards and around, merged

struct otx_sched {
    const struct otx_sched_discipline *discipline;
    struct otx_sched_entry *entries;  // the oldest first
    size_t count, room;
    size_t ordered;     // of them order-preserving
    bool closed;        // the epoch has its barrier
    bool block_all;     // rule 3
    uint32_t patience;  // rule 6; 0: none
    uint32_t head;      // block behind the last that left
    uint64_t turn;
};

// What leaves: one request, or several merged.
struct otx_sched_dispatch {
    uint32_t lba, count;
    bool write, ordered, barrier;
    uint32_t parts;
    void *cookies[OTX_SCHED_MAX_BLOCKS];  // of its parts, by lba
};

enum otx_sched_result { OTX_SCHED_TAKEN = 0, OTX_SCHED_BLOCKED = 1, OTX_SCHED_FULL = 2, OTX_SCHED_WRONG = 3 };

// A queue on `room` entries of the caller's, which stay his. `block_all` and `patience` may be set after it.
void otx_sched_init(struct otx_sched *sched, struct otx_sched_entry *entries, size_t room,
                    const struct otx_sched_discipline *discipline);

// Takes a request, or says why not. WRONG: no block or too many, a range past 2^32, a read with an attribute.
enum otx_sched_result otx_sched_put(struct otx_sched *sched, const struct otx_sched_request *request);

// Takes the next one out; false if there is none.
bool otx_sched_get(struct otx_sched *sched, struct otx_sched_dispatch *dispatch);

// For disciplines: whether the request at `index` may leave now (rule 5). The oldest one always may.
bool otx_sched_may_go(const struct otx_sched *sched, size_t index);

#ifdef __cplusplus
}
#endif
#endif
