/* SPDX-License-Identifier: Apache-2.0 */
/* NAND operations in flight: put as many as there is room for, get the results in the order of the puts.
 *
 * Between dies operations run at the same time; a result that came early waits here. The cookie is this module's.
 * Beside this queue up to FTL_MOVES operations are apart (ftl_moves.h): each has a place of its own, and its result is
 * taken from there, in any order. While the drive runs only ftl_supply.h has more than one operation in the queue; who
 * needs one of his own there waits until it is empty (`hold` of ftl_supply.h) and for his result.
 * Each erase is counted (ftl_wear.h).
 * An operation of a die that is out (ftl_dies.h) never gets to the NAND: its result is FTL_PAGE_TIMEOUT, at once. */
#ifndef FTL_IO_H
#define FTL_IO_H

#include "ftl_geometry.h"
#include "hal.h"

#define FTL_MOVES 14u /* at most; HAL_NAND_DEPTH has room for others beside them */

struct ftl_io {
    const struct ftl_geometry *geometry;
    struct hal_nand_done done[HAL_NAND_DEPTH];
    uint32_t put, got; /* numbers of operations put and got so far */
    uint32_t arrived;  /* bit per place: its result is here */
    struct hal_nand_done apart_done[FTL_MOVES];
    uint32_t apart, apart_arrived; /* how many are apart; bit per place: its result is here */
    uint32_t programs;             /* started; modulo 2^32 */
    uint32_t wear_frame;           /* the first frame with erase counts; 0: there are none yet */
};

/* Whether one more can be put, in the queue or apart. */
bool ftl_io_room(const struct ftl_io *io);
/* Whether nothing is in flight in the queue. */
bool ftl_io_empty(const struct ftl_io *io);
/* Starts an operation; needs room. */
void ftl_io_put(struct ftl_io *io, const struct hal_nand_op *op);
/* Whether the oldest operation is done; never waits. */
bool ftl_io_ready(struct ftl_io *io);
/* Waits for the oldest operation and takes its result; there must be one. */
void ftl_io_get(struct ftl_io *io, struct hal_nand_done *done);
/* One operation from start to end; nothing else may be in flight in the queue. */
void ftl_io_one(struct ftl_io *io, const struct hal_nand_op *op, struct hal_nand_done *done);
/* The same apart: starts one at a place that has none, needs room; takes its result, false: it is not there yet. */
void ftl_io_put_apart(struct ftl_io *io, uint32_t place, const struct hal_nand_op *op);
bool ftl_io_get_apart(struct ftl_io *io, uint32_t place, struct hal_nand_done *done);

#endif
