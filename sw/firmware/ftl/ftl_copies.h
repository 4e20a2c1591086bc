/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of pages whose program may have been cut (docs/architecture.md, rules of the mount: rewrite).
 *
 * A die runs the programs of data pages in the order of their log entries, one after the other, or FTL_IN_FLIGHT at
 * once on a part that can do that. So a page of which that many later ones of its die were begun had ended when power
 * failed. Only the last ones that were begun, FTL_IN_FLIGHT on each die, may fade: those that read well are read once
 * more, and the words of that read go to a fresh page, before anything counts them. The page of a RELOCATE was complete
 * before its entry was logged. */
#ifndef FTL_COPIES_H
#define FTL_COPIES_H

#include "ftl.h"

struct ftl_suspect {
    uint64_t index, sequence; /* of its log entry */
    uint32_t lpn, ppn, copy;  /* copy: FTL_NO_PPN, it has none */
    bool whole;               /* it read well */
};

struct ftl_copies {
    struct ftl_suspect last[FTL_MAX_DIES][FTL_MAX_IN_FLIGHT]; /* the last pages begun on a die, newest first */
    uint32_t count[FTL_MAX_DIES];
    uint32_t next, left; /* page for the next copy, and how many are left in its block */
    uint32_t failed;     /* programs */
};

/* The page of a MAP entry was begun. Called in log order. */
void ftl_copies_begun(const struct ftl *f, struct ftl_copies *c, const struct ftl_suspect *page);

/* Copies all that are whole; one that cannot be read any more is whole no longer. Blocks that the log names are BUSY;
 * nothing is in flight. FTL_ERR_NO_BLOCK, FTL_ERR_PROGRAM: there is no block for them, or too many programs failed. */
FTL_MUST_CHECK enum ftl_error ftl_copies_make(struct ftl *f, struct ftl_copies *c);

/* Where the page `ppn` of log entry `index` is from now on. */
uint32_t ftl_copies_place(const struct ftl *f, const struct ftl_copies *c, uint64_t index, uint32_t ppn);

#endif
