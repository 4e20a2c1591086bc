/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_age.h"

#define STAMPS (1u << (31u - FTL_ERASES_BITS))

static uint32_t now(const struct ftl *f) { return f->blocks.closed >> f->blocks.unit; }

static uint32_t age(const struct ftl *f, uint32_t word) { return (now(f) - (word >> FTL_ERASES_BITS)) % STAMPS; }

static void stamp(uint32_t *word, uint32_t when) { *word = FTL_ERASES(*word) | when % STAMPS << FTL_ERASES_BITS; }

void ftl_age_init(struct ftl *f) {
    uint32_t blocks = f->geometry.dies * f->geometry.blocks;
    f->blocks.unit = 0;
    while (blocks >> f->blocks.unit >= 256u) f->blocks.unit++;
    f->blocks.closed = FTL_AGE_MOST << f->blocks.unit;
}

static uint32_t *word_of(const struct ftl *f, uint32_t block_id) {
    return ftl_erases(f, ftl_die_of(&f->geometry, block_id), ftl_block_of(&f->geometry, block_id));
}

void ftl_age_close(struct ftl *f, uint32_t block_id) {
    if (f->io.wear_frame == 0) return;
    f->blocks.closed++;
    stamp(word_of(f, block_id), now(f));
}

uint32_t ftl_age_of(const struct ftl *f, uint32_t block_id) { return age(f, *word_of(f, block_id)); }

void ftl_age_stop(const struct ftl *f, uint32_t *word) {
    if (age(f, *word) > FTL_AGE_MOST) stamp(word, now(f) - FTL_AGE_MOST);
}
