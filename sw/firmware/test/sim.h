/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated NAND and machine behind hal.h.
 *
 * Illegal operations (a page programmed twice, out of order, in a block whose erase was cut, a block handed over that
 * is not erased) end the test. Operations wait in one queue per die and run in any order between dies. A power cut
 * keeps, tears or drops the first of each queue and drops the rest. A torn page reads with a CRC error, with its own
 * OOB, with noise, or looks blank; one that fades reads well a few times and then never again, and so may the pages of
 * a block whose erase was cut.
 * Faults: blocks bad from the factory, with a mark in one of three pages and anything in them; programs and erases that
 * fail, by share or as told. A page whose program failed may read well, or look blank. The firmware may not erase,
 * program or hand over a block with a mark, nor one that its table has named on NAND once (sim_learn). */
#ifndef SIM_H
#define SIM_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "ftl.h"
#include "ftl_mount.h"
#include "ftl_supply.h"

#define SIM_FRAMES 86u
#define SIM_FIFO 4u
#define SIM_BLOCKS 65536u
#define SIM_KINDS 10u /* of pages */

enum sim_state { SIM_BLANK, SIM_WHOLE, SIM_TORN, SIM_TORN_BLANK };

struct sim_page {
    enum sim_state state;
    uint32_t kind, generation, lpn, stamp; /* stamp: contents of a DATA page */
    uint32_t fades;                        /* 0: it does not; else the number of the read that fails first */
    /* a torn one: 0, it stays so; else the number of the read that is well again */
    uint32_t heals;
    uint64_t sequence;
    uint32_t words[FTL_PAGE_WORDS]; /* of all others */
};

struct sim_fifo {
    uint32_t block[SIM_FIFO], n;
};

struct sim_part {
    uint64_t id;
    bool onfi;
    uint8_t page[3 * FTL_PARAM_BYTES]; /* three copies of the parameter page */
};

struct sim {
    struct ftl_geometry g;
    uint32_t log_full;
    uint32_t generation, drive_id, dropped, lost_log_pages, doubtful;
    bool enabled, full, read_only;
    uint32_t prepared, entries[FTL_TXIDS]; /* hal_tx_prepared(): txids, one bit each; entries of their tables */
    struct sim_fifo data[FTL_MAX_DIES], lane[FTL_MAX_LANES];
    uint32_t count[HAL_OPS];                 /* operations done, by op */
    uint32_t programs[SIM_KINDS];            /* by kind */
    uint32_t ops, cut_at;                    /* operations done; the power fails before this one (0: never) */
    uint32_t fail_program_at, fail_erase_at; /* the n-th one fails */
    struct sim_part part;                    /* of all dies */
    uint32_t odd_die;                        /* 1 + this die has another ID, */
    uint32_t odd_page;                       /* or another parameter page: twice the blocks, */
    uint64_t dead;                           /* these dies do not answer: */
    bool dead_floats;                        /* ready, all bytes FFh, instead of TIMEOUT */
    uint64_t closed;                         /* these may not be erased or programmed, nor be given to the drive */
    bool ignores_mode;                       /* SET FEATURES changes nothing */
    bool keeps_mode;                         /* a part without SET FEATURES: its mode is what mode[] says for ever */
    uint32_t noisy_from;                     /* from this mode of the bus on IDs read wrong (0: never) */
    uint32_t bus_mode, capabilities, mode[FTL_MAX_DIES], level[FTL_MAX_DIES]; /* level: of reads */
    uint32_t fail_programs, fail_erases; /* so many of 1,000 fail; a block whose erase failed once fails for ever */
    uint32_t fail_blocks;                /* in so many of 1,000 blocks that are erased no program succeeds */
    uint32_t fail_next[SIM_KINDS];       /* so many of the next programs of a kind fail */
    uint32_t failed[SIM_KINDS], failed_erases; /* counted by kind; not forgotten at power on */
    bool fail_reads_well;                      /* pages that fail read well: all, not some */
    void (*on_verify)(uint32_t ppn);           /* called when a whole page was verified; NULL: nobody asks */
    void (*on_erase)(uint32_t block_id);       /* called before an erase; NULL: nobody asks */
    uint32_t fades_always;                     /* not 0: what a power cut leaves whole fades at this read */
    bool stays;                                /* what a power cut leaves whole does not fade */
    /* a move that was handed over waits: the log is short, or the rescue is busy */
    bool no_moves;
    bool log_once;                              /* log pages stand once, as a drive of format 9 has them */
    bool split;                                 /* firmware runs between the entries of a WRITE */
    bool log_rests;                             /* pages of the log wait, but for drive_finish_one() */
    bool cost_benefit;                          /* how victims are chosen */
    bool no_collect;                            /* blocks do not come back */
    uint32_t memory_errors;                     /* what hal_memory_errors() says */
    bool takes_nothing;                         /* the host takes no completions */
    uint32_t memory_bad;                        /* the so-manieth task of a mount meets an error of a memory; 0: none */
    uint32_t memory_hit;                        /* which kind of task it was */
    uint32_t map_stored;                        /* pages of the map that STORE has looked at */
    bool busy;                                  /* a command of the host is under way */
    uint32_t clocks, clocks_per_ask;            /* what hal_clocks() says, and how far it goes on when it is asked */
    uint32_t health[32], data_pages, log_pages; /* what hal_health() was told; counters of the hardware */
    uint32_t asked;                             /* what hal_asked() says */
    void (*on_cut)(void);                       /* called before a cut by cut_at tears what is under way */

