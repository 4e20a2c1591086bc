/* SPDX-License-Identifier: Apache-2.0 */
/* What the FTL needs from a machine: NAND operations, two memories, block hand-over, a few control words, a character
 * output.
 *
 * hal_otx.c is the target; test/sim.c and test/drive*.c are a simulated drive. One caller, no interrupts.
 * NAND: operations of one die run in the order they were started, dies run at the same time; every started operation
 * has exactly one done record, in any order between dies. PROGRAM reads and READ fills the frame between start and
 * done; after done the frame's words are seen.
 * PROGRAM writes the generation given last with hal_generation() into the OOB.
 * At most HAL_NAND_DEPTH operations are started and not yet collected; then hal_nand_start must not be called. */
#ifndef HAL_H
#define HAL_H

#include <stdbool.h>
#include <stdint.h>

#include "otx_facts.h"

#define HAL_NAND_DEPTH 16u

struct ftl_lost;

struct hal_nand_op {
    enum hal_op op;
    uint32_t ppn; /* of any page of the block for ERASE, of the die for what is no page's */
    uint32_t frame;
    /* OOB of PROGRAM; kind: address of READ_ID, or of a feature, whose four bytes are lpn, also in the done record */
    uint32_t kind, lpn;
    uint64_t sequence;
    uint32_t cookie; /* comes back in the done record */
};

struct hal_nand_done {
    uint32_t cookie, status, kind, generation, lpn;
    uint64_t sequence;
};

/* Starts an operation. False: not now, call again. */
bool hal_nand_start(const struct hal_nand_op *op);
/* Takes one done record. False: there is none. */
bool hal_nand_done(struct hal_nand_done *done);

/* The 1,024 words of a frame; the map, one word per LPN; the work area of a txid, tx_slots * 4 words, free until
 * hal_enable(). */
#ifdef HAL_FIXED_MEMORIES
#include "hal_memories.h"
#else
uint32_t *hal_frame(uint32_t frame);
uint32_t *hal_map(void);
uint32_t *hal_tx_area(uint32_t txid);
#endif

/* Erased blocks for the drive. Room: bit per die or lane, set when one more fits. */
uint64_t hal_data_room(void);
void hal_data_block(uint32_t block_id);
/* Pages of these blocks that hosts have not got yet. Each block of a WRITE costs so many clocks, in which no other
 * WRITE goes; 0: no limit. At most HAL_PAGE_CLOCKS. */
#define HAL_PAGE_CLOCKS 0xfffffu
uint32_t hal_alloc_left(void);
void hal_page_clocks(uint32_t clocks);
/* What is asked of the collector (ftl_collect.h): victims by benefit and cost, else those with the fewest live pages.
 */
bool hal_cost_benefit(void);
uint32_t hal_log_room(void);
void hal_log_block(uint32_t lane, uint32_t block_id);

/* SDR timing mode of all channels: 0 to 5, or 6, the times the controller was built with. Nothing is in flight. */
void hal_nand_mode(uint32_t mode);
/* What all channels may use of the part (docs/interfaces.md, "NAND channel"): bit 0 cache program, 1 cache read, 2
 * several planes, 3 status by 78h, 4 to 6 how many read levels are tried. Nothing is in flight. */
void hal_nand_capabilities(uint32_t capabilities);

/* Control. hal_enable() opens the drive for commands and lets the log take blocks; it is never closed again.
 * hal_read_only(), before that: it will take no writes, and needs no blocks. */
void hal_generation(uint32_t generation);
/* Which drive this is, and what its recovery could not bring back (struct ftl_lost of ftl.h): QUERY answers it. */
void hal_identity(uint32_t drive_id, const struct ftl_lost *lost);
void hal_enable(void);
void hal_read_only(void);
void hal_full(bool full);
/* No further block will come for the log lanes whose bits are set. */
void hal_log_full(uint32_t lanes);

/* Failing blocks (docs/decisions/011-failing-nand.md). hal_bad_block: looks at the oldest event "a program of the
 * running drive failed in this block"; false:
 * there is none. hal_bad_block_taken: takes it; before that hal_full(false), if the drive is to get a block for it. */
bool hal_bad_block(uint32_t *block_id);
void hal_bad_block_taken(void);
/* The index that the next log entry gets; the watermark: every entry below it is complete; one that stands in a durable
 * log page, and before which nothing waits in the write buffer (spinal BufferTurn). */
uint64_t hal_log_head(void);
uint64_t hal_log_mark(void);
uint64_t hal_log_durable_mark(void);
/* An index: when the durable watermark has come to it, all that is logged or in the write buffer now is durable and
 * complete. `beyond`: by how much it is beyond the log's head; a note brings the watermark there when hal_log_mark()
 * has come to that head. */
uint64_t hal_log_fence(uint32_t *beyond);
/* False: each entry below the head that was read before is durable and complete. */
bool hal_log_dirty(void);
/* Appends an entry that means nothing and wants the log durable past it, so that the durable watermark comes up though
 * nobody writes. With `urgent` also when the log is short: at most FTL_URGENT_NOTES between two blocks for it; one
 * that waits is urgent then, too. False: not now. */
