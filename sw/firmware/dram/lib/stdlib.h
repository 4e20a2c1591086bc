/* SPDX-License-Identifier: Apache-2.0 */
/* Included by liblitedram, which takes nothing from it. */
#ifndef STDLIB_H
#define STDLIB_H
#endif
