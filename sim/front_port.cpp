// SPDX-License-Identifier: Apache-2.0
// The front end `port`: commands at the core's host port (otx_submit, otx_stop_data, otx_poll of otx_sim.h), their data
// and their completions.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <list>

#include "Votx_sim_top.h"
#include "front.h"
#include "otx_geometry.h"
#include "otx_sim.h"

namespace {

constexpr int beats = OTX_BLOCK / 8;

struct Slot {  // of a tag
    bool used = false;
    uint8_t *data = nullptr;
    uint32_t blocks = 0;
    uint32_t beats = UINT32_MAX;  // of a WRITE, that still come
    bool late = false;            // those that are missing come after its completion
};

bool is_tag(unsigned tag) { return tag < OTX_COMMANDS; }

struct Request {  // of a block of a WRITE
    uint8_t tag, block;
    uint16_t number;
    int beat;
    bool ended, forgotten;  // its command has completed: what comes for it is late; no more beats come
};

Slot slots[OTX_COMMANDS];
std::deque<otx_cmd> commands;
std::list<Request> requests;
const Request *offered;  // the one whose beat is at the port
int read_beat;
std::deque<otx_cpl> completions;
struct {  // what passes at the next edge
    bool cmd, wdata, request;
    Request wanted;
} edge;

void put_command(Votx_sim_top &top) {
    top.cmd_valid = !commands.empty();
    if (commands.empty()) return;
    const otx_cmd &c = commands.front();
    top.cmd_opcode = c.opcode;
    top.cmd_lba = c.lba;
    top.cmd_count = c.count;
    top.cmd_txid = c.txid;
    top.cmd_has_tx = c.has_tx;
    top.cmd_fua = c.fua;
    top.cmd_commit = c.commit;
    top.cmd_relaxed = c.relaxed;
    top.cmd_barrier = c.barrier;
    top.cmd_orderless = c.orderless;
    top.cmd_order = c.order;
    top.cmd_priority = c.priority;
    top.cmd_stream = c.stream;
    top.cmd_tag = c.tag;
    top.cmd_arg = c.arg;
}

// A beat of the oldest request whose host has not stopped; what is offered stays until it has passed.
void put_write_beat(Votx_sim_top &top) {
    if (!offered) {
        const auto goes = [](const Request &r) { return r.ended || slots[r.tag].beats; };
        const auto it = std::find_if(requests.begin(), requests.end(), goes);
        if (it != requests.end()) {
            offered = &*it;
            uint64_t word = ~uint64_t(0);
            const uint8_t *data = slots[it->tag].data;
            if (data && !it->ended) std::memcpy(&word, data + OTX_BLOCK * it->block + 8 * it->beat, 8);
            top.wdata_request = it->number;
            top.wdata_data = word;
            top.wdata_last = it->beat == beats - 1;
            top.wdata_error = 0;
        }
    }
    top.wdata_valid = offered != nullptr;
}

void write_beat_passed() {
    const auto it = std::find_if(requests.begin(), requests.end(), [](const Request &r) { return &r == offered; });
    offered = nullptr;
    if (!it->ended && slots[it->tag].beats != UINT32_MAX) slots[it->tag].beats--;
    if (++it->beat == beats || it->forgotten) requests.erase(it);
}

// The command has completed: a host forgets what it still wanted, or sends it late.
void end_requests(uint8_t tag, bool late) {
    for (Request &r : requests)
        if (r.tag == tag) r.ended = true, r.forgotten = !late;
    requests.remove_if([](const Request &r) { return r.forgotten && &r != offered; });
}

void take_read_beat(const Votx_sim_top &top) {
    Slot &slot = slots[top.rdata_tag];
    if (slot.data) {
        uint64_t word = top.rdata_data;
        std::memcpy(slot.data + OTX_BLOCK * top.rdata_block + 8 * read_beat, &word, 8);
    }
    if (top.rdata_last != (read_beat == beats - 1)) {
        std::fprintf(stderr, "host port: last is wrong at beat %d of a block\n", read_beat + 1);
        std::exit(70);
    }
    if (top.rdata_last) slot.blocks |= 1u << top.rdata_block;
    read_beat = top.rdata_last ? 0 : read_beat + 1;
}

void take_completion(const Votx_sim_top &top, uint64_t now) {
    Slot &slot = slots[top.cpl_tag];
    if (!slot.used) {
        std::fprintf(stderr, "host port: completion of tag %d, which has no command under way\n", top.cpl_tag);
        std::exit(70);
    }
    completions.push_back({uint8_t(top.cpl_tag), uint8_t(top.cpl_status), top.cpl_result, slot.blocks, now});
    end_requests(uint8_t(top.cpl_tag), slot.late);
    slot = Slot{};
}

// One command with nothing else under way; its result, -1 if it has not ended or is refused.
int64_t ask(uint8_t opcode, uint32_t arg, uint64_t end, void (*clock)()) {
    otx_cmd cmd = {};
    cmd.opcode = opcode;
    cmd.arg = arg;
    completions.clear();
    if (otx_submit(&cmd, nullptr)) return -1;
    while (otx_clock() < end && completions.empty()) clock();
    return completions.empty() || completions.front().status ? -1 : int64_t(completions.front().result);
}

// What is open is aborted, and a checkpoint is made, so that the next start has nothing to replay.
void checkpoint(uint64_t end, void (*clock)()) {
    constexpr uint64_t every = 5000;  // clocks between two questions
    ask(OTX_OP_RECOVER, 0, end, clock);
    ask(OTX_OP_FLUSH, 0, end, clock);
    const int64_t number = ask(OTX_OP_CHECKPOINT, 1, end, clock);
    while (number >= 0 && otx_clock() + every < end) {
        for (uint64_t next = otx_clock() + every; otx_clock() < next;) clock();
        if ((ask(OTX_OP_QUERY, OTX_QUERY_HEALTH + FTL_HEALTH_ASKED_CHECKPOINT, end, clock) & 0xff) == number) break;
    }
    while (otx_clock() < end && otx_busy()) clock();
}

}  // namespace

