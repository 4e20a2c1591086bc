/* SPDX-License-Identifier: Apache-2.0 */
/* What the administration needs of the NVMe front end's hardware (docs/interfaces/nvme.md, "Firmware port").
 *
 * nvme_hal_otx.c is the target, test/nvme/fake.c a simulated one. One caller. Hardware has registers, doorbells, queues
 * and completions; firmware sees administration commands one at a time, in order. */
#ifndef NVME_HAL_H
#define NVME_HAL_H

#include <stdbool.h>
#include <stdint.h>

#include "otx_facts.h"

/* Controller configuration as the host has written it; the admin queues' attributes and bases. */
uint32_t nvme_hal_cc(void);
uint32_t nvme_hal_aqa(void);
uint64_t nvme_hal_asq(void);
uint64_t nvme_hal_acq(void);
void nvme_hal_csts(uint32_t csts);
/* What the host has done since this was asked last: a bit per enum nvme_event. */
uint32_t nvme_hal_events(void);
/* After EN went to 0: nothing of a host's commands is under way, and its queues are gone. */
bool nvme_hal_quiet(void);

/* Whether something that a host has asked for is in hand. */
void nvme_hal_working(bool working);

/* The oldest administration command, 16 words; false: there is none. It is taken by this. */
bool nvme_hal_command(uint32_t sqe[16]);
/* Whether one more completion can be handed over. */
bool nvme_hal_room(void);
/* Its completion: status without phase, in bits 14:0. */
void nvme_hal_complete(uint32_t cid, uint32_t status, uint32_t dw0);

/* The 4 KiB buffer, by words. */
#define NVME_BUFFER_WORDS 1024u
void nvme_hal_put(uint32_t word, uint32_t value);
uint32_t nvme_hal_get(uint32_t word);
/* Moves `bytes` (a multiple of 4) between byte `at` of the buffer and host memory; returns when they are there. Both
 * addresses are multiples of 4, and no 4 KiB border of the host's is passed. False: the host's memory could not be
 * read, and the buffer has anything there. */
void nvme_hal_to_host(uint64_t address, uint32_t at, uint32_t bytes);
bool nvme_hal_from_host(uint64_t address, uint32_t at, uint32_t bytes) __attribute__((warn_unused_result));

/* A queue: number 0 is the admin queue's. `valid` false clears it, and nvme_hal_queue_busy() says true until nothing of
 * it is under way. One at a time. */
struct nvme_queue {
    uint64_t base;
    uint32_t number, entries;
    uint32_t cq, priority; /* of a submission queue */
    uint32_t vector;       /* of a completion queue */
    bool completion, interrupts, valid;
};
void nvme_hal_queue(const struct nvme_queue *queue);
bool nvme_hal_queue_busy(void);

/* Interrupts: so many completions more (0's based), or so many 100 us, before one; a bit per vector: not that one. */
void nvme_hal_coalesce(uint32_t threshold, uint32_t time, uint32_t vectors_without);
/* Each write is durable before it completes: the volatile write cache is off. Streams directive: on. */
void nvme_hal_modes(bool write_through, bool streams);
/* The oldest I/O command that ended with another status than success, and has not been asked for; false: there is none.
 */
struct nvme_failed {
    uint16_t queue, cid, status;
};
#define NVME_NO_QUEUE 0xffffu /* in the error log: of no one queue, of no one command */
#define NVME_NO_COMMAND 0xffffu
bool nvme_hal_failed(struct nvme_failed *failed);
/* Weights of the queues' priorities, 0's based, and a burst as a power of two, as the feature has them. */
void nvme_hal_arbitration(uint32_t word);

/* A command of the firmware's own to the drive, without data; false: not now. At most one is under way. */
#define NVME_OWN_TX 0x80u
struct nvme_own {
    uint8_t opcode, txid; /* NVME_OWN_TX and the number; 0: none */
    uint16_t count;
    uint32_t lba, arg;
};
bool nvme_hal_own_start(const struct nvme_own *own);
/* False: it has not ended. */
bool nvme_hal_own_done(uint32_t *status, uint32_t *result);

/* What hosts have done since power on, modulo 2^32. */
struct nvme_traffic {
    uint32_t blocks_read, blocks_written, reads, writes;
};
struct nvme_traffic nvme_hal_traffic(void);
/* COMMITs since power on that took 2^bucket clocks or more, and less than twice that; modulo 2^32. */
#define NVME_LATENCIES 32u
uint32_t nvme_hal_latency(uint32_t bucket);

#endif
