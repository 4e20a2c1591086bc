/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that a mount writes beside data and log: map, directories, wear, prepared transactions.
 *
 * They go round robin over the dies, each die with one open block; a drive of one die has two. Few pages go to few
 * dies: FTL_SLOT_PAGES to each, but to two. Blocks are taken and erased for all of them at once when all open ones
 * are full. A page that stands twice has its copies in different blocks (two-maps). A page whose program fails is
 * programmed again when nothing is in flight; its block becomes bad and gets no further page, what it holds stays until
 * the next mount. */
#ifndef FTL_WRITER_H
#define FTL_WRITER_H

#include "ftl.h"

#define FTL_WRITER_SLOTS FTL_MAX_DIES

struct ftl_write {
    uint32_t kind, number, frame; /* number: lpn of the OOB */
    uint32_t *ppn;                /* where the PPN goes */
    const uint32_t *other;        /* PPN of the other copy, or FTL_NO_PPN; NULL: the page stands once */
};

/* All zero at first but `sequence`, `pages_to_go` and `slots`. The blocks that it opens become f->map's. */
struct ftl_writer {
    uint64_t sequence;    /* OOB sequence of all pages but those of kind MAP, which have 0 */
    uint32_t pages_to_go; /* an estimate: no more blocks are opened at once */
    uint32_t slots;       /* ftl_mount_slots() of all pages */
    uint32_t next[FTL_WRITER_SLOTS], left[FTL_WRITER_SLOTS]; /* open blocks */
    uint32_t slot, tries;
    struct ftl_write flight[HAL_NAND_DEPTH], again[HAL_NAND_DEPTH]; /* in flight, in order; what failed */
    uint32_t put, got, fails;
};

/* Waits until an operation can begin. FTL_ERR_PROGRAM: too many programs have failed. */
FTL_MUST_CHECK enum ftl_error ftl_writer_room(struct ftl *f, struct ftl_writer *w);

/* Begins the program of a page; frame and words behind the pointers stay until ftl_writer_drain().
 * FTL_ERR_NO_BLOCK, FTL_ERR_PROGRAM: the page is not written. */
FTL_MUST_CHECK enum ftl_error ftl_writer_put(struct ftl *f, struct ftl_writer *w, const struct ftl_write *write);

/* The same for a page that stands twice: PPNs to *ppns and `apart` words behind that. write.ppn, write.other: not used.
 */
FTL_MUST_CHECK enum ftl_error ftl_writer_put_twice(struct ftl *f, struct ftl_writer *w, struct ftl_write write,
                                                   uint32_t *ppns, uint32_t apart);

/* Until all pages are written and their PPNs final. Errors as above. */
FTL_MUST_CHECK enum ftl_error ftl_writer_drain(struct ftl *f, struct ftl_writer *w);

/* After that: two open blocks are left to the copies of the map (f->map). */
void ftl_writer_leave(struct ftl *f, const struct ftl_writer *w);

#endif
