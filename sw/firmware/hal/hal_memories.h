/* SPDX-License-Identifier: Apache-2.0 */
/* The memories of hal.h where their addresses are fixed, on the drive: loops over all blocks ask for each word. */
#ifndef HAL_MEMORIES_H
#define HAL_MEMORIES_H

#include <stdint.h>

#include "otx_geometry.h"

static inline uint32_t *hal_frame(uint32_t frame) { return (uint32_t *)(OTX_FRAME_BASE + frame * 4096u); }

static inline uint32_t *hal_map(void) { return (uint32_t *)OTX_TABLE_BASE; }

static inline uint32_t *hal_tx_area(uint32_t txid) { return (uint32_t *)(OTX_TX_BASE + txid * (65536u * 16u)); }

#endif