    jmp_buf cut;
};

extern struct sim sim;
extern uint16_t sim_live[SIM_BLOCKS]; /* by block id: counts of live pages when the drive was enabled */
extern struct sim_page *sim_pages;    /* by PPN */
struct sim_block {
    uint8_t mark;     /* 1 + which of the three pages has the factory mark; 0: a good block */
    bool worn, never; /* erases fail; the firmware knows it as bad */
    uint8_t refuses;  /* so many of its next programs fail */
    uint32_t erases;
};
extern struct sim_block *sim_blocks; /* by block id */
extern uint8_t *sim_touched;         /* by block id: erased or programmed since power on */
extern int *sim_last;                /* by block id: last page programmed, -1 none, pages: may not be programmed */

#define CHECK(condition) ((condition) ? (void)0 : sim_fail(__FILE__, __LINE__, #condition))
_Noreturn void sim_fail(const char *file, int line, const char *what);

uint32_t sim_random(uint32_t below);
void sim_seed(uint64_t seed);

/* A new blank drive, of ONFI parts that fit and have all modes. */
void sim_new(uint32_t channels, uint32_t ways, uint32_t blocks, uint32_t pages, uint32_t lbas);
/* Of a blank drive: so many map pages have one directory. */
void sim_directories(uint32_t pages);
/* The parameter page again, three copies with a right CRC, after a change of bytes of the first one. */
void sim_part_seal(struct sim_part *part);
void sim_put(struct sim_part *part, uint32_t at, uint32_t bytes, uint32_t value);
/* So many of 1,000 blocks are bad from the factory, never the first block of all. On a blank drive. */
void sim_factory(uint32_t share);
void sim_mark_bad(uint32_t block_id);
/* What f's table says on NAND now may never be forgotten. */
void sim_learn(struct ftl *f);
/* Power: everything outside the NAND is lost. sim_power_cut() also tears what is under way. */
void sim_power_cut(void);
void sim_power_on(void);
extern unsigned long sim_cuts; /* how often sim_power_cut() was called since the start */
/* Mounts into *f (fresh). -1: the power was cut during it. */
int sim_mount(struct ftl *f);

/* The whole page of a kind after that one, NULL: after none; NULL: there is none. */
struct sim_page *sim_next(const struct sim_page *after, uint32_t kind);

/* One finished program, one torn, one that failed if it is due to; order and overwrite rules checked. */
struct sim_page *sim_program(uint32_t ppn, uint32_t kind, uint32_t lpn, uint64_t sequence);
bool sim_program_fails(uint32_t ppn, uint32_t kind);
void sim_spoil(struct sim_page *page);
void sim_tear(uint32_t ppn, uint32_t kind, uint32_t lpn, uint64_t sequence);
/* What a power cut may leave of a program that could have ended: a whole page, or one that fades. */
void sim_may_fade(struct sim_page *page);

/* sim_map.c. Whether a task of the hardware uses that frame; whether any is under way. */
void sim_map_power_on(void);
bool sim_map_uses(uint32_t frame);
bool sim_map_busy(void);
/* The engine has written something for this block. */
void sim_map_written(uint32_t lpn);

/* Every character of the report comes here. */
void sim_said(char c);

/* Copies of the NAND. */
struct sim_copy {
    struct sim_page *pages;
    int *last;
    struct sim_block *blocks;
};
struct sim_copy sim_save(void);
void sim_restore(const struct sim_copy *copy);
void sim_forget(struct sim_copy *copy);

#endif
