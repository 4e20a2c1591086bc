// SPDX-License-Identifier: Apache-2.0
#include "page_code.h"

#include <algorithm>
#include <array>
#include <vector>

#include "otx_facts.h"

namespace otx {
namespace {

constexpr int data_bytes = OTX_BLOCK, chunk_bytes = 512, fields = OTX_FIELD_BYTES, parity_bytes = 13;
constexpr int m = 13, order = (1 << m) - 1, primitive = 0x201B, parity_bits = m * page_code_t;
static_assert(parity_bits == 8 * parity_bytes);
using Word = unsigned __int128;  // of the parity's bits, the highest power first
constexpr Word low = (Word(1) << parity_bits) - 1;

struct Field {
    std::array<uint16_t, 2 * order> exp{};
    std::array<uint16_t, order + 1> log{};

    Field() {
        int x = 1;
        for (int i = 0; i < order; i++) {
            exp[size_t(i)] = exp[size_t(i + order)] = uint16_t(x);
            log[size_t(x)] = uint16_t(i);
            x <<= 1;
            if (x > order) x ^= primitive;
        }
    }
    int times(int a, int b) const { return a && b ? exp[size_t(log[size_t(a)] + log[size_t(b)])] : 0; }
    int over(int a, int b) const { return a ? exp[size_t(log[size_t(a)] + order - log[size_t(b)])] : 0; }
    int power(int n) const { return exp[size_t(n % order)]; }
};
const Field gf;

// The product of the minimal polynomials of the powers 1, 3, ... 15, without its highest bit.
Word generator() {
    std::vector<int> g{1};  // lowest power first
    for (int odd = 1; odd < 2 * page_code_t; odd += 2) {
        int root = odd;
        for (int i = 0; i < m; i++, root = 2 * root % order) {
            std::vector<int> next(g.size() + 1);
            for (size_t k = 0; k < g.size(); k++) next[k + 1] ^= g[k], next[k] ^= gf.times(g[k], gf.power(root));
            g = next;
        }
    }
    Word bits = 0;
    for (int k = 0; k < parity_bits; k++) bits |= Word(g[size_t(k)]) << k;
    return bits;
}

const std::array<Word, 256> steps = [] {
    const Word g = generator();
    std::array<Word, 256> table{};
    for (size_t byte = 0; byte < 256; byte++) {
        Word r = Word(byte) << (parity_bits - 8);
        for (int bit = 0; bit < 8; bit++) r = (r >> (parity_bits - 1) & 1 ? r << 1 ^ g : r << 1) & low;
        table[byte] = r;
    }
    return table;
}();

int length(int chunk) { return chunk_bytes + (chunk == page_chunks - 1 ? fields : 0); }
int parity_at(int chunk) { return data_bytes + fields + parity_bytes * chunk; }

// The inverted parity that belongs to a chunk.
Word remainder(const uint8_t *page, int chunk) {
    Word r = 0;
    const uint8_t *bytes = page + chunk_bytes * chunk;
    for (int i = 0; i < length(chunk); i++)
        r = (r << 8 & low) ^ steps[(size_t(r >> (parity_bits - 8)) & 0xFF) ^ uint8_t(~bytes[i])];
    return r;
}

// The byte of the page that has the bit of power k of a chunk's word.
int byte_of(int chunk, int k) {
    return k < parity_bits ? parity_at(chunk) + parity_bytes - 1 - k / 8
                           : chunk_bytes * chunk + length(chunk) - 1 - (k - parity_bits) / 8;
}

// The error locator of the syndromes (Berlekamp, Massey), lowest power first; empty: more than T bits are wrong.
std::vector<int> locator(const std::array<int, 2 * page_code_t> &s) {
    std::vector<int> c{1}, b{1};
    int errors = 0, gap = 1, last = 1;
    for (int n = 0; n < 2 * page_code_t; n++) {
        int d = s[size_t(n)];
        for (int i = 1; i <= errors && i < int(c.size()); i++) d ^= gf.times(c[size_t(i)], s[size_t(n - i)]);
        if (!d) {
            gap++;
            continue;
        }
        const std::vector<int> old = c;
        const int factor = gf.over(d, last);
        c.resize(std::max(c.size(), b.size() + size_t(gap)));
        for (size_t i = 0; i < b.size(); i++) c[i + size_t(gap)] ^= gf.times(factor, b[i]);
        if (2 * errors > n) {
            gap++;
            continue;
        }
        errors = n + 1 - errors, b = old, last = d, gap = 1;
    }
    while (c.size() > 1 && !c.back()) c.pop_back();
    return errors <= page_code_t && int(c.size()) == errors + 1 ? c : std::vector<int>{};
}

}  // namespace

void page_encode(uint8_t *page) {
    for (int chunk = 0; chunk < page_chunks; chunk++) {
        const Word r = remainder(page, chunk);
        for (int i = 0; i < parity_bytes; i++) page[parity_at(chunk) + i] = uint8_t(~(r >> 8 * (parity_bytes - 1 - i)));
    }
}

int page_correct(uint8_t *page, int chunk) {
    Word wrong = 0;
    for (int i = 0; i < parity_bytes; i++) wrong = wrong << 8 | uint8_t(~page[parity_at(chunk) + i]);
    wrong ^= remainder(page, chunk);
    if (!wrong) return 0;
    std::array<int, 2 * page_code_t> s{};
    for (int k = 0; k < parity_bits; k++)
        for (int j = 0; wrong >> k & 1 && j < 2 * page_code_t; j++) s[size_t(j)] ^= gf.power((j + 1) * k);
    const std::vector<int> sigma = locator(s);
    std::vector<int> found;
    for (int k = 0, n = 8 * (length(chunk) + parity_bytes); !sigma.empty() && k < n; k++) {
        int sum = 0;
        for (size_t i = 0; i < sigma.size(); i++) sum ^= gf.times(sigma[i], gf.power(int(i) * (order - k)));
        if (!sum) found.push_back(k);
    }
    if (sigma.empty() || found.size() + 1 != sigma.size()) return -1;
    for (int k : found) page[byte_of(chunk, k)] ^= uint8_t(1 << k % 8);
    return int(found.size());
}

int page_zeroes(const uint8_t *page, int chunk, int most) {
    int zeroes = 0;
    const auto count = [&](const uint8_t *bytes, int n) {
        for (int i = 0; i < n && zeroes <= most; i++) zeroes += __builtin_popcount(uint8_t(~bytes[i]));
    };
    count(page + chunk_bytes * chunk, length(chunk));
    count(page + parity_at(chunk), parity_bytes);
    return zeroes;
}

}  // namespace otx
