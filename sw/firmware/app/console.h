/* SPDX-License-Identifier: Apache-2.0 */
/* Text and numbers on the UART, by hal_putc(). */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

/* Text as it is. */
void console_text(const char *text);
/* A number in decimal with commas: 4,501. */
void console_number(uint32_t n);

#endif
