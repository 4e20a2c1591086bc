/* SPDX-License-Identifier: Apache-2.0 */
/* What each open transaction of the log has written so far: (lpn, map word) in log order, until its COMMIT or ABORT.
 *
 * A list is in the lower half of its txid's work area, tx_slots items of two words. A transaction that writes a block
 * again and again logs more entries than that; when a list is full, items that a later one of the same LPN replaces are
 * dropped, by a hash table in the upper half of the work area of txid 0. A transaction has at most 60,000 different
 * LPNs, so a list of 65,536 never stays full. */
#ifndef FTL_TXLIST_H
#define FTL_TXLIST_H

#include "ftl.h"

struct ftl_txlist {
    uint32_t items[FTL_TXIDS];
};

/* FTL_ERR_LOG: more different LPNs than there are items. */
FTL_MUST_CHECK enum ftl_error ftl_txlist_add(const struct ftl *f, struct ftl_txlist *t, uint32_t txid, uint32_t lpn,
                                             uint32_t word);
/* The same for `n` blocks from `lpn` on that have no page any more. */
FTL_MUST_CHECK enum ftl_error ftl_txlist_trim(const struct ftl *f, struct ftl_txlist *t, uint32_t txid, uint32_t lpn,
                                              uint32_t n);
/* The last item of each LPN stays, in order. */
void ftl_txlist_compact(const struct ftl *f, struct ftl_txlist *t, uint32_t txid);
/* Writes a list into the map, in order, as words of the log's kind (ftl_map.h). */
void ftl_txlist_apply(const struct ftl_txlist *t, uint32_t txid);
/* In all lists: who holds `from` for `lpn` holds `to`. */
void ftl_txlist_relocate(struct ftl_txlist *t, uint32_t lpn, uint32_t from, uint32_t to);

#endif
