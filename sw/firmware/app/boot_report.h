/* SPDX-License-Identifier: Apache-2.0 */
/* What a boot found, on the UART: plain words, one line each, beginning with "otx: ". */
#ifndef BOOT_REPORT_H
#define BOOT_REPORT_H

#include "ftl.h"

/* "otx: formatted" or nothing, each die that the drive was made without, how many blocks are bad or nothing, then "otx:
 * mounted generation ...", as the report says. */
void boot_report_mounted(const struct ftl_report *report);
/* "otx: nand Samsung K9F8G08U0M, its own times; lists multi-plane": part, timing mode, what it can do. */
void boot_report_part(const struct ftl_report *report);
/* An error of table memory has ended the checkpoints of this session. */
/* What the drive has done so far; nothing of a new one. */
void boot_report_health(const struct ftl_health *h, bool orderly);
void boot_report_memory(void);
/* Why the drive stays closed, or is opened read-only. */
void boot_report_error(enum ftl_error error, const struct ftl_report *report);

#endif
