// SPDX-License-Identifier: Apache-2.0
// Implements otx_engine.h. A clock is: inputs, evaluate with clk low, look at the streams, evaluate with clk high.
#include "otx_engine.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <string>

#include "Votx_remap_engine.h"
#include "otx_facts.h"
#include "otx_geometry.h"
#include "table_memory.h"
#include "verilated.h"

namespace {

constexpr int reset_clocks = 4, start_clocks = 1000;  // most clocks from reset to a tx_ready
constexpr uint8_t committed = 4, aborted = 5;         // of txState

// A beat of the table port as Verilator has it.
template <class Wide>
otx::Word from_port(const Wide &w) {
    otx::Word out = 0;
    for (int i = 3; i >= 0; i--) out = out << 32 | w[i];
    return out;
}

template <class Wide>
void to_port(Wide &w, otx::Word value) {
    for (int i = 0; i < 4; i++, value >>= 32) w[i] = uint32_t(value);
}

uint32_t word(uint32_t kind, uint32_t value) { return kind << OTX_WORD_VALUE_BITS | value; }

#define OTX_EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define OTX_ALL_TXIDS(X) \
    X(0)                 \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) OTX_EIGHT(X, 1) X(18) X(19) OTX_EIGHT(X, 2) X(28) X(29) X(30) X(31)

uint32_t state_of(const Votx_remap_engine &top, uint8_t txid) {
    switch (txid) {
#define OTX_CASE(n) \
    case n: return top.txState_##n;
        OTX_ALL_TXIDS(OTX_CASE)
#undef OTX_CASE
    }
    return 0;
}

uint32_t count_of(const Votx_remap_engine &top, uint8_t txid) {
    switch (txid) {
#define OTX_CASE(n) \
    case n: return top.txCount_##n;
        OTX_ALL_TXIDS(OTX_CASE)
#undef OTX_CASE
    }
    return 0;
}

// The rule of a stream: valid stays, with an unchanged payload, until the beat has passed.
class Held {
  public:
    using Payload = std::array<uint64_t, 3>;

    bool broken(bool valid, bool ready, Payload payload) {
        const bool wrong = waiting_ && (!valid || payload != payload_);
        waiting_ = valid && !ready;
        payload_ = payload;
        return wrong;
    }

  private:
    bool waiting_ = false;
    Payload payload_ = {};
};

struct TxRequest {
    uint8_t op, txid;
    uint64_t offered;
};

struct Waiting {
    uint8_t own;  // tag at the port: free for the next op once the response has come
    uint32_t tag;
    uint64_t taken;
};

template <class T>
size_t take(std::deque<T> &from, T *out, size_t max) {
    const size_t n = std::min(from.size(), max);
    std::copy_n(from.begin(), n, out);
    from.erase(from.begin(), from.begin() + long(n));
    return n;
}

}  // namespace

