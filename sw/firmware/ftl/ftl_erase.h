/* SPDX-License-Identifier: Apache-2.0 */
/* Erasing several blocks at a time, for the mount. */
#ifndef FTL_ERASE_H
#define FTL_ERASE_H

#include "ftl.h"

/* Erases n taken blocks, all dies at the same time. One that fails becomes bad and is replaced in ids[] by another free
 * block, of the same channel if it can be. */
FTL_MUST_CHECK enum ftl_error ftl_erase(struct ftl *f, uint32_t *ids, uint32_t n);

/* Erases one block. False: that failed, and it is the caller who makes the block bad. */
FTL_MUST_CHECK bool ftl_erase_one(struct ftl *f, uint32_t block_id);

#endif
