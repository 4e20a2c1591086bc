// SPDX-License-Identifier: Apache-2.0
// Plays a trace. Requests become commands of up to 32 blocks, widened to whole blocks; a flush is sent when all before
// it has completed, and what is behind it waits for it. A latency is from the clock when the drive had the command to
// its completion; of a request, its slowest command counts.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "trace.h"

static const char *const names[TRACE_KINDS] = {"read", "write", "trim", "flush"};
static const uint8_t opcodes[TRACE_KINDS] = {OTX_OP_READ, OTX_OP_WRITE, OTX_OP_TRIM, OTX_OP_FLUSH};

struct totals {
    uint64_t requests, commands, blocks, failed;
    uint64_t *latencies;  // of `requests` requests, then sorted
};

// Blocks of a request.
struct span {
    uint64_t lba, count;
};

struct player {
    struct otx_drive *drive;
    const struct trace *trace;
    struct totals totals[TRACE_KINDS];
    uint64_t *slowest;  // by request
    uint64_t widened, first_clock, last_clock, lbas, stamp;
    int first_error, depth;
    uint32_t error_line;
    bool wrap;
    uint8_t data[OTX_UNDER_WAY][OTX_MAX_BLOCKS * OTX_BLOCK];  // of the commands under way
    bool busy[OTX_UNDER_WAY];
};

static struct span span_of(const struct trace_request *r) {
    uint64_t first = r->offset / OTX_BLOCK, end = (r->offset + r->bytes + OTX_BLOCK - 1) / OTX_BLOCK;
    return (struct span){first, end - first};
}

// What no drive of this size can play is said before anything is played.
static void check(struct player *p, const char *path) {
    for (size_t i = 0; i < p->trace->count; i++) {
        const struct trace_request *r = &p->trace->requests[i];
        if (r->kind == TRACE_FLUSH) continue;
        struct span s = span_of(r);
        if (!p->wrap && s.lba + s.count > p->lbas)
            wrong("%s:%u: blocks %" PRIu64 " to %" PRIu64 " of a drive of %" PRIu64 "; --wrap begins at 0 again", path,
                  r->line, s.lba, s.lba + s.count - 1, p->lbas);
        p->widened += r->offset % OTX_BLOCK || r->bytes % OTX_BLOCK;
    }
}

static int take_one(struct player *p) {
    struct otx_answer a;
    int error = otx_take(p->drive, &a, -1);
    if (error) return error;
    size_t at = (size_t)(a.id >> 8);
    const struct trace_request *r = &p->trace->requests[at];
    uint64_t took = a.clock - a.begun;
    if (took > p->slowest[at]) p->slowest[at] = took;
    if (a.status) {
        p->totals[r->kind].failed++;
        if (!p->first_error) p->first_error = a.status, p->error_line = r->line;
    }
    if (!p->first_clock || a.begun < p->first_clock) p->first_clock = a.begun;
    p->last_clock = a.clock;
    p->busy[a.id & 0xff] = false;
    return 0;
}

static int drain(struct player *p, int left) {
    int error = 0;
    while (!error && otx_under_way(p->drive) > left) error = take_one(p);
    return error;
}

// Every block of a write is another one: its address, then the number of the write.
static void fill(struct player *p, uint8_t *data, uint64_t lba, uint32_t count) {
    for (uint32_t b = 0; b < count; b++) {
        uint64_t words[2] = {lba + b, p->stamp++};
        for (size_t i = 0; i < OTX_BLOCK; i += sizeof words)
            memcpy(data + b * (size_t)OTX_BLOCK + i, words, sizeof words);
    }
}

static int command(struct player *p, size_t at, uint64_t lba, uint32_t count) {
    const struct trace_request *r = &p->trace->requests[at];
    int error = drain(p, p->depth - 1);
    if (error) return error;
    unsigned slot = 0;
    while (p->busy[slot]) slot++;
    if (r->kind == TRACE_WRITE) fill(p, p->data[slot], lba, count);
    struct otx_request request = {.opcode = opcodes[r->kind],
                                  .lba = (uint32_t)lba,
                                  .count = count,
                                  .write = p->data[slot],
                                  .read = p->data[slot],
                                  .options = {.fua = r->fua},
                                  .id = (uint64_t)at << 8 | slot};
    error = otx_send(p->drive, &request);
    p->busy[slot] = !error;
    p->totals[r->kind].commands++;
    p->totals[r->kind].blocks += count;
    return error;
}

static int play_request(struct player *p, size_t at) {
    const struct trace_request *r = &p->trace->requests[at];
    p->totals[r->kind].requests++;
    if (r->kind == TRACE_FLUSH) {
        int error = drain(p, 0);
        if (!error) error = command(p, at, 0, 0);
        return error ? error : drain(p, 0);
    }
    struct span s = span_of(r);
    int error = 0;
    while (!error && s.count) {
        uint64_t lba = s.lba % p->lbas, n = s.count < OTX_MAX_BLOCKS ? s.count : OTX_MAX_BLOCKS;
        if (n > p->lbas - lba) n = p->lbas - lba;
        error = command(p, at, lba, (uint32_t)n);
        s.lba += n;
        s.count -= n;
    }
    return error;
}

