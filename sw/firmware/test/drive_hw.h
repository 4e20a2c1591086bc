/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the running drive share: drive.c (log, commands), drive_map.c (the map while it runs), drive_fail.c
 * (programs that fail, moves). */
#ifndef DRIVE_HW_H
#define DRIVE_HW_H

#include "drive.h"

#define LOG_FLIGHT 4u
#define LOG_PLACES 4u /* of a copy in a lane */
#define LOG_KEPT 12u  /* log pages that writes leave alone (LogReserve.scala, with fewer transactions here) */
#define DATA_FLIGHT 256u
#define EVENTS 64u
#define WEAK 8u
#define NO_PAGE 0xffffffffu
#define NO_LANE FTL_MAX_LANES
#define PENDING 64u

struct log_copy {
    uint32_t ppn, lane, places; /* ppn NO_PAGE: it waits for a place, in `lane` NO_LANE for one in any lane */
    uint32_t leaves;            /* the lane that it has left, until it has a place in another one; else NO_LANE */
    bool done;
};

struct log_flight {
    struct log_copy copy[2];
    bool twin; /* the first places of both are in the headers of both, and none has left its lane */
    uint32_t number;
    uint64_t first, end, mark;
    uint32_t words[FTL_PAGE_WORDS];
};

struct data_flight {
    uint32_t ppn, lpn, value;
    uint64_t sequence, index;
    bool rescue; /* the new page of failed[0] */
};

struct drive_hw {
    struct ftl_entry entry[DRIVE_LOG];
    bool done[DRIVE_LOG], held[DRIVE_LOG];
    uint64_t head, closed, durable, watermark, sequence;
    uint64_t mark_read;    /* what the next hal_log_mark() answers */
    uint64_t durable_mark; /* the highest watermark of a durable log page */
    uint64_t note;         /* the log is to become durable up to here */
    bool note_waits;       /* then a note is appended */
    uint32_t pages;
    bool stopped;  /* a log page has failed in all its places */
    uint32_t left; /* copies that went to another lane */
    uint32_t page_clocks;
    struct log_flight flight[LOG_FLIGHT];
    uint32_t flights; /* in page order */
    struct {
        uint32_t block, next, page;
    } lane[FTL_MAX_LANES];
    uint32_t wish; /* lane of the next page, if it can take one */
    struct {
        uint32_t block, left;
    } open[FTL_MAX_DIES];
    uint32_t die;
    struct data_flight data[DATA_FLIGHT], failed[DATA_FLIGHT];
    uint32_t datas, fails;
    /* the rescue of failed[0]: its new page once it has one; the index of its RELOCATE once that is appended, plus one
     * */
    uint32_t rescue_ppn;
    uint64_t relocate;
    uint32_t event[EVENTS], events;
    uint32_t weak[WEAK], weaks; /* pages that the host has read with many corrected bits */
    struct {
        bool waits;
        uint32_t lpn, from, to;
        uint64_t sequence;
    } move, later[2]; /* soc/otx_core.py: a queue of two (MOVE_QUEUE) before the rescue */
    uint32_t laters;
    uint64_t group_end; /* behind the group whose entries are coming; at most `head`: there is none */
};
extern struct drive_hw hw;

bool log_is_short(void); /* what is left of it is for COMMIT, ABORT and FLUSH */
bool hw_page(uint32_t *ppn);
uint32_t drive_pages_left(void); /* erased pages that the hardware has */
void hw_advance(void);

/* drive_map.c: after a mount; a plain write or trim (NO_PAGE); in a transaction; its end; a page that is complete; who
 * holds `from`, which is complete or not, holds `to`. */
void map_start(void);
void map_plain(uint32_t lpn, uint32_t ppn);
void map_in_tx(uint32_t txid, uint32_t lpn, uint32_t ppn);
void map_commit(uint32_t txid, uint32_t serial);
void map_visible(uint32_t serial);
void map_abort(uint32_t txid);
void map_complete(uint32_t ppn);
bool map_swap(uint32_t lpn, bool complete, uint32_t from, uint32_t to);

uint32_t map_references(uint32_t block); /* versions that name pages of the block */
bool map_names(uint32_t ppn);
bool map_pending_of(uint32_t txid); /* of any use of the txid */
bool map_pending(uint32_t serial);  /* a COMMIT of it is not visible yet */
bool drive_open(uint32_t serial);   /* it is open */

/* drive_reads.c */
void reads_step(void); /* some reads begin, some end */
void note_step(void);
void reads_start(void);

/* drive_fail.c */
void fail_data(uint32_t i);             /* data[i] could not be programmed */
void fail_rescued(uint32_t i, bool ok); /* data[i], the rescue of failed[0], is programmed or not */
void fail_event(uint32_t ppn);
bool fail_step(void);        /* one step of the rescue or of a move; false: nothing to do */
bool fail_wants_close(void); /* a RELOCATE waits to be durable */

#endif
