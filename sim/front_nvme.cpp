// SPDX-License-Identifier: Apache-2.0
// The front end `nvme`: otx_nvme_sim.h at the ports of otx_nvme's transport (docs/interfaces/nvme.md).
//
// A read of host memory is answered `latency` clocks after it was asked for, at the earliest, with what is there then;
// eight may be open. One of bytes that nobody has ends with an error. A write is in host memory when its last beat has
// come. One beat each clock.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "Votx_sim_top.h"
#include "front.h"
#include "otx_nvme_sim.h"

namespace {

constexpr uint64_t latency = 24;
constexpr size_t open_reads = 8;

struct Access {
    bool write;
    uint32_t address;
    uint64_t data;
    uint8_t mask;
};
struct Read {
    uint64_t address;
    uint32_t length, done;
    uint64_t ready;                // clock
    std::vector<uint8_t> fetched;  // the whole of it, if otx_host_elsewhere's function gave it
    bool failed;                   // nobody has all of it
};
struct Write {
    uint64_t address;
    uint32_t length;
    bool message;
    std::vector<uint8_t> bytes;  // that have come
};
struct Region {
    uint64_t address, size;
    uint8_t *memory;
};
struct Message {
    uint64_t address;
    uint32_t data;
};

std::vector<Region> regions;
int (*elsewhere)(void *user, uint64_t address, void *bytes, uint32_t size, int write);
void *elsewhere_user;
uint64_t faults, seen, clock_now, held_from, held_bytes;
bool msix_enable, msix_mask, function_reset, active;
bool master = true;  // the host lets the drive reach its memory
std::deque<Access> accesses;
std::deque<uint64_t> answers;
std::deque<Read> reads;
std::deque<Write> writes;
std::deque<Message> messages;
struct {  // what passes at the next edge
    bool access, read, read_data, write, write_data, write_last, message;
    uint64_t read_address, write_address, beat;
    uint32_t read_length, write_length;
} edge;

// The memory at that address; nullptr: not all of it is mapped.
uint8_t *memory_at(uint64_t address, uint64_t size) {
    if (!master) return nullptr;
    for (const Region &r : regions)
        if (address >= r.address && size <= r.size && address - r.address <= r.size - size)
            return r.memory + (address - r.address);
    return nullptr;
}

// Bytes that are not mapped; false: nobody has them.
bool access_elsewhere(uint64_t address, uint8_t *bytes, uint32_t size, bool write) {
    if (!master) return false;
    if (elsewhere && !elsewhere(elsewhere_user, address, bytes, size, write)) return true;
    faults++;
    return false;
}

uint32_t beat_bytes(uint32_t length, uint32_t done) { return length - done < 8 ? length - done : 8; }

bool held(const Read &r) { return r.address < held_from + held_bytes && r.address + r.length > held_from; }

void put_read_data(Votx_sim_top &top) {
    top.dma_read_data_valid = !reads.empty() && reads.front().ready <= clock_now && !held(reads.front());
    if (!top.dma_read_data_valid) return;
    Read &r = reads.front();
    const uint32_t n = beat_bytes(r.length, r.done);
    uint64_t word = 0;
    const uint8_t *from = memory_at(r.address + r.done, n);
    if (!from) {
        if (r.fetched.empty()) {
            r.fetched.resize(r.length, 0xff);
            r.failed = !access_elsewhere(r.address + r.done, r.fetched.data() + r.done, r.length - r.done, false);
        }
        from = r.fetched.data() + r.done;
    }
    std::memcpy(&word, from, n);
    top.dma_read_data_data = word;
    top.dma_read_data_last = r.done + n == r.length;
    top.dma_read_data_error = top.dma_read_data_last && r.failed;
}

void finish_write(Write &w) {
    if (w.message) {
        uint32_t data;
        std::memcpy(&data, w.bytes.data(), 4);
        if (master) messages.push_back({w.address, data});
    } else if (uint8_t *to = memory_at(w.address, w.length)) {
        std::memcpy(to, w.bytes.data(), w.length);
    } else {
        access_elsewhere(w.address, w.bytes.data(), w.length, true);
    }
}

[[noreturn]] void wrong(const char *words) {
    std::fprintf(stderr, "transport: %s\n", words);
    std::exit(70);
}

// Both addresses and lengths are what docs/interfaces/nvme.md allows.
void check(uint64_t address, uint32_t length) {
    if (address % 4 || length % 4 || length < 4 || address % 4096 + length > 4096)
        wrong("a transfer that may not be so");
}

}  // namespace

