/* SPDX-License-Identifier: Apache-2.0 */
/* The on-flash records, as 32-bit little-endian words of a 4,096-byte page. The 64-bit words of docs/interfaces.md are
 * two of them, low half first. The CRC of a page is in its OOB and is the NAND channel's business: a page is whole when
 * it reads with status OK.
 *
 * Root page: which drive, which generation, where map and log begin. It stands twice. OOB: ROOT, lpn = page within the
 * anchor, sequence = root sequence.
 *
 * Seal page: says by being there that the root before it in its anchor is complete; its words mean nothing. OOB: SEAL,
 * sequence = the root's.
 *
 * Directory page: PPNs of 512 map pages, of the first copy and of the second one in turn. It stands twice. OOB:
 * DIRECTORY, lpn = directory number, sequence = sequence of the root that first named it: later ones name it, too, as
 * long as none of its map pages is written anew. So they do with map pages.
 *
 * Map page: 1,024 map words (NONE or NAND). It stands twice. OOB: MAP, lpn = map page number, sequence = its position:
 * index of the next log entry when a checkpoint read its words from table memory; 0: a mount wrote it.
 *
 * Log page: header and up to OTX_LOG_ENTRIES entries. It stands twice; the header names both places. The members of a
 * group follow one another in one page. OOB: LOG, lpn = page number, sequence 0.
 *
 * Data page: 4,096 bytes of one LPN. OOB: DATA, lpn, sequence of its log entry. Every OOB carries the generation it was
 * written in.
 *
 * Prepared page: entries of transactions that were prepared when a mount wrote it (ftl_prepared.h). OOB: PREPARED,
 * lpn = page number.
 *
 * Wear page: erases of 1,024 blocks, a word each: blocks of die 0, die 1, ... FTL_WEAR_OPEN beside those of a block
 * that was open, or erased and waiting, when the page was written. OOB: WEAR, lpn = which 1,024 blocks, sequence =
 * sequence of the root that first named it.
 *
 * Table page: bad blocks, one bit each: words of die 0, die 1, ..., (blocks per way + 31) / 32 words per die. OOB: BBT,
 * lpn = which 1,024 of these words, sequence = version of the table. */
#ifndef FTL_FORMAT_H
#define FTL_FORMAT_H

#include <stdint.h>

#include "otx_facts.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "pages are moved as words: the processor must be little endian");

#define FTL_PAGE_BYTES ((uint32_t)OTX_BLOCK)
#define FTL_PAGE_WORDS (FTL_PAGE_BYTES / 4)
#define FTL_NO_PPN 0xffffffffu /* in a directory: all blocks of that map page are NONE; in a root: no such block */

/* Map word: kind above, value below. On flash only NONE and NAND occur; VER in table memory, while the drive runs. */
#define FTL_WORD(kind, value) ((uint32_t)(kind) << OTX_WORD_VALUE_BITS | (value))
#define FTL_WORD_NONE FTL_WORD(FTL_WORD_KIND_NONE, 0u)
#define FTL_WORD_NAND(ppn) FTL_WORD(FTL_WORD_KIND_NAND, ppn)
#define FTL_WORD_KIND(w) ((w) >> OTX_WORD_VALUE_BITS)
#define FTL_WORD_VALUE(w) ((w) & ((1u << OTX_WORD_VALUE_BITS) - 1))

/* Root page: where each field is, in words: otx_facts.h.
 * Versions. 10: all pages of the map are of one age; 9: log pages stand once; 8: map pages and directories stand once,
 * and a directory has 1,024 PPNs; 7: no prepared transactions; 6: no wear pages; 5: roots stand once; 4: map pages have
 * the sequence of the directory and no position; 3: the log begins at page 0, index 0 (these words were 0). All are
 * taken as they are. 2: no seals, up to six roots of which the newest counts; 1: two anchors, data in the other blocks
 * that are anchors now */
#define FTL_ROOT_VERSION ((uint32_t)OTX_FORMAT_ROOT)
#define FTL_ROOT_OLDEST ((uint32_t)OTX_FORMAT_ROOT_OLDEST)
#define FTL_MAX_LANES ((uint32_t)OTX_MAX_LANES)
#define FTL_MAX_DIRECTORIES 256u
#define FTL_MAP_COPIES 2u                                     /* of a map page, and of a directory */
#ifndef FTL_DIRECTORY_PAGES                                   /* host tests have fewer */
#define FTL_DIRECTORY_PAGES (FTL_PAGE_WORDS / FTL_MAP_COPIES) /* map pages of a directory */
#endif
#define FTL_MAX_WEAR_PAGES 256u
#define FTL_WEAR_OPEN 0x80000000u
#define FTL_ROOT_COPY (FTL_ROOT_SECOND - FTL_ROOT_DIRECTORY) /* from a directory's PPN to that of its copy */
#define FTL_DOUBTFUL 32u
_Static_assert(FTL_ROOT_WEAR + FTL_MAX_WEAR_PAGES <= FTL_ROOT_UNITS && FTL_ROOT_UNITS == FTL_PAGE_WORDS,
               "a root fits in one page");
