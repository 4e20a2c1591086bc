/* SPDX-License-Identifier: Apache-2.0 */
/* printf as liblitedram uses it: %d and %x, with l, zero padding and a width of one digit; %s, %c, %%. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hal.h"

static int put(char c) {
    hal_putc(c);
    return 1;
}

static int put_number(uint32_t n, uint32_t base, uint32_t width, char fill) {
    char digits[12];
    uint32_t used = 0;
    int sent = 0;
    do {
        digits[used++] = "0123456789abcdef"[n % base];
        n /= base;
    } while (n != 0);
    for (uint32_t i = used; i < width; i++) sent += put(fill);
    while (used > 0) sent += put(digits[--used]);
    return sent;
}

int printf(const char *format, ...) {
    int sent = 0;
    va_list args;
    va_start(args, format);
    for (; *format != 0; format++) {
        if (*format != '%') {
            sent += put(*format);
            continue;
        }
        char fill = ' ';
        uint32_t width = 0;
        if (*++format == '0') fill = *format++;
        if (*format >= '1' && *format <= '9') width = (uint32_t)(*format++ - '0');
        if (*format == 'l') format++; /* long is 32 bits here */
        if (*format == 'd') {
            int n = va_arg(args, int);
            if (n < 0) sent += put('-');
            sent += put_number(n < 0 ? 0u - (uint32_t)n : (uint32_t)n, 10, width, fill);
        } else if (*format == 'x') {
            sent += put_number(va_arg(args, uint32_t), 16, width, fill);
        } else if (*format == 's') {
            for (const char *s = va_arg(args, const char *); *s != 0; s++) sent += put(*s);
        } else if (*format == 'c') {
            sent += put((char)va_arg(args, int));
        } else {
            sent += put(*format);
        }
    }
    va_end(args);
    return sent;
}