bool hal_log_note(bool urgent);
/* A page was copied from old_ppn to new_ppn, programmed with that LPN and sequence: RELOCATE is logged and whoever
 * holds the old one gets the new one. One at a time; room: one more fits. */
bool hal_relocate_room(void);
/* Whether a page that was handed over has not found its place in the log and in the map yet. */
bool hal_moving(void);
/* The same, but for pages that wait only because the log is short: the log may have it. */
bool hal_move_logged(void);
/* Whether a page that could not be programmed waits for another place, and no erased page is left. */
bool hal_page_wanted(void);
void hal_relocate(uint32_t lpn, uint32_t old_ppn, uint32_t new_ppn, uint64_t sequence);

/* Where the log goes on: the next page that has no place yet, the index of its first entry, and for each lane the place
 * of the lane's next page. All earlier entries are in earlier pages; one of these that fails later is placed again in
 * its lane, so the page may be found some places further, or in the lane's block after that one. */
struct hal_log_place {
    uint32_t page;
    uint64_t first;
    struct {
        uint32_t block, page;
    } lane[4];
};
void hal_log_place(struct hal_log_place *place);
/* The index of the first log entry of a txid's present use; false: the txid is FREE, or has none. */
bool hal_tx_first(uint32_t txid, uint64_t *index);
/* Before hal_enable(): a txid is PREPARED, in its first use, with so many entries; its table (work area: entries of
 * four words, lpn, location, next, flags) and the chains in the map are there. hal_tx_first() says index 0 of it. */
void hal_tx_prepared(uint32_t txid, uint32_t entries);
/* The committed version of a block, as a map word of kind NONE, NAND or BUF. NONE also after an error of table memory.
 */
uint32_t hal_lookup(uint32_t lpn);
/* Errors of table memory in this session: what it says of some blocks may not be what was written there. */
uint32_t hal_memory_errors(void);

/* Pages of a block that are in use or may come into use: named by the map or a version, or handed out for data and not
 * known to be dead. What changed some clocks ago is in it. */
uint32_t hal_live(uint32_t block_id);
/* Which of its pages these are, of the 32 from page 32 * word on, one bit each. A page that is not among them is named
 * by nobody; with hal_live_set() all are. */
uint32_t hal_live_pages(uint32_t block_id, uint32_t word);
/* The same at the start: before hal_enable(), for each block once. */
void hal_live_set(uint32_t block_id, uint32_t pages);
/* Which of the 32 blocks from this one on have live pages, one bit each: the question, and its answer when it is there.
 */
void hal_live_scan(uint32_t block_id);
uint32_t hal_live_mask(void);

/* Before hal_enable(): starts what the hardware does with a page of the map, or with entries `first` to `end` - 1 of
 * the log page in a frame (spinal/.../data/MapPages.scala); `frame` of FILL: so many pages more, behind that one. One
 * at a time: it waits for the one before. Until that has ended, neither the frame nor the map may be touched.
 * hal_map_wait() waits for the last one and says how it went. */
struct hal_map_task {
    enum hal_map_op op;
    uint32_t frame, page, first, end;
};
struct hal_map_state {
    bool bad; /* LOAD: a word that may not be there; or a memory has answered with an error */
    bool any; /* a word of the page is not NONE */
    uint32_t stop;
};
void hal_map_start(const struct hal_map_task *task);
struct hal_map_state hal_map_wait(void);

/* Which of the 32 pages of the map from page 32 * group on may have changed, one bit each: something was written for a
 * block of theirs, in the map or in tables, and stands in memory (spinal/.../data/MapChanged.scala). With `take` they
 * count as unchanged from then on: who takes the bit first and reads the page then misses nothing. After power on bits
 * are as they happen to be. hal_map_touch(): before hal_enable(), a page counts as changed. */
uint32_t hal_map_changed(uint32_t group, bool take);
void hal_map_touch(uint32_t page);

/* Reads that begin from now on are new; only when !hal_reads_old(). Old: a read that found its page before the last
 * turn is under way. */
void hal_reads_turn(void);
bool hal_reads_old(void);

/* Takes the oldest report "the host has read this page, or it was verified, with many corrected bits"; false: there is
 * none. A page may be reported more than once, and some reports are lost; the next read of such a page reports it
 * again. */
bool hal_weak_page(uint32_t *ppn);

/* Whether the log has stopped: nothing more becomes durable in this session. */
bool hal_fault(void);

/* Clocks that have passed, modulo 2^32. Whether a command of the host is under way, or anything else that the drive
 * does by itself. */
uint32_t hal_clocks(void);
bool hal_busy(void);

/* The last CHECKPOINT of the host: bits 7:0 how many there were, bit 8 its `arg`. */
uint32_t hal_asked(void);

/* A word of the drive's health: QUERY answers it. */
void hal_health(enum ftl_health_word index, uint32_t word);
/* Pages sent to NAND for hosts, pages of the log that are programmed, both copies counted, in this session, modulo
 * 2^32; reads with corrected bits, with many. */
uint32_t hal_data_pages(void);
uint32_t hal_log_pages(void);
uint32_t hal_corrected_reads(void);
uint32_t hal_weak_reads(void);

/* A number for a drive that is formatted now. */
uint32_t hal_new_drive_id(void);

/* One character of the report. */
void hal_putc(char c);

#endif
