/* SPDX-License-Identifier: Apache-2.0 */
#include "console.h"

#include "hal.h"

void console_text(const char *text) {
    for (; *text != 0; text++) hal_putc(*text);
}

void console_number(uint32_t n) {
    char digits[16];
    uint32_t used = 0, place = 0;
    do {
        if (place != 0 && place % 3 == 0) digits[used++] = ',';
        digits[used++] = (char)('0' + n % 10);
        n /= 10;
        place++;
    } while (n != 0);
    while (used > 0) hal_putc(digits[--used]);
}
