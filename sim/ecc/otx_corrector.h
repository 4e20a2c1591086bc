// SPDX-License-Identifier: Apache-2.0
// otx_nand_corrector of the drive, for one channel, as a C library: remainders of chunks in, wrong bits out.
#ifndef OTX_CORRECTOR_H
#define OTX_CORRECTOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// ECC_T: parameter T of the block, 8 or 24
enum { OTX_CORRECTABLE = ECC_T, OTX_REMAINDER_BYTES = ECC_T == 24 ? 42 : 13 };

struct otx_corrected {
    uint8_t failed, hits, count, reserved;  // `hits`: beats before the last one
    uint32_t clocks;                        // from the last beat of `ask` to the last of `fix`
    uint32_t sum;                           // effect on the CRC register
    uint16_t byte[OTX_CORRECTABLE];
    uint8_t mask[OTX_CORRECTABLE];
};

// Asks for `words` chunks one after the other: `remainders` has OTX_REMAINDER_BYTES for each, `chunks` their numbers.
// In `stall` percent of the clocks (0 to 99) `fix` is not taken.
// Returns how many were answered; fewer than `words` when there are more than OTX_CORRECTABLE beats about one, or
// nothing comes for 4,000 clocks. One caller at a time.
size_t otx_corrector_run(const uint8_t *remainders, const uint8_t *chunks, size_t words, uint32_t stall, uint64_t seed,
                         struct otx_corrected *results);

#ifdef __cplusplus
}
#endif
#endif
