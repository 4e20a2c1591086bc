/* SPDX-License-Identifier: Apache-2.0 */
#include "nvme_buffer.h"

void nvme_clear(void) {
    for (uint32_t word = 0; word < NVME_BUFFER_WORDS; word++) nvme_hal_put(word, 0);
}

static void put_byte(uint32_t at, uint32_t byte) {
    uint32_t shift = at % 4 * 8, kept = nvme_hal_get(at / 4) & ~(0xffu << shift);
    nvme_hal_put(at / 4, kept | (byte & 0xff) << shift);
}

void nvme_put(uint32_t at, uint32_t bytes, uint64_t value) {
    uint32_t half[2] = {(uint32_t)value, (uint32_t)(value >> 32)};
    for (uint32_t i = 0; i < bytes; i++) {
        if ((at + i) % 4 == 0 && i % 4 == 0 && bytes - i >= 4) {
            nvme_hal_put((at + i) / 4, half[i / 4]);
            i += 3;
        } else {
            put_byte(at + i, half[i / 4] >> i % 4 * 8);
        }
    }
}

void nvme_text(uint32_t at, uint32_t bytes, const char *text) {
    for (uint32_t i = 0; i < bytes; i++) {
        nvme_put(at + i, 1, *text ? (uint8_t)*text : ' ');
        if (*text) text++;
    }
}

void nvme_hex(uint32_t at, uint32_t number) {
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t digit = number >> (28 - 4 * i) & 15;
        nvme_put(at + i, 1, digit < 10 ? '0' + digit : 'a' + digit - 10);
    }
}
