/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the NVMe front end's administration (nvme_control.h): one object. */
#ifndef NVME_H
#define NVME_H

#include "nvme_hal.h"
#include "nvme_spec.h"

#define NVME_QUEUES 8u     /* I/O queues of each kind, numbers 1 to 8 */
#define NVME_ENTRIES 1024u /* of an I/O queue, at most */
#define NVME_VECTORS 16u
#define NVME_EVENTS 4u /* Asynchronous Event Requests that wait, at most */
#define NVME_ERRORS 4u /* entries of the error log */
#define NVME_BLOCK_SHIFT 12u
#define NVME_DOUBTFUL 16u /* blocks of the last start's report that are named */
#define NVME_MDTS 5u      /* 128 KiB */

/* What the drive says of itself; of the mount, or as it is now. */
struct nvme_drive {
    const char *model;
    uint32_t id;         /* which drive this is */
    uint32_t blocks;     /* capacity */
    uint32_t tx_entries; /* of a transaction, at most */
    uint32_t clock_ps;
    bool read_only; /* it takes no writes */
    bool orderly;   /* this start followed an orderly power-down */
    uint32_t starts, power_cuts, start_clocks;
    uint32_t spare, bad; /* blocks beyond the need, bad blocks */
    uint32_t mean_erases, corrected_reads, weak_reads;
    uint64_t host_pages, nand_pages, moved_pages;
    uint32_t dropped, lost_log_pages, foreign, doubtful;
    const uint32_t *doubtful_lpn; /* of the first ones */
    uint32_t seconds;             /* since power on */
    bool failed;                  /* the log has stopped */
};

/* A command, in the fields that administration uses. */
struct nvme_command {
    uint32_t opcode, cid, nsid;
    uint64_t prp1, prp2;
    uint32_t dw10, dw11, dw12, dw13, dw14, dw15;
};

/* What became of it. `waits`: it has not ended, and is asked for again in the next round. `silent`: it ends later. */
struct nvme_answer {
    uint32_t status, dw0;
    bool waits, silent;
};

struct nvme {
    const struct nvme_drive *drive;
    enum { NVME_DISABLED, NVME_ENABLED, NVME_STOPPING, NVME_FAILED } state;
    uint32_t csts, shutdown; /* shutdown: which step it is at */
    uint32_t asked;          /* number of its checkpoint */
    bool own;                /* a command of its own is under way */
    bool working;            /* something that a host has asked for has not ended */
    /* queues, bit per number; of a submission queue its completion queue */
    uint32_t sqs, cqs;
    uint8_t cq_of[NVME_QUEUES + 1];
    /* features that can be changed, as they were set */
    uint32_t arbitration, temperature, error_recovery, coalescing, vectors_without, atomicity, events;
    bool write_through, streams;
    /* the command that waits, and how far it is */
    bool waiting, malformed;
    struct nvme_command command;
    uint32_t at;
    /* events: requests that wait; what a host is to be told, by NVME_EVENT_ type; types that it has been told of and
     * whose log it has not read; warnings that it has been told of */
    uint32_t requests, request[NVME_EVENTS], event[2], masked, told;
    bool due[2];
    /* errors, the newest last */
    uint64_t errors;
    struct nvme_failed error[NVME_ERRORS];
    struct nvme_traffic seen; /* what of the traffic is in the sums */
    uint64_t blocks_read, blocks_written, reads, writes;
};

#endif
