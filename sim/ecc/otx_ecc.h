// SPDX-License-Identifier: Apache-2.0
// The ECC blocks of rtl/ecc as a C library: streams of bytes into one or two decoders that share a key equation, what
// they say out; and the encoder.
//
// A byte of a stream is a number: bits 7:0 the byte, 10:8 its chunk, bit 12 the first, bit 13 the last of its word.
// Clock numbers count from the start of a run.
// If a block breaks its contract, or nothing comes for a long time, `otx_ecc_run` returns 0 and `otx_ecc_error` says
// why.
#ifndef OTX_ECC_H
#define OTX_ECC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { OTX_ECC_CLEAN = 0, OTX_ECC_FIXED = 1, OTX_ECC_FAILED = 2, OTX_ECC_OPEN = 3 };

struct otx_ecc_result {
    uint8_t status, chunk, erased, hits;  // `hits`: bytes to correct
    uint32_t count;                       // bits to correct
    uint32_t ended, fixed;                // clocks of the last byte and of the last beat about it
    uint16_t byte[64];
    uint8_t mask[64];
};

typedef struct otx_ecc otx_ecc;

otx_ecc *otx_ecc_open(void);
void otx_ecc_close(otx_ecc *ecc);

// Parity of `bytes` bytes of data as chunk `chunk` (0 to 7), `parity_bytes` of it.
void otx_ecc_encode(otx_ecc *ecc, uint32_t chunk, const uint8_t *data, size_t bytes, uint8_t *parity,
                    size_t parity_bytes);
// All chunks of a page: byte by byte in the order of `stream`, whose bit 13 now marks a parity byte; what comes out
// replaces bits 7:0.
void otx_ecc_encode_stream(otx_ecc *ecc, uint16_t *stream, size_t bytes);

// Runs until all words of both streams are settled. In `gap` percent of the clocks a stream offers no byte, in `stall`
// percent `fix` is not taken. Returns the clocks; 0: error.
uint64_t otx_ecc_run(otx_ecc *ecc, const uint16_t *const streams[2], const size_t bytes[2], uint32_t gap,
                     uint32_t stall, uint64_t seed, struct otx_ecc_result *const results[2], const size_t words[2]);
uint64_t otx_ecc_waited(const otx_ecc *ecc);  // clocks of the last run in which a byte was offered and not taken
const char *otx_ecc_error(const otx_ecc *ecc);
uint32_t otx_ecc_users(void);

#ifdef __cplusplus
}
#endif
#endif