namespace otx::front {

void put(Votx_sim_top &top) {
    top.bar_req_valid = !accesses.empty();
    if (!accesses.empty()) {
        const Access &a = accesses.front();
        top.bar_req_write = a.write;
        top.bar_req_address = uint16_t(a.address);
        top.bar_req_data = a.data;
        top.bar_req_mask = a.mask;
    }
    top.dma_read_ready = reads.size() < open_reads;
    put_read_data(top);
    top.dma_write_ready = writes.size() < open_reads;
    top.dma_write_data_ready = !writes.empty();
    top.msix_enable = msix_enable, top.msix_mask = msix_mask, top.function_reset = function_reset;
}

void look(const Votx_sim_top &top, uint64_t now) {
    clock_now = now;
    active = top.active;
    edge.access = top.bar_req_valid && top.bar_req_ready;
    if (top.bar_rsp_valid) answers.push_back(top.bar_rsp_data);
    edge.read = top.dma_read_valid && top.dma_read_ready;
    edge.read_address = top.dma_read_address, edge.read_length = top.dma_read_length;
    edge.read_data = top.dma_read_data_valid && top.dma_read_data_ready;
    edge.write = top.dma_write_valid && top.dma_write_ready;
    edge.write_address = top.dma_write_address, edge.write_length = top.dma_write_length;
    edge.message = top.dma_write_message;
    edge.write_data = top.dma_write_data_valid && top.dma_write_data_ready;
    edge.beat = top.dma_write_data_data, edge.write_last = top.dma_write_data_last;
    if (edge.access || edge.read || edge.read_data || edge.write || edge.write_data) seen = now;
}

void passed() {
    function_reset = false;
    if (edge.access) accesses.pop_front();
    if (edge.read_data) {
        Read &r = reads.front();
        r.done += beat_bytes(r.length, r.done);
        if (r.done == r.length) reads.pop_front();
    }
    if (edge.read) {
        check(edge.read_address, edge.read_length);
        reads.push_back({edge.read_address, edge.read_length, 0, clock_now + latency, {}, false});
    }
    if (edge.write_data) {
        Write &w = writes.front();
        const auto *from = reinterpret_cast<const uint8_t *>(&edge.beat);
        w.bytes.insert(w.bytes.end(), from, from + beat_bytes(w.length, uint32_t(w.bytes.size())));
        if (edge.write_last != (w.bytes.size() == w.length)) wrong("last is wrong in a write");
        if (edge.write_last) finish_write(w), writes.pop_front();
    }
    if (edge.write) {
        check(edge.write_address, edge.write_length);
        writes.push_back({edge.write_address, edge.write_length, edge.message, {}});
    }
}

void forget() {
    accesses.clear(), answers.clear(), reads.clear(), writes.clear(), messages.clear();
    msix_enable = msix_mask = function_reset = false;
    seen = clock_now = held_bytes = 0;
}

void silence() { accesses.clear(); }
int waiting() { return int(answers.size() + messages.size()); }
bool busy() { return otx_host_active(); }

// A host shuts the controller down by CC.SHN before: what it has not, is a power cut.
bool power_down(uint64_t, void (*)()) { return !otx_busy(); }

}  // namespace otx::front

extern "C" {

void otx_bar_write(uint32_t address, uint64_t data, uint8_t mask) {
    accesses.push_back({true, address & 0x3ff8, data, mask});
}
void otx_bar_read(uint32_t address) { accesses.push_back({false, address & 0x3ff8, 0, 0}); }

int otx_bar_answer(uint64_t *data) {
    if (answers.empty()) return 0;
    *data = answers.front();
    answers.pop_front();
    return 1;
}

void otx_host_map(uint64_t address, void *memory, uint64_t size) {
    regions.push_back({address, size, static_cast<uint8_t *>(memory)});
}
void otx_host_unmap() { regions.clear(); }
void otx_host_elsewhere(int (*access)(void *, uint64_t, void *, uint32_t, int), void *user) {
    elsewhere = access, elsewhere_user = user;
}
void otx_host_hold(uint64_t address, uint64_t size) { held_from = address, held_bytes = size; }
uint64_t otx_host_faults() { return faults; }

int otx_host_message(uint64_t *address, uint32_t *data) {
    if (messages.empty()) return 0;
    *address = messages.front().address, *data = messages.front().data;
    messages.pop_front();
    return 1;
}

void otx_msix_control(int enable, int mask) { msix_enable = enable != 0, msix_mask = mask != 0; }
void otx_host_master(int enabled) { master = enabled != 0; }
void otx_function_reset() { function_reset = true, accesses.clear(); }
uint64_t otx_host_seen() { return seen; }
int otx_host_active() { return active || !accesses.empty() || !reads.empty() || !writes.empty(); }
}
