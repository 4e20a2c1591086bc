// SPDX-License-Identifier: Apache-2.0
#include "show.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer.h"

static const struct {
    const char *name;
    uint32_t number;
} queries[] = {
#define ONE(name, number, words) {#name, number},
    OTX_QUERIES(ONE)
#undef ONE
};
enum { query_count = sizeof queries / sizeof *queries };

static const struct {
    uint32_t number;
    const char *name, *words;
} health_words[] = {
#define ONE(name, number, words) {number, #name, words},
    OTX_HEALTH_WORDS(ONE)
#undef ONE
};
enum { health_count = sizeof health_words / sizeof *health_words };

static const char *state_name(uint32_t state) {
    switch (state) {
#define ONE(name, number, words) \
    case number: return #name;
        OTX_TX_STATES(ONE)
#undef ONE
        default: return "unknown";
    }
}

// FREE_BLOCKS: "free blocks".
static const char *in_words(const char *name, bool keep_underscores) {
    static char text[40];
    size_t i = 0;
    for (; name[i] && i + 1 < sizeof text; i++)
        text[i] = (char)(name[i] == '_' && !keep_underscores ? ' ' : tolower((unsigned char)name[i]));
    text[i] = 0;
    return text;
}

// The unit is the last word of the name, where that is one.
static const char *unit(const char *name) {
    static const char *const units[] = {"erases", "blocks", "pages", "reads", "clocks", "starts"};
    const char *last = strrchr(in_words(name, true), '_');
    for (size_t i = 0; last && i < sizeof units / sizeof *units; i++)
        if (!strcmp(last + 1, units[i])) return units[i];
    return "";
}

int run_info(const struct args *args, struct otx_drive *drive) {
    const struct otx_about *about = otx_about(drive);
    uint32_t left, dropped, commits, lost, doubtful;
    int error = otx_query(drive, OTX_QUERY_PAGES_LEFT, -1, &left);
    if (!error) error = otx_query(drive, OTX_QUERY_DROPPED, -1, &dropped);
    if (!error) error = otx_query(drive, OTX_QUERY_COMMITS, -1, &commits);
    if (!error) error = otx_query(drive, OTX_QUERY_LOST_LOG_PAGES, -1, &lost);
    if (!error) error = otx_query(drive, OTX_QUERY_DOUBTFUL, -1, &doubtful);
    uint8_t states[OTX_TXIDS];
    for (int txid = 0; !error && txid < OTX_TXIDS; txid++) {
        uint32_t result;
        error = otx_query(drive, OTX_QUERY_TX, txid, &result);
        states[txid] = result & 7;
        if (error == OTX_STATUS_TX_BUSY) error = 0, states[txid] = OTX_TX_OPEN;  // of an NBD connection
    }
    if (error) return failed(args, drive, error, 0);
    uint64_t clock = otx_last_clock(drive), bytes = (uint64_t)about->lbas * OTX_BLOCK;
    if (args->given & OPTION_JSON) {
        printf("{\"preset\": ");
        print_string(about->preset);
        printf(", \"blocks\": %u, \"block_bytes\": %d, \"clock_ps\": %u, \"clock\": %" PRIu64, about->lbas, OTX_BLOCK,
               about->clock_ps, clock);
        printf(", \"tx_entries\": %u, \"pages_left\": %u, \"commits\": %u", about->tx_entries, left, commits);
        printf(", \"dropped\": %u, \"lost_log_pages\": %u, \"doubtful\": %u, \"transactions\": {", dropped, lost,
               doubtful);
        for (int txid = 0, n = 0; txid < OTX_TXIDS; txid++)
            if (states[txid]) printf("%s\"%d\": \"%s\"", n++ ? ", " : "", txid, state_name(states[txid]));
        printf("}}\n");
        return 0;
    }
    printf("preset          %12s\n", about->preset);
    printf("capacity        %12u blocks of %d bytes: %.1f MiB\n", about->lbas, OTX_BLOCK, (double)bytes / 1048576.0);
    printf("clock           %12.3f MHz\n", 1e6 / about->clock_ps);
    printf("since power on  %12" PRIu64 " clocks: %.3f ms\n", clock, us(drive, clock) / 1000.0);
    printf("pages left      %12u for data\n", left);
    printf("commits         %12u since power on\n", commits);
    printf("a transaction   %12u entries at most\n", about->tx_entries);
    printf("last start      %12u commands dropped, %u log pages not read, %u blocks doubtful\n", dropped, lost,
           doubtful);
    int open = 0;
    for (int txid = 0; txid < OTX_TXIDS; txid++)
        if (states[txid]) printf("transaction %2d  %12s\n", txid, in_words(state_name(states[txid]), false)), open++;
    if (!open) printf("transactions    %12s open\n", "none");
    return 0;
}

int run_health(const struct args *args, struct otx_drive *drive) {
    uint64_t health[OTX_HEALTH_NUMBERS];
    int error = otx_health(drive, health);
    if (error) return failed(args, drive, error, 0);
    uint64_t host = health[OTX_HEALTH_HOST_PAGES], nand = health[OTX_HEALTH_NAND_PAGES];
    double amplification = host ? (double)nand / (double)host : 0;
    bool json = args->given & OPTION_JSON;
    for (int i = 0; i < health_count; i++) {
        uint64_t value = health[health_words[i].number];
        const char *name = health_words[i].name;
        if (json) printf("%s\"%s\": %" PRIu64, i ? ", " : "{", in_words(name, true), value);
        else printf("%-18s%12" PRIu64 " %-7s %s\n", in_words(name, false), value, unit(name), health_words[i].words);
    }
    if (json && !host) printf(", \"write_amplification\": null}\n");
    else if (json) printf(", \"write_amplification\": %.4f}\n", amplification);
    else if (host)
        printf("%-18s%12.3f %-7s pages programmed for each page that a host wrote\n", "amplification", amplification,
               "");
    return 0;
}

static uint32_t query_number(const char *word) {
    for (int i = 0; i < query_count; i++)
        if (!strcmp(word, in_words(queries[i].name, true))) return queries[i].number;
    if (*word < '0' || *word > '9') wrong("no query %s; otx help query lists them", word);
    return number(word, UINT32_MAX, "WHAT");
}

int run_query(const struct args *args, struct otx_drive *drive) {
    uint32_t what = query_number(args->operands[0]), result;
    int error = otx_query(drive, what, args->options.in_tx ? args->options.txid : -1, &result);
    if (error) return failed(args, drive, error, 0);
    bool state = what == OTX_QUERY_TX || what == OTX_QUERY_TX_WALK;
    if (args->given & OPTION_JSON)
        printf("{\"command\": \"query\", \"what\": %u, \"result\": %u%s%s%s}\n", what, result,
               state ? ", \"state\": \"" : "", state ? state_name(result & 7) : "", state ? "\"" : "");
    else if (state)
        printf("%s, %u %s\n", in_words(state_name(result & 7), false), result >> 16,
               what == OTX_QUERY_TX ? "entries" : "entries that wait");
    else printf("%u\n", result);
    return 0;
}
