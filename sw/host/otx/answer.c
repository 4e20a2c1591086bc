// SPDX-License-Identifier: Apache-2.0
#include "answer.h"

#include <inttypes.h>
#include <stdio.h>

const char *status_name(int error) {
    switch (error) {
#define ONE(name, number, words, posix) \
    case number: return #name;
        OTX_STATUSES(ONE)
#undef ONE
        default: return "ERROR";
    }
}

void print_string(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20) printf("\\u%04x", c);
        else printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    putchar('"');
}

double us(const struct otx_drive *drive, uint64_t clocks) { return (double)otx_ns(drive, clocks) / 1000.0; }

static void object(const struct args *args, struct otx_drive *drive, int error, uint64_t blocks) {
    uint64_t clock = otx_last_clock(drive);
    printf("{\"command\": \"%s\", \"status\": \"%s\", \"words\": ", args->command->name, status_name(error));
    print_string(error ? otx_message(drive) : otx_words(0));
    printf(", \"blocks\": %" PRIu64 ", \"clock\": %" PRIu64 ", \"us\": %.3f", blocks, clock, us(drive, clock));
    printf(", \"took_clocks\": %" PRIu64 "}\n", otx_last_took(drive));
}

int failed(const struct args *args, struct otx_drive *drive, int error, uint64_t blocks) {
    fprintf(stderr, "otx: %s: %s%s%s\n", args->command->name, error > 0 ? status_name(error) : "",
            error > 0 ? ": " : "", otx_message(drive));
    if (args->given & OPTION_JSON) object(args, drive, error, blocks);
    return 1;
}

int answer(const struct args *args, struct otx_drive *drive, int error, uint64_t blocks) {
    if (error) return failed(args, drive, error, blocks);
    if (args->given & OPTION_JSON) object(args, drive, 0, blocks);
    return 0;
}