_Static_assert(FTL_ROOT_DOUBTFUL_LPN + FTL_DOUBTFUL <= FTL_ROOT_LOG_PAGE &&
                   FTL_ROOT_DIRECTORY + FTL_MAX_DIRECTORIES <= FTL_ROOT_LANE_NEXT &&
                   FTL_ROOT_PREPARED + 2 <= FTL_ROOT_SECOND &&
                   FTL_ROOT_SECOND + FTL_MAX_DIRECTORIES <= FTL_ROOT_PAGES_DONE,
               "a root fits in one page");

/* Log page: header, then entries. Where each field is: otx_facts.h. */
#define FTL_LOG_ENTRIES ((uint32_t)OTX_LOG_ENTRIES)
#define FTL_LOG_COPIES 2u
#define FTL_SHARED 11u    /* the first version of a root whose map pages are of various ages */
#define FTL_LOG_TWICE 10u /* the first version of a root whose log pages stand twice */
/* A log page begins when the one so many pages before it stands twice (LogPages.scala). */
#define FTL_LOG_WINDOW(lanes) (((lanes) + 1u) / 2u)
#define FTL_LOG_ENTRY FTL_LOG_UNITS /* the first one's word */
#define FTL_ENTRY_WORDS FTL_ENTRY_UNITS
_Static_assert(FTL_LOG_ENTRY + FTL_LOG_ENTRIES * FTL_ENTRY_WORDS == FTL_PAGE_WORDS, "header and entries are one page");

#define FTL_TXIDS ((uint32_t)OTX_TXIDS)
#define FTL_FIRST_USE(txid) (FTL_TXIDS | (txid)) /* the serial of the first transaction of a txid in a generation */
#define FTL_WATERMARK_RING 2048u /* entries past a watermark are fewer than this (the hardware's ring is 1,024) */

/* Accessors: two words as one number. */
static inline uint64_t ftl_get48(const uint32_t *page, uint32_t word) {
    return (uint64_t)page[word] | (uint64_t)page[word + 1] << 32;
}

static inline void ftl_put48(uint32_t *page, uint32_t word, uint64_t value) {
    page[word] = (uint32_t)value;
    page[word + 1] = (uint32_t)(value >> 32);
}

/* A log entry, unpacked. */
struct ftl_entry {
    uint32_t kind, flags, n, i, lpn, location, serial, epoch, arg;
    uint64_t sequence;
};

static inline void ftl_entry_unpack(const uint32_t *w, struct ftl_entry *e) {
    e->kind = w[FTL_ENTRY_KIND] >> FTL_ENTRY_KIND_SHIFT & 0xffu;
    e->flags = w[FTL_ENTRY_FLAGS] >> FTL_ENTRY_FLAGS_SHIFT & 0xffu;
    e->n = w[FTL_ENTRY_N] >> FTL_ENTRY_N_SHIFT & 0xffu;
    e->i = w[FTL_ENTRY_I] >> FTL_ENTRY_I_SHIFT & 0xffu;
    e->lpn = w[FTL_ENTRY_LPN];
    e->location = w[FTL_ENTRY_LOCATION];
    e->serial = w[FTL_ENTRY_SERIAL];
    e->sequence = ftl_get48(w, FTL_ENTRY_SEQUENCE) & 0xffffffffffffull;
    e->epoch = w[FTL_ENTRY_EPOCH];
    e->arg = w[FTL_ENTRY_ARG];
}

static inline void ftl_entry_pack(uint32_t *w, const struct ftl_entry *e) {
    w[FTL_ENTRY_KIND] = e->kind << FTL_ENTRY_KIND_SHIFT | e->flags << FTL_ENTRY_FLAGS_SHIFT |
                        e->n << FTL_ENTRY_N_SHIFT | e->i << FTL_ENTRY_I_SHIFT;
    w[FTL_ENTRY_LPN] = e->lpn;
    w[FTL_ENTRY_LOCATION] = e->location;
    w[FTL_ENTRY_SERIAL] = e->serial;
    ftl_put48(w, FTL_ENTRY_SEQUENCE, e->sequence);
    w[FTL_ENTRY_EPOCH] = e->epoch;
    w[FTL_ENTRY_ARG] = e->arg;
}

#endif
