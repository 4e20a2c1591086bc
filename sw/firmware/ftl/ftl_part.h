/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of part a die is: from the table of parts without a parameter page, or from the ONFI parameter page. Pure
 * functions, no NAND operation. */
#ifndef FTL_PART_H
#define FTL_PART_H

#include "ftl_geometry.h"

#include <stdbool.h>
#include <stdint.h>

#define FTL_PARAM_BYTES 256u /* of a copy of the parameter page; there are three */
#define FTL_PARAM_COPIES 3u
#define FTL_ONFI 0x49464e4full /* "ONFI", what READ_ID gives at address 20h in its first four bytes */
#define FTL_OWN_MODE 6u        /* of the bus: the times the controller was built with for its own part */

enum ftl_capability { /* what the part lists */
                      FTL_CAN_SET_FEATURES = 1,
                      FTL_CAN_CACHE_READ = 2,
                      FTL_CAN_CACHE_PROGRAM = 4,
                      FTL_CAN_MULTI_PLANE = 8,
                      FTL_CAN_MULTI_PLANE_READ = 16,
                      FTL_CAN_STATUS_ENHANCED = 32,
                      FTL_CAN_READ_RETRY = 64,
};

struct ftl_part {
    uint64_t id;   /* five bytes, first one lowest */
    char name[34]; /* manufacturer and model */
    bool onfi;
    uint8_t copy; /* of the parameter page that was taken, 3: the majority of all */
    uint16_t spare_bytes;
    uint32_t page_bytes, pages, blocks, luns; /* pages per block, blocks per LUN, LUNs behind one CE# */
    uint32_t modes;                           /* bit m: ONFI SDR timing mode m */
    uint32_t capabilities;                    /* enum ftl_capability */
    uint32_t planes;                          /* 1, 2, 4: by the lowest bits of a block */
    uint32_t retries;                         /* read levels beyond level 0 (feature 89h) */
};

/* The part with that ID in the table of parts that are not ONFI. False: there is none. */
bool ftl_part_of_id(uint64_t id, struct ftl_part *part);

/* The part of a parameter page, three copies in 192 words. The first copy with a right CRC counts; with none their
 * bit-wise majority does, if its CRC is right; it is written over the first copy. False: unreadable. The ID stays as it
 * is. */
bool ftl_part_of_page(uint32_t *words, struct ftl_part *part);

/* What the channels may use of it (hal_nand_capabilities), as far as the board wants cache operations, has so many
 * planes and tries so many read levels; only what a parameter page lists: the commands of others differ. */
uint32_t ftl_part_use(const struct ftl_part *part, const struct ftl_geometry *g);

/* Whether both are the same as far as the drive is concerned. */
bool ftl_part_same(const struct ftl_part *a, const struct ftl_part *b);

#endif
