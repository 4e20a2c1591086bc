/* SPDX-License-Identifier: Apache-2.0 */
/* The pages on NAND that the newest root names: map pages and directories. */
#ifndef MAP_PAGES_H
#define MAP_PAGES_H

#include "drive.h"

/* Copy 0 or 1 of the n-th page of kind MAP or DIRECTORY that is there. NULL: there are not so many. */
struct sim_page *map_page_named(uint32_t kind, uint32_t n, uint32_t copy);

/* Checks that all of them are whole, each copy like the other and in another block. Returns how many pages stand twice.
 */
uint32_t map_pages_stand_twice(void);

/* Checks that firmware knows how many of them each block holds, wear pages among them, and that the map has no other
 * blocks but open ones and pinned ones. Not beside a checkpoint. */
void map_blocks_are_counted(void);
/* How many of them this block holds. */
uint32_t named_pages(uint32_t block_id);

/* Makes them what format 8 has: the first copies only. */
void map_becomes_format_8(void);

/* A random one of them cannot be read from now on; false: there is none. And can again, if it was not erased since. */
bool map_page_goes_bad(void);
void map_page_heals(void);

#endif
