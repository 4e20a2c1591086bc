/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated NAND and machine behind hal.h.
 *
 * Illegal operations (a page programmed twice, out of order, in a block whose erase was cut, a block handed over that is not erased) end the
 * test. Operations wait in one queue per die and run in any order between dies. A power cut keeps, tears or drops the first of each queue and drops
 * the rest. A torn page reads with a CRC error, with its own OOB, with noise, or looks blank. */
#ifndef SIM_H
#define SIM_H

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "ftl.h"
#include "ftl_mount.h"
#include "ftl_supply.h"

#define SIM_MAX_PAGES 8192u
#define SIM_FRAMES 80u
#define SIM_FIFO 4u

enum sim_state { SIM_BLANK, SIM_WHOLE, SIM_TORN, SIM_TORN_BLANK };

struct sim_page {
    enum sim_state state;
    uint32_t kind, generation, lpn, stamp; /* stamp: contents of a DATA page */
    uint64_t sequence;
    uint32_t words[FTL_PAGE_WORDS]; /* of all others */
};

struct sim_fifo {
    uint32_t block[SIM_FIFO], n;
};

struct sim {
    struct ftl_geometry g;
    uint32_t generation, drive_id, dropped;
    bool enabled, full;
    struct sim_fifo data[FTL_MAX_DIES], lane[FTL_MAX_LANES];
    uint32_t count[HAL_STATUS + 1]; /* operations done, by op */
    uint32_t programs[8];           /* by kind */
    uint32_t ops, cut_at;           /* operations done; the power fails before this one (0: never) */
    uint32_t fail_program_at, fail_erase_at; /* the n-th one fails */
    bool wrong_id;
    jmp_buf cut;
};

extern struct sim sim;
extern struct sim_page *sim_pages; /* by PPN */
extern int *sim_last;              /* by block id: last page programmed, -1 none, pages: may not be programmed */

#define CHECK(condition) ((condition) ? (void)0 : sim_fail(__FILE__, __LINE__, #condition))
_Noreturn void sim_fail(const char *file, int line, const char *what);

uint32_t sim_random(uint32_t below);
void sim_seed(uint64_t seed);

/* A new blank drive. */
void sim_new(uint32_t channels, uint32_t ways, uint32_t blocks, uint32_t pages, uint32_t lbas);
/* Power: everything outside the NAND is lost. sim_power_cut() also tears what is under way. */
void sim_power_cut(void);
void sim_power_on(void);
/* Mounts into *f (fresh). -1: the power was cut during it. */
int sim_mount(struct ftl *f);

/* One finished program, one torn; order and overwrite rules checked. */
struct sim_page *sim_program(uint32_t ppn, uint32_t kind, uint32_t lpn, uint64_t sequence);
void sim_tear(uint32_t ppn, uint32_t kind, uint32_t lpn, uint64_t sequence);

/* Copies of the NAND. */
struct sim_copy {
    struct sim_page *pages;
    int *last;
};
struct sim_copy sim_save(void);
void sim_restore(const struct sim_copy *copy);
void sim_forget(struct sim_copy *copy);

#endif
