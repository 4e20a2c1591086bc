/* SPDX-License-Identifier: Apache-2.0 */
/* The geometry of a drive and the arithmetic of block ids and PPNs (docs/interfaces.md, "Geometry and numbers"). */
#ifndef FTL_GEOMETRY_H
#define FTL_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "ftl_format.h"

#define FTL_MAX_DIES 64u

struct ftl_geometry {
    /* given */
    uint32_t channels, ways, blocks, pages, lbas; /* blocks per way, pages per block */
    uint32_t frames, firmware_frames;             /* all frames; the last ones are the firmware's for good */
    uint32_t tx_slots;                            /* 16-byte slots of a txid's work area, a power of two */
    uint32_t lane_blocks;                         /* that a lane of the log has in the hardware */
    /* of the part whose own times the controller has; five bytes, first one lowest */
    uint64_t nand_id;
    uint32_t nand_modes; /* bit m: SDR timing mode m may be used on this board */
    /* cache operations may be used; planes that may program and erase together, 1: each block alone */
    uint32_t cache_ops, planes;
    uint32_t read_retries; /* read levels that are tried beyond level 0, at most 7 */
    uint32_t spare_bytes;  /* of a page that the controller uses */
    /* an idle drive looks at a page for wrong bits every so many clocks; 0: never */
    uint32_t patrol_clocks;
    uint32_t checkpoint_pages; /* a checkpoint is made when the log is so many pages long */
    uint32_t idle_dies;    /* 1: some dies stay without an erase, one of them with a lane of the log (ftl_supply.h) */
    uint32_t missing_dies; /* so many dies may be absent when the drive is formatted */
    /* derived by ftl_geometry_init */
    uint32_t dies, lanes, way_bits, block_bits, page_bits, map_pages, directories;
    /* found by the mount (ftl_dies.h) */
    uint64_t out; /* bit per die: it is absent, or the drive was made without it; nobody operates it */
};

void ftl_geometry_init(struct ftl_geometry *g);

/* Block id of block `block` of die `die`. */
uint32_t ftl_block_id(const struct ftl_geometry *g, uint32_t die, uint32_t block);
/* First page of a block. */
uint32_t ftl_first_ppn(const struct ftl_geometry *g, uint32_t block_id);
uint32_t ftl_die_of(const struct ftl_geometry *g, uint32_t block_id);
/* Whether a set of dies, one bit each, has this one. No 64-bit shift by a variable, which would need libgcc. */
static inline bool ftl_dies_has(uint64_t set, uint32_t die) {
    return ((uint32_t)(die < 32 ? set : set >> 32) >> (die & 31u) & 1u) != 0;
}
static inline bool ftl_die_is_out(const struct ftl_geometry *g, uint32_t die) { return ftl_dies_has(g->out, die); }
uint32_t ftl_block_of(const struct ftl_geometry *g, uint32_t block_id);
/* Whether this drive has such a block. What comes from flash is asked here before it is used. */
bool ftl_block_exists(const struct ftl_geometry *g, uint32_t block_id);

/* How many dies a set has. */
uint32_t ftl_dies_count(uint64_t set);
/* How many dies are not out. */
uint32_t ftl_dies_used(const struct ftl_geometry *g);
/* The first of them; g->dies: there is none. */
uint32_t ftl_dies_first(const struct ftl_geometry *g);

/* Pages that a mount writes (ftl_writer.h): how many blocks are open at once for so many, and how many are opened in
 * all, if no program fails. */
#define FTL_SLOT_PAGES 8u
uint32_t ftl_mount_slots(const struct ftl_geometry *g, uint32_t pages);
uint32_t ftl_mount_blocks(const struct ftl_geometry *g, uint32_t pages);

/* Programs of a die that may be under way at once. */
#define FTL_IN_FLIGHT(g) ((g)->cache_ops || (g)->planes > 1 ? 2u : 1u)
#define FTL_MAX_IN_FLIGHT 2u

/* Pages whose program a cut can leave begun: each may need a copy (ftl_copies.h). */
static inline uint32_t ftl_copies_pages(const struct ftl_geometry *g) { return g->dies * FTL_IN_FLIGHT(g); }

/* Pages of prepared transactions (ftl_prepared.h): records of two words from this word on, each page twice. */
#define FTL_PREPARED_RECORD 4u
#define FTL_PREPARED_RECORDS ((FTL_PAGE_WORDS - FTL_PREPARED_RECORD) / 2u)
#define FTL_PREPARED_COPIES 2u

/* How many such pages a mount writes if as many entries are prepared as hardware allows. */
static inline uint32_t ftl_prepared_pages(const struct ftl_geometry *g) {
    uint32_t entries = g->tx_slots < g->lbas ? g->tx_slots : g->lbas;
    return FTL_PREPARED_COPIES * ((entries + FTL_TXIDS + FTL_PREPARED_RECORDS - 1) / FTL_PREPARED_RECORDS);
}

#endif