struct otx_engine {
    explicit otx_engine(const otx_engine_config &c)
        : top((context.threads(1), &context)),  // no pool of threads
          memory({c.min_latency, c.max_latency, c.outstanding, c.stall_percent, c.adversary != 0, c.seed},
                 OTX_TABLE_BASE, OTX_TX_BASE, OTX_TABLE_BYTES),
          random(c.seed ^ 0x0123'4567'89AB'CDEF),
          stall(c.stall_percent) {}
    ~otx_engine() { top.final(); }

    void start();
    void one_clock();
    bool holds(uint32_t until) const;
    size_t waiting_count() const { return ops.size() + txs.size() + waiting.size(); }

    VerilatedContext context;
    Votx_remap_engine top;
    otx::TableMemory memory;
    otx::Random random;
    const uint32_t stall;
    uint64_t now = 0;
    std::deque<otx_engine_op> ops;
    std::deque<TxRequest> txs;
    std::deque<Waiting> waiting;
    std::deque<otx_engine_rsp> rsps;
    std::deque<otx_engine_release> releases;
    std::deque<otx_engine_event> events;
    bool take_releases = true, visible = false, op_offered = false, tx_offered = false;
    std::string error;
    uint32_t beats = 0;  // OTX_BEAT_... of the last clock

  private:
    void put_inputs();
    void put_table();
    void look();
    void answer();
    void look_for_freed();
    uint32_t beats_now();
    void look_at_table();
    uint8_t free_tag();
    void wrong(const char *words) {
        if (error.empty()) error = "clock " + std::to_string(now) + ": " + words;
    }

    uint8_t last_tag = 0;
    uint32_t draining = 0;  // bit per txid: COMMITTED or ABORTED in the clock before
    Held rsp_rule, release_rule, ar_rule, aw_rule, w_rule;
};

uint8_t otx_engine::free_tag() {
    do last_tag++;
    while (std::any_of(waiting.begin(), waiting.end(), [&](const Waiting &w) { return w.own == last_tag; }));
    return last_tag;
}

void otx_engine::put_inputs() {
    if (!ops.empty() && !op_offered && !random.percent(stall)) {
        const otx_engine_op &o = ops.front();
        op_offered = true;
        top.op_payload_op = o.op;
        top.op_payload_lpn = o.lpn;
        top.op_payload_hasTx = o.has_tx;
        top.op_payload_txid = o.txid;
        top.op_payload_location_kind = o.location >> 30;
        top.op_payload_location_value = o.location & 0x3FFF'FFFF;
        top.op_payload_newLocation_kind = o.new_location >> 30;
        top.op_payload_newLocation_value = o.new_location & 0x3FFF'FFFF;
        top.op_payload_blocks = o.blocks;
        top.op_payload_last = o.last;
        top.op_payload_tag = free_tag();
    }
    if (!txs.empty() && !tx_offered && !random.percent(stall)) {
        tx_offered = true;
        txs.front().offered = now;
        top.tx_payload_op = txs.front().op;
        top.tx_payload_txid = txs.front().txid;
    }
    top.op_valid = op_offered;
    top.tx_valid = tx_offered;
    top.rsp_ready = !random.percent(stall);
    top.released_ready = take_releases && !random.percent(stall);
    put_table();
}

void otx_engine::put_table() {
    const otx::TableAnswer &a = memory.drive();
    top.table_ar_ready = a.ar_ready;
    top.table_aw_ready = a.aw_ready;
    top.table_w_ready = a.w_ready;
    top.table_r_valid = a.r_valid;
    to_port(top.table_r_payload_data, a.r_data);
    top.table_r_payload_id = a.r_id;
    top.table_r_payload_resp = a.r_resp;
    top.table_r_payload_last = a.r_last;
    top.table_b_valid = a.b_valid;
    top.table_b_payload_id = a.b_id;
    top.table_b_payload_resp = a.b_resp;
}

void otx_engine::look_at_table() {
    const otx::TableRequest q = {{bool(top.table_ar_valid), top.table_ar_payload_addr, top.table_ar_payload_id,
                                  top.table_ar_payload_len, top.table_ar_payload_size, top.table_ar_payload_burst},
                                 {bool(top.table_aw_valid), top.table_aw_payload_addr, top.table_aw_payload_id,
                                  top.table_aw_payload_len, top.table_aw_payload_size, top.table_aw_payload_burst},
                                 bool(top.table_w_valid),
                                 from_port(top.table_w_payload_data),
                                 top.table_w_payload_strb,
                                 bool(top.table_w_payload_last),
                                 bool(top.table_r_ready),
                                 bool(top.table_b_ready)};
    const auto flat = [](const otx::TableRequest::Address &a) {
        return Held::Payload{a.addr, uint64_t(a.id) << 24 | a.len << 16 | a.size << 8 | a.burst};
    };
    if (ar_rule.broken(q.ar.valid, top.table_ar_ready, flat(q.ar))) wrong("table_ar changed before it passed");
    if (aw_rule.broken(q.aw.valid, top.table_aw_ready, flat(q.aw))) wrong("table_aw changed before it passed");
    if (w_rule.broken(q.w_valid, top.table_w_ready,
                      {uint64_t(q.w_data), uint64_t(q.w_data >> 64), uint64_t(q.w_strb) << 1 | q.w_last}))
        wrong("table_w changed before it passed");
    memory.sample(q);
    if (!memory.error().empty()) wrong(memory.error().c_str());
}

void otx_engine::answer() {
    const auto it =
        std::find_if(waiting.begin(), waiting.end(), [&](const Waiting &w) { return w.own == top.rsp_payload_tag; });
    if (it == waiting.end()) return wrong("a response without an op");
    const uint32_t location = word(top.rsp_payload_location_kind, top.rsp_payload_location_value);
    rsps.push_back({it->tag, location, top.rsp_payload_own, top.rsp_payload_committing, top.rsp_payload_hit,
                    top.rsp_payload_error, 0, it->taken, now});
    waiting.erase(it);
}

uint32_t otx_engine::beats_now() {
    uint32_t now = 0, bit = 1;
    for (bool on : {op_offered && top.op_ready, top.rsp_valid && top.rsp_ready, tx_offered && top.tx_ready,
                    top.released_valid && top.released_ready, top.table_ar_valid && top.table_ar_ready,
                    top.table_r_valid && top.table_r_ready, top.table_aw_valid && top.table_aw_ready,
                    top.table_b_valid && top.table_b_ready, bool(top.evCommitTaken), bool(top.evCommitVisible),
                    bool(top.walking)}) {
        now |= on ? bit : 0;
        bit <<= 1;
    }
    return now;
}

void otx_engine::look_for_freed() {
    for (uint8_t t = 0; t < 32; t++) {
        const uint32_t state = state_of(top, t);
        const bool walked = draining >> t & 1;
        if (walked && state == 0) events.push_back({OTX_EVENT_FREE, 0, t, 0, 0, now, now});
        if (walked != (state >= committed && state <= aborted)) draining ^= uint32_t(1) << t;
    }
}

void otx_engine::look() {
    const uint32_t released = word(top.released_payload_kind, top.released_payload_value);
    const uint32_t flags = uint32_t(top.rsp_payload_own) << 3 | top.rsp_payload_committing << 2 |
                           top.rsp_payload_hit << 1 | top.rsp_payload_error;
    if (rsp_rule.broken(top.rsp_valid, top.rsp_ready,
                        {word(top.rsp_payload_location_kind, top.rsp_payload_location_value),
                         uint64_t(top.rsp_payload_tag) << 8 | flags}))
        wrong("rsp changed before it passed");
    if (release_rule.broken(top.released_valid, top.released_ready, {released, 0}))
        wrong("released changed before it passed");
    if (top.evCommitVisible) {
        events.push_back({OTX_EVENT_VISIBLE, 0, uint8_t(top.evTxid), committed, 0, now, now});
        visible = true;
        if (state_of(top, uint8_t(top.evTxid)) != committed)
            wrong("evCommitVisible of a transaction that is not COMMITTED");
    }
    beats = beats_now();
    look_for_freed();
    if (top.released_valid && top.released_ready) releases.push_back({released, 0, now});
    if (top.rsp_valid && top.rsp_ready) answer();
    if (top.evCommitTaken) events.push_back({OTX_EVENT_TAKEN, 0, uint8_t(top.tx_payload_txid), 0, 0, now, now});
    if (tx_offered && top.tx_ready) {
        const TxRequest &t = txs.front();
        events.push_back(
            {OTX_EVENT_TX, t.op, t.txid, uint8_t(state_of(top, t.txid)), count_of(top, t.txid), now, t.offered});
        txs.pop_front();
        tx_offered = false;
    }
    if (op_offered && top.op_ready) {
        waiting.push_back({uint8_t(top.op_payload_tag), ops.front().tag, now});
        events.push_back({OTX_EVENT_OP, ops.front().op, ops.front().txid, 0, ops.front().tag, now, now});
        ops.pop_front();
        op_offered = false;
    }
    look_at_table();
}

void otx_engine::one_clock() {
    put_inputs();
    top.clk = 0;
    top.eval();
    look();
    top.clk = 1;
    top.eval();
    now++;
}

void otx_engine::start() {
    top.reset = 1;
    for (int i = 0; i < reset_clocks; i++) {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
    }
    top.reset = 0;
    for (int i = 0; i < start_clocks && !top.tx_ready; i++) one_clock();
}

bool otx_engine::holds(uint32_t until) const {
    return (!(until & OTX_UNTIL_ANSWERED) || waiting_count() == 0) && (!(until & OTX_UNTIL_WALKED) || !top.walking) &&
           (!(until & OTX_UNTIL_VISIBLE) || visible);
}

extern "C" {

otx_engine *otx_engine_open(const otx_engine_config *c) {
    if (c->min_latency < 1 || c->max_latency < c->min_latency || c->outstanding < 1 || c->stall_percent > 99)
        return nullptr;
    auto engine = std::make_unique<otx_engine>(*c);
    engine->start();
    return engine.release();
}

void otx_engine_close(otx_engine *e) { delete e; }
void otx_engine_ops(otx_engine *e, const otx_engine_op *ops, size_t count) {
    e->ops.insert(e->ops.end(), ops, ops + count);
}
void otx_engine_tx(otx_engine *e, uint8_t op, uint8_t txid) { e->txs.push_back({op, txid, 0}); }
void otx_engine_take_releases(otx_engine *e, int take) { e->take_releases = take != 0; }

size_t otx_engine_forget_ops(otx_engine *e) {
    const size_t before = e->ops.size();
    e->ops.resize(std::min<size_t>(before, e->op_offered));
    return before - e->ops.size();
}

int otx_engine_step(otx_engine *e, uint64_t clocks, uint32_t until) {
    e->visible = false;
    for (uint64_t i = 0; i < clocks && e->error.empty(); i++) {
        if (until && e->holds(until)) return 1;
        e->one_clock();
    }
    return until && e->error.empty() && e->holds(until);
}

size_t otx_engine_rsps(otx_engine *e, otx_engine_rsp *out, size_t max) { return take(e->rsps, out, max); }
size_t otx_engine_releases(otx_engine *e, otx_engine_release *out, size_t max) { return take(e->releases, out, max); }
size_t otx_engine_events(otx_engine *e, otx_engine_event *out, size_t max) { return take(e->events, out, max); }

uint32_t otx_engine_beats(const otx_engine *e) { return e->beats; }
uint64_t otx_engine_clock(const otx_engine *e) { return e->now; }
size_t otx_engine_waiting(const otx_engine *e) { return e->waiting_count(); }
int otx_engine_walking(const otx_engine *e) { return e->top.walking; }
uint32_t otx_engine_state(const otx_engine *e, uint8_t txid) { return state_of(e->top, txid); }
uint32_t otx_engine_count(const otx_engine *e, uint8_t txid) { return count_of(e->top, txid); }
uint32_t otx_engine_memory_errors(const otx_engine *e) { return e->top.memoryErrors; }
uint64_t otx_engine_accesses(const otx_engine *e) { return e->memory.accesses(); }
uint32_t otx_engine_get32(const otx_engine *e, uint32_t address) { return e->memory.get32(address); }
void otx_engine_put32(otx_engine *e, uint32_t address, uint32_t value) { e->memory.put32(address, value); }
const char *otx_engine_error(const otx_engine *e) { return e->error.c_str(); }
uint32_t otx_engine_lbas() { return OTX_LBAS; }
uint32_t otx_engine_tx_entries() { return OTX_TX_ENTRIES; }

uint32_t otx_engine_use(otx_engine *e, uint8_t txid) {
    e->top.useTxid = txid % 32;
    e->top.eval();
    return e->top.useCount;
}
}
