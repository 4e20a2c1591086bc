/* SPDX-License-Identifier: Apache-2.0 */
/* What liblitedram needs of the C library; ../print.c. */
#ifndef STDIO_H
#define STDIO_H

int printf(const char *format, ...) __attribute__((__format__(__printf__, 1, 2)));

#endif
