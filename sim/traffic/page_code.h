// SPDX-License-Identifier: Apache-2.0
// The code of a page (docs/ecc.md, T = 8): eight chunks of 512 bytes, the last one with spare bytes 0 to 23; of each
// 104 parity bits that correct up to 8 wrong ones, data and parity inverted.

#ifndef OTX_PAGE_CODE_H
#define OTX_PAGE_CODE_H

#include <cstdint>

namespace otx {

constexpr int page_chunks = 8, page_code_t = 8;

// Puts the parity of a page where it belongs. `page`: its data and 128 spare bytes.
void page_encode(uint8_t *page);

// Corrects a chunk, data and parity; how many bits were wrong, or -1: it cannot be corrected and stays as it is.
int page_correct(uint8_t *page, int chunk);

// Bits of a chunk and its parity that are 0, at most `most` + 1 are counted.
int page_zeroes(const uint8_t *page, int chunk, int most);

}  // namespace otx

#endif
