/* SPDX-License-Identifier: Apache-2.0 */
#include "ftl_health.h"

#include "ftl_blocks.h"
#include "ftl_supply.h"

#define WORDS (FTL_HEALTH_ASKED_CHECKPOINT + 1u)

/* What a counter of 32 bits has gone on since it was seen. */
static uint32_t since(uint32_t *seen, uint32_t now) {
    uint32_t more = now - *seen;
    *seen = now;
    return more;
}

void ftl_health_count(struct ftl *f, uint32_t moved) {
    struct ftl_health *h = &f->health;
    uint32_t host = since(&h->data_seen, hal_data_pages());
    h->host += host;
    h->nand += host;
    h->nand += since(&h->log_seen, hal_log_pages());
    h->nand += since(&h->programs_seen, f->io.programs);
    h->moved += since(&h->moved_seen, moved);
}

/* Counts good and bad blocks, if a block has become bad since. */
static void count_bad(struct ftl *f) {
    struct ftl_health *h = &f->health;
    if (h->table == f->bbt.version) return;
    h->table = f->bbt.version;
    h->bad = ftl_blocks_count_bad(f);
    h->spare = ftl_supply_spare(f);
}

/* A word that the mount and the FTL's own state answer; 0: it is another one's. */
static uint32_t own_word(struct ftl *f, uint32_t word) {
    const struct ftl_health *h = &f->health;
    switch (word) {
        case FTL_HEALTH_LEAST_ERASES: return f->wear.least;
        case FTL_HEALTH_MEAN_ERASES: return f->wear.mean;
        case FTL_HEALTH_MOST_ERASES: return f->wear.most;
        case FTL_HEALTH_BAD_BLOCKS: return h->bad;
        case FTL_HEALTH_SPARE_BLOCKS: return h->spare;
        case FTL_HEALTH_FREE_BLOCKS: return f->blocks.total;
        case FTL_HEALTH_STARTS: return f->report.generation;
        case FTL_HEALTH_RECOVERY_CLOCKS: return f->report.clocks;
        case FTL_HEALTH_HOST_PAGES: return (uint32_t)h->host;
        case FTL_HEALTH_HOST_PAGES + 1: return (uint32_t)(h->host >> 32);
        case FTL_HEALTH_NAND_PAGES: return (uint32_t)h->nand;
        case FTL_HEALTH_NAND_PAGES + 1: return (uint32_t)(h->nand >> 32);
        case FTL_HEALTH_MOVED_PAGES: return (uint32_t)h->moved;
        case FTL_HEALTH_MOVED_PAGES + 1: return (uint32_t)(h->moved >> 32);
        case FTL_HEALTH_CORRECTED_READS: return hal_corrected_reads();
        case FTL_HEALTH_WEAK_READS: return hal_weak_reads();
        case FTL_HEALTH_LOST_COUNTS: return f->wear.lost;
        case FTL_HEALTH_POWER_CUTS: return h->cuts;
        default: return 0;
    }
}

void ftl_health_begin(struct ftl *f) {
    count_bad(f);
    ftl_health_count(f, 0);
    for (uint32_t word = 0; word < WORDS; word++) hal_health((enum ftl_health_word)word, own_word(f, word));
}

void ftl_health_step(struct ftl *f, const struct ftl_retire *r, const struct ftl_collect *c,
                     const struct ftl_checkpoint *k) {
    uint32_t word = f->health.word;
    f->health.word = word + 1 == WORDS ? 0 : word + 1;
    if (word == 0) {
        ftl_health_count(f, r->moves.moved);
        count_bad(f);
    }
    hal_health((enum ftl_health_word)word, word == FTL_HEALTH_CHECKPOINTS        ? k->done
                                           : word == FTL_HEALTH_COLLECTED_BLOCKS ? c->released
                                           : word == FTL_HEALTH_LEVELLED_BLOCKS  ? c->levelled
                                           : word == FTL_HEALTH_ASKED_CHECKPOINT ? k->answer
                                                                                 : own_word(f, word));
}
