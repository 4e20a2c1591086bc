/* SPDX-License-Identifier: Apache-2.0 */
/* Random commands of a host, for histories. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "drive.h"

/* So many commands: writes, trims, transactions, flushes, reports of pages; some let programs end. */
void history(uint32_t commands);
/* Each transaction that is open commits or aborts: one that stays open keeps checkpoints back. */
void end_transactions(void);
/* Blocks bad from the factory, programs and erases that fail. */
void with_faults(void);
/* A new drive of one of a few shapes. */
void any_geometry(void);
/* Long histories with checkpoints, failing programs and cuts, also of mounts. Before each mount one page goes bad,
 * until the drive has opened: then it heals (NULL: it does not). `goes_bad` says whether there was one. */
void histories_with_an_error(unsigned long seed, bool (*goes_bad)(void), void (*heals)(void));

/* Whether an entry that the next mount may replay names a block; none names one that is kept for that mount. */
bool log_names(uint32_t block_id);
void reserve_is_unnamed(void);

#endif
