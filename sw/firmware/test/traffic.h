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

#endif
