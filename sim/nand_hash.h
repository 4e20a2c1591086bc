// SPDX-License-Identifier: Apache-2.0
// Random numbers that are functions of what they are drawn for, so that they are the same in every process.

#ifndef OTX_NAND_HASH_H
#define OTX_NAND_HASH_H

#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace otx {

inline uint64_t mixed(uint64_t z) {  // splitmix64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

// The numbers that belong to a seed and what is drawn for, in order.
class Draws {
  public:
    Draws(uint64_t seed, std::initializer_list<uint64_t> what) : state_(mixed(seed ^ 0x6A09E667F3BCC909u)) {
        for (uint64_t w : what) state_ = mixed(state_ + 0x9E3779B97F4A7C15u * (w + 1));
    }

    uint64_t next() { return mixed(state_ += 0x9E3779B97F4A7C15u); }
    uint64_t below(uint64_t n) { return (next() >> 16) % n; }
    bool ppm(uint32_t share) { return below(1'000'000) < share; }

    // 64 bits, each 1 with probability p / 2^64: compares 64 random numbers with p, bit after bit, until all are
    // decided.
    uint64_t bits(uint64_t p) {
        uint64_t ones = 0, undecided = ~uint64_t(0);
        for (int bit = 63; bit >= 0 && undecided; bit--) {
            const uint64_t r = next();
            if (p >> bit & 1) ones |= undecided & ~r;
            undecided &= p >> bit & 1 ? r : ~r;
        }
        return ones;
    }

    // Flips each bit of `bytes` with probability p / 2^64, but none of byte `spared`. Returns how many.
    uint64_t flip(uint8_t *bytes, size_t count, uint64_t p, size_t spared = SIZE_MAX) {
        uint64_t flipped = 0;
        for (size_t at = 0; at < count; at += 8) {
            uint64_t ones = bits(p);
            for (size_t i = at; ones && i < at + 8 && i < count; i++, ones >>= 8) {
                if (i == spared) continue;
                bytes[i] ^= uint8_t(ones);
                flipped += uint64_t(__builtin_popcount(uint8_t(ones)));
            }
        }
        return flipped;
    }

  private:
    uint64_t state_;
};

}  // namespace otx

#endif
