/* SPDX-License-Identifier: Apache-2.0 */
/* The drive's health, for QUERY (docs/interfaces/host-port.md): a word each round.
 *
 * Numbers since the format are in each root as they were when it was written (FTL_ROOT_PAGES_DONE). A power cut loses
 * what came after the last one. */
#ifndef FTL_HEALTH_H
#define FTL_HEALTH_H

#include "ftl.h"
#include "ftl_checkpoint.h"
#include "ftl_collect.h"
#include "ftl_retire.h"

/* Counts what was programmed since the last call. */
void ftl_health_count(struct ftl *f, uint32_t moved);
/* One round. Walks over all words of a set when a block has become bad. */
void ftl_health_step(struct ftl *f, const struct ftl_retire *r, const struct ftl_collect *c,
                     const struct ftl_checkpoint *k);
/* All words at once: after ftl_mount(), before hal_enable(). */
void ftl_health_begin(struct ftl *f);

#endif
