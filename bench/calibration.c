/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed piece of work by which machines compare: `steps` rounds, each of which needs the result of the one before, of
 * a few integer operations and a table look-up that stays in the first-level cache. Returns a number so that nothing
 * can be left out. */
#include <stdint.h>

#define WORDS 2048u

uint64_t otx_calibrate(uint64_t steps);

uint64_t otx_calibrate(uint64_t steps) {
    static uint64_t table[WORDS];
    uint64_t x = 0x9E3779B97F4A7C15u;
    for (uint64_t i = 0; i < steps; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x += table[x % WORDS];
        table[i % WORDS] = x;
    }
    return x;
}
