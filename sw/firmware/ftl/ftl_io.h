/* SPDX-License-Identifier: Apache-2.0 */
/* NAND operations in flight: put as many as there is room for, get the results in the order of the puts.
 *
 * Between dies operations run at the same time; a result that came early waits here. The cookie is this module's.
 * Each erase is counted (ftl_wear.h).
 * An operation of a die that is out (ftl_dies.h) never gets to the NAND: its result is FTL_PAGE_TIMEOUT, at once. */
#ifndef FTL_IO_H
#define FTL_IO_H

#include "ftl_geometry.h"
#include "hal.h"

struct ftl_io {
    const struct ftl_geometry *geometry;
    struct hal_nand_done done[HAL_NAND_DEPTH];
    uint32_t put, got;   /* numbers of operations put and got so far */
    uint32_t arrived;    /* bit per place: its result is here */
    uint32_t programs;   /* started; modulo 2^32 */
    uint32_t wear_frame; /* the first frame with erase counts; 0: there are none yet */
};

/* Whether one more can be put. */
bool ftl_io_room(const struct ftl_io *io);
/* Whether nothing is in flight. */
bool ftl_io_empty(const struct ftl_io *io);
/* Starts an operation; needs room. */
void ftl_io_put(struct ftl_io *io, const struct hal_nand_op *op);
/* Whether the oldest operation is done; never waits. */
bool ftl_io_ready(struct ftl_io *io);
/* Waits for the oldest operation and takes its result; there must be one. */
void ftl_io_get(struct ftl_io *io, struct hal_nand_done *done);
/* One operation from start to end; nothing else may be in flight. */
void ftl_io_one(struct ftl_io *io, const struct hal_nand_op *op, struct hal_nand_done *done);

#endif
