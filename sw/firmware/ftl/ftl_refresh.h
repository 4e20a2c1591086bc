/* SPDX-License-Identifier: Apache-2.0 */
/* The list of pages that the host has read, or the patrol verified, with many corrected bits. ftl_retire.c moves them
 * (there too: when, and which are left where they are).
 *
 * A page is in the list once; one that does not fit is forgotten, because its next read reports it again. With each
 * stands how far the log was when it was reported. */
#ifndef FTL_REFRESH_H
#define FTL_REFRESH_H

#include "ftl.h"

#define FTL_REFRESH_PAGES 16u

struct ftl_refresh {
    struct {
        uint32_t ppn;
        uint64_t head;
    } page[FTL_REFRESH_PAGES];
    uint32_t pages;
};

/* Takes one report of the drive, if there is one. */
void ftl_refresh_take(const struct ftl *f, struct ftl_refresh *r);

/* Whether there is a page, and all that was logged before its report is complete, by the log's watermark. */
bool ftl_refresh_ready(const struct ftl_refresh *r, uint64_t mark);

/* Forgets the oldest page; there must be one. */
void ftl_refresh_drop(struct ftl_refresh *r);

#endif
