/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_erases.h"

uint32_t ftl_erases_pages(const struct ftl_geometry *g) {
    return (g->dies * g->blocks + FTL_PAGE_WORDS - 1) / FTL_PAGE_WORDS;
}

uint32_t *ftl_erases(const struct ftl *f, uint32_t die, uint32_t block) {
    uint32_t at = die * f->geometry.blocks + block;
    return hal_frame(f->io.wear_frame + at / FTL_PAGE_WORDS) + at % FTL_PAGE_WORDS;
}

void ftl_erases_init(struct ftl *f, uint32_t first_frame) {
    f->io.wear_frame = first_frame;
    f->wear = (struct ftl_wear){0};
    for (uint32_t n = 0; n < ftl_erases_pages(&f->geometry); n++) {
        uint32_t *words = hal_frame(first_frame + n);
        for (uint32_t i = 0; i < FTL_PAGE_WORDS; i++) words[i] = 0;
    }
}

uint32_t ftl_erases_of(const struct ftl *f, uint32_t block_id) {
    return FTL_ERASES(*ftl_erases(f, ftl_die_of(&f->geometry, block_id), ftl_block_of(&f->geometry, block_id)));
}
