// SPDX-License-Identifier: Apache-2.0
// Whether the state of a block has changed with the last clock (otx_rest.sv). The state is what Verilator keeps in the
// classes of the block and of those below it; rest_blocks.h, which rest.py writes, names them.
//
// A block that works is compared every now and then only: again after 1, 2, 4, then 8 clocks.
#include "rest.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "otx_sim.h"
#include "rest_blocks.h"

namespace {

constexpr uint64_t longest = 8;  // clocks between two looks

struct Block {
    std::vector<std::pair<const char *, size_t>> parts;
    std::vector<char> kept;  // them, at clock `at`
    uint64_t at = 0, next = 0, wait = 0;
    bool known = false;

    bool same() const {
        const char *old = kept.data();
        for (const auto &[part, size] : parts) {
            if (std::memcmp(part, old, size)) return false;
            old += size;
        }
        return true;
    }
    void keep(uint64_t now) {
        char *copy = kept.data();
        for (const auto &[part, size] : parts) std::memcpy(copy, part, size), copy += size;
        at = now, known = true;
    }
};

Block blocks[std::max(otx_rest_blocks, 1)];
bool allowed = true;
uint64_t rests;

struct Collect {
    template <class Class>
    void operator()(int id, const Class *of) {
        const char *begin = reinterpret_cast<const char *>(of);
        blocks[id].parts.emplace_back(begin, reinterpret_cast<const char *>(&of->vlSymsp) - begin);
    }
};

}  // namespace

namespace otx {

void rest_forget() {
    for (Block &b : blocks) b.known = false, b.next = b.wait = 0;
}

void rest_open(const Votx_sim_top &top) {
    for (Block &b : blocks) b = Block{};
    otx_rest_parts(*top.rootp, Collect{});
    for (Block &b : blocks) {
        size_t size = 0;
        for (const auto &part : b.parts) size += part.second;
        b.kept.resize(size);
    }
}

}  // namespace otx

extern "C" {

void otx_rest(int allow) { allowed = allow != 0; }
uint64_t otx_rests() { return rests; }

unsigned char otx_rest_changed(int id) {
    Block &b = blocks[id];
    const uint64_t now = otx_clock();
    if (now < b.next || !allowed) return true;
    if (!b.known || b.at + 1 != now) return b.keep(now), true;
    if (b.same()) return b.known = false, b.wait = 0, rests++, false;
    b.known = false;
    b.wait = std::clamp<uint64_t>(2 * b.wait, 1, longest);
    b.next = now + b.wait;
    return true;
}
}
