/* SPDX-License-Identifier: Apache-2.0 */
/* Recovery: from the log to the map, by the rules of docs/architecture.md.
 *
 * 1. The log is scanned (ftl_log.h). Entries below the newest watermark are complete and are applied as they come,
 * while the next pages are read: plain ones to the map, by hardware (hal_map_start), those of a transaction to its
 * list, which a COMMIT applies and an ABORT forgets. A watermark of any page is true, so the last one needs not be
 * known. Rule epoch-issue keeps later epochs above any entry that can still be dropped.
 * 2. The rest (the tail, at most FTL_WATERMARK_RING entries) is judged first: VERIFY of each named page, on all dies at
 *    the same time; a page that failed counts when the RELOCATE that stands in for it does; a plain group counts when
 *    all its members do; a COMMIT counts when as many entries of its serial are there as it says and all count; so does
 * a PREPARE. `bad epoch` is the lowest one in which an order-preserving group or a COMMIT was dropped.
 * 3. Then the tail is applied like the rest, without what was dropped, without order-preserving entries of epochs above
 *    the bad one, and without all COMMITs behind the first that does not count.
 * A PREPARE that counts needs no other transaction. It makes its transaction PREPARED until a COMMIT or ABORT of it
 * counts; a COMMIT that does not count leaves it PREPARED, and then later entries of its txid mean nothing: hardware
 * had seen that COMMIT, nobody else had (ftl_prepared.h). The COMMIT of a PREPARED one needs no entries.
 * Pages whose program may have been cut are copied before they count (ftl_copies.h). Blocks that any entry names become
 * BUSY. Nothing else is programmed, and only other anchors are erased (ftl_root_alone): a replay that is cut is done
 * again. Without copies, on a drive that will be read-only, such pages count as they read. */
#ifndef FTL_REPLAY_H
#define FTL_REPLAY_H

#include "ftl.h"
#include "ftl_log.h"

/* Reads the log and applies it to the map: what it has set are words of the log's kind (ftl_map.h). Without `write`,
 * and when the log has a gap, nothing is copied: for a drive that will take no writes. *lost: adds plain commands,
 * TRIMs and COMMITs that the log has and the map has not, and doubtful blocks. FTL_ERR_LOG: the log holds what cannot
 * be. FTL_ERR_MEMORY: table memory has failed. FTL_ERR_FADED: map and log are to be read once more. FTL_ERR_NO_BLOCK,
 * FTL_ERR_PROGRAM: copies cannot be made, and the log is not applied. */
FTL_MUST_CHECK enum ftl_error ftl_replay(struct ftl *f, struct ftl_log *log, bool write, struct ftl_lost *lost);

#endif
