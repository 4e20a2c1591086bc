/* SPDX-License-Identifier: Apache-2.0 */
/* The report on the UART: plain words, one line each, beginning with "otx: ". */
#ifndef SAY_H
#define SAY_H

#include "ftl.h"

/* Text as it is. */
void say(const char *text);
/* A number in decimal with commas: 4,501. */
void say_number(uint32_t n);

/* "otx: formatted" or nothing, each die that the drive was made without, how many blocks are bad or nothing, then "otx: mounted generation ...", as the report says. */
void say_mounted(const struct ftl_report *report);
/* "otx: nand Samsung K9F8G08U0M, its own times; lists multi-plane": part, timing mode, what it can do. */
void say_part(const struct ftl_report *report);
/* Why the drive stays closed, or is opened read-only. */
void say_error(enum ftl_error error, const struct ftl_report *report);

#endif
