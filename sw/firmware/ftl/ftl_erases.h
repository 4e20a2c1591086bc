/* SPDX-License-Identifier: Apache-2.0 */
/* A word per block in the firmware's own frames, blocks of die 0, die 1, ...: bits 19:0 how often it was erased
 * (ftl_io.h counts; a block does not live for that many), bits 30:20 when it was closed (ftl_age.h). ftl_wear.h says
 * where the counts survive and what they are for. */
#ifndef FTL_ERASES_H
#define FTL_ERASES_H

#include "ftl.h"

#define FTL_ERASES_BITS 20u
#define FTL_ERASES(word) ((word) & ((1u << FTL_ERASES_BITS) - 1u))

/* Frames, and pages on NAND. */
uint32_t ftl_erases_pages(const struct ftl_geometry *g);
/* All counts 0, in the frames from this one on. */
void ftl_erases_init(struct ftl *f, uint32_t first_frame);
/* The word of a block; those of a die follow one another. */
uint32_t *ftl_erases(const struct ftl *f, uint32_t die, uint32_t block);
uint32_t ftl_erases_of(const struct ftl *f, uint32_t block_id);

#endif