namespace otx::front {

void put(Votx_sim_top &top) {
    put_command(top);
    put_write_beat(top);
}

void look(const Votx_sim_top &top, uint64_t now) {
    edge.cmd = top.cmd_valid && top.cmd_ready, edge.wdata = top.wdata_valid && top.wdata_ready;
    if (top.rdata_valid) take_read_beat(top);
    if (top.cpl_valid) take_completion(top, now);
    edge.request = top.wdata_req_valid;
    edge.wanted = {
        uint8_t(top.wdata_req_tag), uint8_t(top.wdata_req_block), uint16_t(top.wdata_req_request), 0, false, false};
}

void passed() {
    if (edge.cmd) commands.pop_front();
    if (edge.wdata) write_beat_passed();
    if (edge.request) requests.push_back(edge.wanted);
}

void forget() {
    for (Slot &s : slots) s = Slot{};
    commands.clear();
    requests.clear();
    completions.clear();
    offered = nullptr;
    read_beat = 0;
}

void silence() { commands.clear(); }
int waiting() { return int(completions.size()); }
bool busy() {
    return !commands.empty() || std::any_of(slots, slots + OTX_COMMANDS, [](const Slot &s) { return s.used; });
}

bool power_down(uint64_t end, void (*clock)()) {
    const auto idle = [] { return !otx_busy(); };
    while (otx_clock() < end && slots[0].used) clock();
    ask(OTX_OP_FLUSH, 0, end, clock);
    while (otx_clock() < end && !idle()) clock();
    if (otx_clock() < end) checkpoint(end, clock);
    return idle();
}

}  // namespace otx::front

extern "C" {

int otx_submit(const otx_cmd *cmd, void *data) {
    if (!is_tag(cmd->tag) || slots[cmd->tag].used) return -1;
    slots[cmd->tag] = Slot{};
    slots[cmd->tag].used = true, slots[cmd->tag].data = static_cast<uint8_t *>(data);
    commands.push_back(*cmd);
    return 0;
}

void otx_stop_data(uint8_t tag, uint32_t count, int late) {
    if (!is_tag(tag) || !slots[tag].used) return;
    slots[tag].beats = count, slots[tag].late = late != 0;
}

int otx_poll(otx_cpl *cpl) {
    if (completions.empty()) return 0;
    *cpl = completions.front();
    completions.pop_front();
    return 1;
}
}
