/* SPDX-License-Identifier: Apache-2.0 */
/* The two functions that the compiler may call for copies and clears of structures. Built without turning loops back
 * into calls of them. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int byte, size_t n);

void *memcpy(void *to, const void *from, size_t n) {
    uint8_t *t = to;
    const uint8_t *s = from;
    if ((((uintptr_t)t | (uintptr_t)s | n) & 3u) == 0) {
        for (size_t i = 0; i < n / 4; i++) ((uint32_t *)to)[i] = ((const uint32_t *)from)[i];
        return to;
    }
    for (size_t i = 0; i < n; i++) t[i] = s[i];
    return to;
}

void *memset(void *to, int byte, size_t n) {
    uint8_t *t = to;
    if ((((uintptr_t)t | n) & 3u) == 0) {
        uint32_t word = (uint8_t)byte * 0x01010101u;
        for (uint32_t *w = to; w != (uint32_t *)(t + n); w++) *w = word;
        return to;
    }
    for (size_t i = 0; i < n; i++) t[i] = (uint8_t)byte;
    return to;
}