static int by_size(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void sort(struct player *p) {
    uint64_t done[TRACE_KINDS] = {0};
    for (int k = 0; k < TRACE_KINDS; k++) p->totals[k].latencies = calloc(p->totals[k].requests + 1, sizeof(uint64_t));
    for (size_t i = 0; i < p->trace->count; i++) {
        enum trace_kind k = p->trace->requests[i].kind;
        if (!p->totals[k].latencies) wrong("no memory for %zu latencies", p->trace->count);
        p->totals[k].latencies[done[k]++] = p->slowest[i];
    }
    for (int k = 0; k < TRACE_KINDS; k++) qsort(p->totals[k].latencies, done[k], sizeof(uint64_t), by_size);
}

// The least that so many tenths of a percent are not above.
static uint64_t percentile(const struct totals *t, uint64_t tenths) {
    uint64_t at = (t->requests * tenths + 999) / 1000;
    return t->latencies[at ? at - 1 : 0];
}

static const struct {
    const char *name;
    uint64_t tenths;
} shown[] = {{"p50", 500}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}, {"max", 1000}};
enum { shown_count = sizeof shown / sizeof *shown };

struct pages {
    uint64_t host, nand, moved;
};

// Firmware writes its words some thousand clocks late: they are asked for until so many have passed.
static int pages(struct otx_drive *drive, struct pages *pages) {
    enum { late = 20000 };
    uint64_t health[OTX_HEALTH_NUMBERS], begin = 0;
    int error;
    do {
        error = otx_health(drive, health);
        if (!begin) begin = otx_last_clock(drive);
    } while (!error && otx_last_clock(drive) < begin + late);
    if (!error)
        *pages = (struct pages){health[OTX_HEALTH_HOST_PAGES], health[OTX_HEALTH_NAND_PAGES],
                                health[OTX_HEALTH_MOVED_PAGES]};
    return error;
}

static void show_json(const struct player *p, const struct pages *d) {
    uint64_t clocks = p->last_clock - p->first_clock;
    printf("{\"clocks\": %" PRIu64 ", \"us\": %.3f, \"widened\": %" PRIu64, clocks, us(p->drive, clocks), p->widened);
    for (int k = 0; k < TRACE_KINDS; k++) {
        const struct totals *t = &p->totals[k];
        printf(", \"%s\": {\"requests\": %" PRIu64 ", \"commands\": %" PRIu64 ", \"blocks\": %" PRIu64
               ", \"failed\": %" PRIu64,
               names[k], t->requests, t->commands, t->blocks, t->failed);
        for (int i = 0; t->requests && i < shown_count; i++) {
            uint64_t latency = percentile(t, shown[i].tenths);
            printf(", \"%s\": {\"clocks\": %" PRIu64 ", \"us\": %.3f}", shown[i].name, latency, us(p->drive, latency));
        }
        printf("}");
    }
    printf(", \"host_pages\": %" PRIu64 ", \"nand_pages\": %" PRIu64 ", \"moved_pages\": %" PRIu64 "}\n", d->host,
           d->nand, d->moved);
}

static void show(const struct player *p, const struct pages *d) {
    uint64_t clocks = p->last_clock - p->first_clock, requests = 0, blocks = 0;
    double time = us(p->drive, clocks);
    printf("%-6s%10s%10s%10s%8s", "", "requests", "commands", "blocks", "failed");
    for (int i = 0; i < shown_count; i++) printf("%9s us", shown[i].name);
    printf("\n");
    for (int k = 0; k < TRACE_KINDS; k++) {
        const struct totals *t = &p->totals[k];
        requests += t->requests;
        blocks += k == TRACE_TRIM ? 0 : t->blocks;
        printf("%-6s%10" PRIu64 "%10" PRIu64 "%10" PRIu64 "%8" PRIu64, names[k], t->requests, t->commands, t->blocks,
               t->failed);
        for (int i = 0; t->requests && i < shown_count; i++)
            printf("%12.2f", us(p->drive, percentile(t, shown[i].tenths)));
        printf("\n");
    }
    printf("%" PRIu64 " clocks: %.3f ms, %.0f requests a second, %.2f MiB a second\n", clocks, time / 1000.0,
           time > 0 ? (double)requests * 1e6 / time : 0, time > 0 ? (double)blocks * OTX_BLOCK / 1.048576 / time : 0);
    if (p->widened) printf("%" PRIu64 " requests were no whole blocks and are widened\n", p->widened);
    printf("NAND pages programmed: %" PRIu64 ", of them %" PRIu64 " for hosts and %" PRIu64 " that moved\n", d->nand,
           d->host, d->moved);
}

static int play_all(struct player *p) {
    int error = 0;
    for (size_t i = 0; !error && i < p->trace->count; i++) error = play_request(p, i);
    return error ? error : drain(p, 0);
}

int trace_play(const struct args *args, struct otx_drive *drive, const char *path) {
    struct trace trace = {0};
    struct pages before, after;
    trace_load(path, args->action ? args->action : 'D', &trace);
    struct player *p = calloc(1, sizeof *p);
    uint64_t *slowest = calloc(trace.count, sizeof *slowest);
    if (!p || !slowest) wrong("no memory for %zu requests", trace.count);
    p->drive = drive;
    p->trace = &trace;
    p->slowest = slowest;
    p->depth = args->depth ? (int)args->depth : OTX_UNDER_WAY;
    p->wrap = args->given & OPTION_WRAP;
    p->lbas = otx_about(drive)->lbas;
    check(p, path);
    int error = pages(drive, &before);
    if (!error) error = play_all(p);
    if (!error) error = pages(drive, &after);
    int code = error ? failed(args, drive, error, 0) : 0;
    if (!error) {
        struct pages d = {after.host - before.host, after.nand - before.nand, after.moved - before.moved};
        sort(p);
        (args->given & OPTION_JSON ? show_json : show)(p, &d);
        for (int k = 0; k < TRACE_KINDS; k++) free(p->totals[k].latencies);
    }
    if (p->first_error) {
        fprintf(stderr, "otx: trace: %s:%u: %s: %s\n", path, p->error_line, status_name(p->first_error),
                otx_words(p->first_error));
        code = 1;
    }
    free(slowest);
    free(p);
    free(trace.requests);
    return code;
}
