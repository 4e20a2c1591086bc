/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions that are prepared: what a mount does with them (docs/decisions/026-prepared.md).
 *
 * A PREPARE record that counts makes its transaction PREPARED until its COMMIT or ABORT counts, over any number of
 * power cuts. The log in which its entries stand ends with its generation. So a mount writes them into pages of kind
 * PREPARED, twice, and its root names the first page. They stay until a root says that the log begins behind index 0:
 * no checkpoint has its start before the end of a transaction that is open, and one that a mount has brought back
 * begins at index 0 (TxFirst.scala). The log since the root moves what they name (RELOCATE), as it does with entries of
 * its own, and ends them. They share the map's blocks.
 *
 * In a new generation a transaction that was brought back is the first use of its txid: that is its serial.
 *
 * Page: records from word FTL_PREPARED_RECORD on, so many as its first word says, each of two words. {FTL_PREPARED_TX |
 * txid, entries}: the entries of that transaction follow, {lpn, map word NONE or NAND}, one for each LPN. Words 1 and
 * 2: PPNs of the next page in both copies, FTL_NO_PPN of the last one. OOB: PREPARED, lpn = page number, generation of
 * the root. */
#ifndef FTL_PREPARED_H
#define FTL_PREPARED_H

#include "ftl_replay_state.h"
#include "ftl_writer.h"

#define FTL_PREPARED_TX 0x80000000u

/* The transactions that f->old_root names, into the replay's state and lists; all that they name becomes BUSY.
 * FTL_ERR_MAP: neither copy of a page can be read, or it is not one. Nothing is in flight. */
FTL_MUST_CHECK enum ftl_error ftl_prepared_load(struct ftl *f, struct ftl_replay *r);

/* After the replay: f->prepared is what is prepared, one item for each LPN in its list (ftl_txlist.h). */
void ftl_prepared_keep(struct ftl *f, struct ftl_replay *r);

/* So many pages it writes. */
uint32_t ftl_prepared_pages_now(const struct ftl *f);

/* Writes f->prepared, if there is any, and puts the PPNs into the root; the blocks of data that it names become LIVE,
 * and those of the map with its pages are pinned (ftl_map_blocks.h).
 */
FTL_MUST_CHECK enum ftl_error ftl_prepared_store(struct ftl *f, struct ftl_root *root, struct ftl_writer *writer);

/* Before hal_enable(), when all words of the map are plain and the counts of pages are set: makes the lists tables and
 * chains of the hardware, and tells it. */
void ftl_prepared_open(struct ftl *f);

#endif
