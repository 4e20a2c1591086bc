/* SPDX-License-Identifier: Apache-2.0 */
/* The commit log of the generation of f->old_root, from the root's first page on, as it is found on flash. Page numbers
 * and entry indexes are those of the generation.
 *
 * ftl_log_scan() walks it: page k has two copies, in any lanes, the pages of a lane have rising numbers and follow one
 * another in a block and then in the block that the header names as next. The lanes are merged: page k is the next one
 * of a lane that has it; its header names the place of the other copy, which that lane passes by then, read or not. A
 * page counts when one copy is whole and is a LOG page of this drive, generation and number; the log ends before the
 * first page that is in no lane. OOBs are probed several at a time, of all lanes, so that only pages that look right
 * are read, each once. Pages of a root before version 10 have one copy.
 * A page whose program failed was written again at the place after: (block, page + 1) from pages 0 to 2 of a block,
 * else page 0 of the next block. So a page that is not where it should be is looked for at FTL_LOG_PLACES places after
 * that: a page has four places, and the page before it may have been found at the first of its own four, which failed
 * but can be read; and a place that looks blank is left only when the one behind it does, too. A copy that failed is as
 * good as its successor. One that failed at four places is in another lane then, and says where its own goes on.
 * A page gets a place only when the one before it in its lane is complete and the page FTL_LOG_WINDOW before it stands
 * twice (before version 10: the page `lanes` before it is complete), and in order. So where a page is missing the log
 * ends, unless a page that is so many or more further on can be read: then the missing one was complete, and the log
 * has a gap (rule log-end). With one error in a page that was complete there is none (rule log-twice).
 * Each page is given to the caller as it is found, while the next ones are read: what is done with it then needs no
 * second reading. Afterwards any page can be had by number: the last ones, as many as there are free frames and no
 * more than FTL_LOG_HELD, are there, others are read again in runs of 16. A page of which no copy can be read again,
 * though each is asked for several times, has faded: it was cut in its program, or went bad. The caller scans once
 * more, and the log ends there or has its gap there. The PPNs of its copies are kept in the upper halves of the work
 * areas of txids 1 to 30, the lower halves are the replay's: room for 1.9 million pages. */
#ifndef FTL_LOG_H
#define FTL_LOG_H

#include "ftl.h"

#define FTL_LOG_RETRY_PAGE 3u /* a page that fails there or later goes to the next block */
#define FTL_LOG_PLACES 8u
#define FTL_LOG_HELD 256u

struct ftl_log {
    uint32_t limit;        /* given: no page from this one on counts; FTL_NO_LIMIT at first */
    uint32_t faded, again; /* the page that faded last, and how often */
    uint32_t base;         /* number of the first page: the root's */
    uint32_t pages;        /* number of the page after the last one */
    bool gap;              /* page `pages` was complete and cannot be read */
    /* pages behind the end, or in the gap, that were begun and of which no copy can be read: half of the places there
     * that cannot be, for a page with one good copy is missed by nobody. More if programs failed */
    uint32_t unread;
    uint32_t begun;     /* these places */
    uint32_t foreign;   /* those of them that are whole, and log pages of another drive */
    uint64_t entries;   /* index after the last entry */
    uint64_t watermark; /* the newest: all entries below it are complete */
    /* Reads of pages; each fills the next one of the pool's frames. Pages that may be in frames, and the low half of
     * the number of the read that has fetched each, by page number modulo FTL_LOG_HELD. */
    uint32_t reads, window, window_pages;
    uint16_t read_of[FTL_LOG_HELD];
};

#define FTL_NO_LIMIT 0xffffffffu

/* Called when one more page is in the log: its number is log->pages - 1. Operations may be in flight, so only pages
 * that ftl_log_has() may be looked at. An error ends the scan. */
typedef enum ftl_error ftl_log_taken(struct ftl *f, void *with);

/* All log blocks become BUSY. FTL_ERR_LOG: a page that counts contradicts itself; other errors are those of `taken`. */
FTL_MUST_CHECK enum ftl_error ftl_log_scan(struct ftl *f, struct ftl_log *log, ftl_log_taken *taken, void *with);

/* Whether page k is in a frame. */
bool ftl_log_has(const struct ftl *f, const struct ftl_log *log, uint32_t k);

/* The words of page k, base <= k < pages, good until the next call. Unless ftl_log_has(), no operation may be in
 * flight. FTL_ERR_FADED: it cannot be read any more, and log->limit is set for the next scan. */
FTL_MUST_CHECK enum ftl_error ftl_log_page(struct ftl *f, struct ftl_log *log, uint32_t k, const uint32_t **page);

static inline uint32_t ftl_log_count(const uint32_t *page) {
    return page[FTL_LOG_COUNT] >> FTL_LOG_COUNT_SHIFT & 0xffffu;
}

#endif
