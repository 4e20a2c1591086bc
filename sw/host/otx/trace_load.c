// SPDX-License-Identifier: Apache-2.0
// Reads traces. Of fio: lines "FILE ACTION [OFFSET BYTES]" of one file behind "fio version 2 iolog", behind "fio
// version 3 iolog" with a time in front, which is not kept. Of blkparse: lines "MAJOR,MINOR CPU SEQUENCE TIME PID
// ACTION RWBS [SECTOR + SECTORS] [PROGRAM]" of one device, up to its summary; other actions are passed over.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

enum { sector = 512, most_bytes = 1 << 30 };

struct source {
    const char *path;
    uint32_t line;
    char device[64];
    struct trace *trace;
};

#define WRONG(source, format, ...) wrong("%s:%u: " format, (source)->path, (source)->line, __VA_ARGS__)

static void one_device(struct source *s, const char *name) {
    if (!*s->device) snprintf(s->device, sizeof s->device, "%s", name);
    if (strcmp(s->device, name)) WRONG(s, "%s is a second device, beside %s", name, s->device);
}

static void add(struct source *s, struct trace_request request) {
    struct trace *t = s->trace;
    if (t->count == t->room) {
        t->room = t->room ? 2 * t->room : 1024;
        t->requests = realloc(t->requests, t->room * sizeof *t->requests);
        if (!t->requests) wrong("no memory for %zu requests", t->room);
    }
    if (request.kind != TRACE_FLUSH && (request.bytes == 0 || request.bytes > most_bytes))
        WRONG(s, "a request of %" PRIu64 " bytes; must be 1 to %d", request.bytes, most_bytes);
    if (request.offset > (uint64_t)INT64_MAX) WRONG(s, "offset %" PRIu64 " is too large", request.offset);
    request.line = s->line;
    t->requests[t->count++] = request;
}

static uint64_t whole(struct source *s, const char *word, const char *what) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno) WRONG(s, "%s is %s, must be a number", what, word);
    return value;
}

static int split(char *text, char *words[], int most) {
    int n = 0;
    for (char *word = strtok(text, " \t\r\n"); word && n < most; word = strtok(NULL, " \t\r\n")) words[n++] = word;
    return n;
}

static void fio_line(struct source *s, int version, char *text) {
    static const struct {
        const char *name;
        int kind;  // -1: nothing to play
        int words;
    } actions[] = {{"read", TRACE_READ, 4},
                   {"write", TRACE_WRITE, 4},
                   {"trim", TRACE_TRIM, 4},
                   {"sync", TRACE_FLUSH, 4},
                   {"datasync", TRACE_FLUSH, 4},
                   {"wait", -1, 4},
                   {"add", -1, 2},
                   {"open", -1, 2},
                   {"close", -1, 2}};
    char *all[7], **words = all;
    int n = split(text, all, 7);
    if (n == 0) return;
    if (version == 3) {
        whole(s, *words++, "time");
        n--;
    }
    for (size_t i = 0; n > 1 && i < sizeof actions / sizeof *actions; i++) {
        if (strcmp(words[1], actions[i].name)) continue;
        if (n != actions[i].words) WRONG(s, "%s has %d words, not %d", words[1], n, actions[i].words);
        one_device(s, words[0]);
        if (actions[i].words == 2) return;
        uint64_t offset = whole(s, words[2], "offset"), bytes = whole(s, words[3], "length");
        if (actions[i].kind >= 0)
            add(s, (struct trace_request){.kind = (enum trace_kind)actions[i].kind, .offset = offset, .bytes = bytes});
        return;
    }
    WRONG(s, "no action of fio: %s", n > 1 ? words[1] : n ? words[0] : "nothing");
}

static bool is_event(char *words[], int n) {
    unsigned major, minor;
    char rest;
    return n >= 7 && sscanf(words[0], "%u,%u%c", &major, &minor, &rest) == 2 && strlen(words[5]) <= 2;
}

// `rwbs`: an F before R, W or D is a flush before it, one behind it is FUA.
static void blkparse_event(struct source *s, const char *rwbs, char *words[], int n) {
    size_t flags = strcspn(rwbs, "RWD");
    char kind = rwbs[flags];
    if (memchr(rwbs, 'F', flags)) add(s, (struct trace_request){.kind = TRACE_FLUSH});
    if (!kind || n < 1 || *words[0] == '[') return;  // without data
    if (n < 3 || strcmp(words[1], "+")) WRONG(s, "no SECTOR + SECTORS behind %s", rwbs);
    uint64_t at = whole(s, words[0], "sector"), sectors = whole(s, words[2], "number of sectors");
    if (sectors == 0) return;
    if (at > INT64_MAX / sector || sectors > most_bytes / sector) WRONG(s, "%s + %s is too large", words[0], words[2]);
    add(s, (struct trace_request){.kind = kind == 'R'   ? TRACE_READ
                                          : kind == 'D' ? TRACE_TRIM
                                                        : TRACE_WRITE,
                                  .fua = kind == 'W' && strchr(rwbs + flags, 'F'),
                                  .offset = at * sector,
                                  .bytes = sectors * sector});
}

// False: the summary begins.
static bool blkparse_line(struct source *s, char action, char *text) {
    char *words[16];
    if (!strncmp(text, "CPU", 3) || !strncmp(text, "Total (", 7)) return false;
    int n = split(text, words, 16);
    if (n == 0) return true;
    bool message = n >= 6 && !strcmp(words[5], "m");
    if (!message && !is_event(words, n))
        WRONG(s, "no line of blkparse, which begins with MAJOR,MINOR CPU: %s", words[0]);
    if (message || words[5][0] != action || words[5][1]) return true;
    one_device(s, words[0]);
    blkparse_event(s, words[6], words + 7, n - 7);
    return true;
}

void trace_load(const char *path, char action, struct trace *trace) {
    struct source s = {.path = path, .trace = trace};
    char *text = NULL;
    size_t size = 0;
    int fio = 0;  // version
    bool more = true;
    FILE *file = fopen(path, "r");
    if (!file) wrong("%s: %s", path, strerror(errno));
    while (more && getline(&text, &size, file) >= 0) {
        s.line++;
        if (s.line == 1 && !strncmp(text, "fio version ", 12)) {
            if (sscanf(text, "fio version %d iolog", &fio) != 1 || (fio != 2 && fio != 3))
                WRONG(&s, "%s is not read, fio versions 2 and 3 of iolog are", strtok(text, "\n"));
        } else if (fio) {
            fio_line(&s, fio, text);
        } else {
            more = blkparse_line(&s, action, text);
        }
    }
    if (ferror(file)) wrong("%s: %s", path, strerror(errno));
    if (!trace->count) wrong("%s: nothing to play in its %u lines", path, s.line);
    free(text);
    fclose(file);
}
