// SPDX-License-Identifier: Apache-2.0
// The words of the simulated memories (otx_sim_mem.sv): zero pages from the system, read through a pattern, so that a
// fresh memory is neither zero nor paid for.
// A model is built, used and destroyed by one thread; otx_mem_close_all gives the memories of a destroyed model back.
// otx_mem_keep keeps what they hold, otx_mem_restore brings it back. Tests of memory errors call otx_sim_mem_set_bad
// (AXI accesses to these bytes fail until it is called again or the power goes) and otx_sim_mem_put32 (another word at
// that address).
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace {
constexpr size_t page_bytes = 4096, page_words = page_bytes / 8;

struct Mem {
    uint64_t *words;
    size_t bytes;
    uint32_t base;
    std::vector<bool> written = std::vector<bool>((bytes + page_bytes - 1) / page_bytes);  // pages
    std::map<size_t, std::vector<uint64_t>> kept;                                          // by page
};
std::vector<Mem *> mems;
constexpr uint64_t pattern = 0xA55A'C33C'9669'0FF0;
uint32_t bad_from, bad_bytes;
}  // namespace

extern "C" {

void *otx_mem_open(long long bytes, int base) {
    void *words =
        mmap(nullptr, size_t(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (words == MAP_FAILED) {
        std::fprintf(stderr, "no room for a simulated memory of %lld bytes\n", bytes);
        std::exit(70);
    }
    mems.push_back(new Mem{static_cast<uint64_t *>(words), size_t(bytes), uint32_t(base)});
    return mems.back();
}

long long otx_mem_read(void *mem, int index) { return (long long)(static_cast<Mem *>(mem)->words[index] ^ pattern); }

void otx_mem_write(void *mem, int index, long long data, char strobes) {
    uint64_t mask = 0;
    for (int b = 0; b < 8; b++)
        if (strobes >> b & 1) mask |= UINT64_C(0xFF) << 8 * b;
    uint64_t &word = static_cast<Mem *>(mem)->words[index];
    static_cast<Mem *>(mem)->written[size_t(index) / page_words] = true;
    word = (word & ~mask) | ((uint64_t(data) ^ pattern) & mask);
}

int otx_mem_bad(int addr) { return uint32_t(addr) - bad_from < bad_bytes; }

void otx_sim_mem_set_bad(uint32_t from, uint32_t bytes) {
    bad_from = from;
    bad_bytes = bytes;
}

// The processor's accesses (sim/cpu); false: no memory has this address.
bool otx_mem_get32(uint32_t address, uint32_t *word) {
    for (Mem *m : mems)
        if (const uint32_t at = address - m->base; at < m->bytes)
            return *word = uint32_t(uint64_t(otx_mem_read(m, int(at >> 3))) >> (at & 4 ? 32 : 0)), true;
    return false;
}

bool otx_mem_put32(uint32_t address, uint32_t word, uint8_t lanes) {
    for (Mem *m : mems)
        if (const uint32_t at = address - m->base; at < m->bytes)
            return otx_mem_write(m, int(at >> 3), (long long)(uint64_t(word) << 32 | word), char(lanes << (at & 4))),
                   true;
    return false;
}

void otx_sim_mem_put32(uint32_t address, uint32_t value) { otx_mem_put32(address, value, 0xF); }

void otx_mem_keep() {
    for (Mem *m : mems) {
        m->kept.clear();
        for (size_t page = 0; page < m->written.size(); page++)
            if (m->written[page])
                m->kept[page].assign(m->words + page * page_words, m->words + (page + 1) * page_words);
    }
}

void otx_mem_restore() {
    otx_sim_mem_set_bad(0, 0);
    for (Mem *m : mems) {
        madvise(m->words, m->bytes, MADV_DONTNEED);
        m->written.assign(m->written.size(), false);
        for (const auto &[page, words] : m->kept) {
            std::copy(words.begin(), words.end(), m->words + page * page_words);
            m->written[page] = true;
        }
    }
}

void otx_mem_close_all() {
    otx_sim_mem_set_bad(0, 0);
    for (Mem *m : mems) {
        munmap(m->words, m->bytes);
        delete m;
    }
    mems.clear();
}
}
