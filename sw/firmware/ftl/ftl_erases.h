/* SPDX-License-Identifier: Apache-2.0 */
/* How often each block was erased: a word per block in the firmware's own frames, blocks of die 0, die 1, ... ftl_io.h
 * counts; ftl_wear.h says where the words survive and what they are for. */
#ifndef FTL_ERASES_H
#define FTL_ERASES_H

#include "ftl.h"

/* Frames, and pages on NAND. */
uint32_t ftl_erases_pages(const struct ftl_geometry *g);
/* All counts 0, in the frames from this one on. */
void ftl_erases_init(struct ftl *f, uint32_t first_frame);
/* The word of a block; those of a die follow one another. */
uint32_t *ftl_erases(const struct ftl *f, uint32_t die, uint32_t block);
uint32_t ftl_erases_of(const struct ftl *f, uint32_t block_id);

#endif
