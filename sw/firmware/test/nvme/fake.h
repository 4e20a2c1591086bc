/* SPDX-License-Identifier: Apache-2.0 */
/* A host and hardware of the NVMe front end around nvme/ alone: registers, contexts, a megabyte of host memory, an
 * admin queue without doorbells. CHECK fails a test. */
#ifndef FAKE_H
#define FAKE_H

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "nvme_control.h"

#define MEMORY 0x100000u
#define BASE 0x2040000000ull /* where host memory begins */

struct fake {
    uint32_t cc, aqa, csts, events, arbitration;
    uint64_t asq, acq;
    bool quiet, working;
    uint8_t memory[MEMORY];
    uint64_t unreadable; /* an address of which nothing can be read */
    uint32_t buffer[NVME_BUFFER_WORDS];
    struct nvme_queue queue[2][NVME_QUEUES + 1]; /* submission, completion */
    uint32_t busy;                               /* rounds for which a context is busy, each time */
    uint32_t busy_left;
    uint32_t threshold, time, without;
    bool write_through, streams;
    struct nvme_failed failed;
    bool has_failed;
    struct nvme_traffic traffic;
    uint32_t latency[NVME_LATENCIES];
    /* admin: a command to be taken, completions */
    uint32_t sqe[16];
    bool waits, full;
    struct completion {
        uint32_t cid, status, dw0;
    } completion[64];
    uint32_t completions;
    /* commands of the firmware's own: all that there were; how they end */
    struct nvme_own own[1024];
    uint32_t owns, own_left, own_status, own_result;
    bool own_open;
};

extern struct fake fake;
extern struct nvme nvme;
extern struct nvme_drive drive;
extern jmp_buf failed;
extern char message[256];

#define CHECK(x)                                                                    \
    do {                                                                            \
        if (!(x)) {                                                                 \
            snprintf(message, sizeof message, "%s:%d: %s", __FILE__, __LINE__, #x); \
            longjmp(failed, 1);                                                     \
        }                                                                           \
    } while (0)

struct test {
    const char *name;
    void (*run)(void);
};
extern const struct test control_tests[], identify_tests[], queue_tests[], feature_tests[], log_tests[], event_tests[],
    random_tests[];

/* A drive that is switched on; one whose host has enabled it. */
void power_on(void);
void enabled(void);
/* So many rounds. */
void rounds(uint32_t n);

/* A command, data at BASE + 1000h, and up to 2000 rounds until it has completed: its status without DNR. `answer` has
 * the completion. */
struct fields {
    uint32_t opcode, nsid, dw10, dw11, dw12, dw13, flags;
    uint64_t prp1, prp2;
};
extern struct completion answer;
uint32_t admin_at(struct fields f);
#define admin(...) admin_at((struct fields){.prp1 = BASE + 0x1000, __VA_ARGS__})

/* A little-endian number in the data that came. */
uint64_t got(uint32_t at, uint32_t bytes);
uint8_t *at(uint64_t address);

#endif
