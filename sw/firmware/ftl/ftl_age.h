/* SPDX-License-Identifier: Apache-2.0 */
/* How long ago a block was closed, for victims by benefit and cost (ftl_collect.h).
 *
 * The clock counts blocks that are closed, in units of 1/256 to 1/128 of the drive's blocks: an age says how often
 * hosts and collection have filled the drive since. A block's stamp is in its word of ftl_erases.h, modulo 2^11. Ages
 * stop at FTL_AGE_MOST (eight times or more the drive): the walk over all blocks (ftl_wear_step) comes by long before a
 * stamp seems young again. After a mount all blocks have that age: stamps do not survive. */
#ifndef FTL_AGE_H
#define FTL_AGE_H

#include "ftl_erases.h"

#define FTL_AGE_MOST 1024u

/* All blocks are of the most age. Before the first is closed. */
void ftl_age_init(struct ftl *f);
void ftl_age_close(struct ftl *f, uint32_t block_id);
/* 0 to FTL_AGE_MOST and a little more. */
uint32_t ftl_age_of(const struct ftl *f, uint32_t block_id);
/* A block's word: its age stops here. */
void ftl_age_stop(const struct ftl *f, uint32_t *word);

#endif
