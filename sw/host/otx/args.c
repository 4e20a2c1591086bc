// SPDX-License-Identifier: Apache-2.0
#include "args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option {
    const char *name, *letter, *value, *words;
    unsigned bit;
} options[] = {
    {"txid", NULL, "N", "the command belongs to transaction N, 0 to 31", OPTION_TXID},
    {"fua", NULL, NULL, "complete when durable", OPTION_FUA},
    {"commit", NULL, NULL, "commit the transaction with the last command of the write", OPTION_COMMIT},
    {"relaxed", NULL, NULL, "of a commit: visible at once, durable later", OPTION_RELAXED},
    {"barrier", NULL, NULL, "close the epoch behind the last command of the write", OPTION_BARRIER},
    {"order", NULL, "WORD", "simple, ordered or head: when the command runs", OPTION_ORDER},
    {"orderless", NULL, NULL, "the write belongs to no epoch", OPTION_ORDERLESS},
    {"priority", NULL, "WORD", "urgent, high, medium or low: who goes first", OPTION_PRIORITY},
    {"stream", NULL, "N", "stream, 0 to 65535", OPTION_STREAM},
    {"input", "i", "FILE", "data from FILE, - or nothing: standard input", OPTION_INPUT},
    {"output", "o", "FILE", "data to FILE, - or nothing: standard output", OPTION_OUTPUT},
    {"off", NULL, NULL, "the power goes off after it", OPTION_OFF},
    {"depth", NULL, "N", "commands under way at once, 1 to 32: 32", OPTION_DEPTH},
    {"wrap", NULL, NULL, "addresses past the end of the drive begin at 0 again", OPTION_WRAP},
    {"action", NULL, "LETTER", "of blkparse: which events are played: D", OPTION_ACTION},
    {"socket", "s", "PATH", "command socket of the drive; else $OTX_SOCKET, else build/otx.cmd", OPTION_SOCKET},
    {"json", NULL, NULL, "answer as one JSON object", OPTION_JSON},
};
enum { option_count = sizeof options / sizeof *options };

_Noreturn void wrong(const char *format, ...) {
    va_list list;
    va_start(list, format);
    fputs("otx: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    exit(2);
}

uint32_t number(const char *text, uint32_t most, const char *what) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, strncmp(text, "0x", 2) ? 10 : 16);
    if (*text < '0' || *text > '9' || *end || errno || value > most)
        wrong("%s is %s, must be a number from 0 to %u", what, text, most);
    return (uint32_t)value;
}

static uint8_t order(const char *word) {
    static const char *const words[] = {"simple", "ordered", "head"};
    for (uint8_t n = 0; n < 3; n++)
        if (!strcmp(word, words[n])) return n;
    wrong("--order is %s, must be simple, ordered or head", word);
}

static uint8_t priority(const char *word) {
    static const char *const words[] = {"medium", "low", "high", "urgent"};
    for (uint8_t n = 0; n < 4; n++)
        if (!strcmp(word, words[n])) return n;
    wrong("--priority is %s, must be urgent, high, medium or low", word);
}

static void set(struct args *args, unsigned bit, const char *value) {
    struct otx_options *o = &args->options;
    args->given |= bit;
    switch (bit) {
        case OPTION_TXID: o->in_tx = true, o->txid = (uint8_t)number(value, OTX_TXIDS - 1, "--txid"); return;
        case OPTION_FUA: o->fua = true; return;
        case OPTION_COMMIT: o->commit = true; return;
        case OPTION_RELAXED: o->relaxed = true; return;
        case OPTION_BARRIER: o->barrier = true; return;
        case OPTION_ORDER: o->order = order(value); return;
        case OPTION_ORDERLESS: o->orderless = true; return;
        case OPTION_PRIORITY: o->priority = priority(value); return;
        case OPTION_STREAM: o->stream = (uint16_t)number(value, UINT16_MAX, "--stream"); return;
        case OPTION_INPUT: args->input = value; return;
        case OPTION_OUTPUT: args->output = value; return;
        case OPTION_DEPTH:
            args->depth = number(value, OTX_UNDER_WAY, "--depth");
            if (!args->depth) wrong("--depth is 0, must be a number from 1 to %d", OTX_UNDER_WAY);
            return;
        case OPTION_ACTION:
            if (strlen(value) != 1) wrong("--action is %s, must be one letter of blkparse", value);
            args->action = *value;
            return;
        case OPTION_SOCKET: args->socket = value; return;
        default: return;
    }
}

// Takes an option at argv[at]; where the next argument is.
static int take_option(int argc, char **argv, int at, struct args *args) {
    const char *word = argv[at], *equals = strchr(word, '=');
    bool longer = word[1] == '-';
    size_t length = longer ? (equals ? (size_t)(equals - word - 2) : strlen(word + 2)) : 1;
    for (int i = 0; i < option_count; i++) {
        const struct option *o = &options[i];
        const char *name = longer ? o->name : o->letter;
        if (!name || strlen(name) != length || strncmp(word + 1 + longer, name, length)) continue;
        if (!longer && word[2] && !o->value) break;
        const char *value = longer ? (equals ? equals + 1 : NULL) : (word[2] ? word + 2 : NULL);
        if (!o->value && value) wrong("--%s takes no value", o->name);
        if (o->value && !value && ++at == argc) wrong("--%s needs a value: %s", o->name, o->value);
        set(args, o->bit, o->value && !value ? argv[at] : value);
        return at + 1;
    }
    wrong("no option %s; otx help lists them", word);
}

static const char *option_name(unsigned bit) {
    for (int i = 0; i < option_count; i++)
        if (options[i].bit & bit) return options[i].name;
    return "";
}

static const struct command *command_of(const char *name) {
    for (const struct command *c = commands; c->name; c++)
        if (!strcmp(c->name, name)) return c;
    wrong("no command %s; otx help lists them", name);
}

void read_args(int argc, char **argv, struct args *args) {
    bool only_operands = false;
    for (int at = 1; at < argc;) {
        const char *word = argv[at];
        if (!only_operands && !strcmp(word, "--")) {
            only_operands = true;
            at++;
        } else if (!only_operands && word[0] == '-' && word[1]) {
            at = take_option(argc, argv, at, args);
        } else if (!args->command) {
            args->command = command_of(argv[at++]);
        } else {
            const struct command *c = args->command;
            if (args->operand_count == c->most) wrong("%s is too much; usage: otx %s%s", word, c->name, c->operands);
            args->operands[args->operand_count++] = argv[at++];
        }
    }
    const struct command *c = args->command;
    if (!c) wrong("no command; otx help lists them");
    if (args->operand_count < c->least) wrong("something is missing; usage: otx %s%s", c->name, c->operands);
    unsigned more = args->given & ~(c->options | OPTION_ANYWHERE), missing = c->needs & ~args->given;
    if (more) wrong("%s takes no --%s", c->name, option_name(more));
    if (missing) wrong("%s needs --%s", c->name, option_name(missing));
}

static void print_options(unsigned which) {
    for (int i = 0; i < option_count; i++) {
        const struct option *o = &options[i];
        if (!(o->bit & which)) continue;
        char text[40];
        snprintf(text, sizeof text, "%s%s%s--%s%s%s", o->letter ? "-" : "", o->letter ? o->letter : "",
                 o->letter ? ", " : "", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-20s  %s\n", text, o->words);
    }
}

int help(const struct args *args, struct otx_drive *drive) {
    (void)drive;
    if (args->operand_count) {
        const struct command *c = command_of(args->operands[0]);
        printf("usage: otx %s%s\n\n%s.%s%s\n\noptions:\n", c->name, c->operands, c->summary, *c->more ? "\n" : "",
               c->more);
        print_options(c->options | OPTION_ANYWHERE);
        return 0;
    }
    printf("usage: otx [-s SOCKET] COMMAND [options]\n\ncommands:\n");
    for (const struct command *c = commands; c->name; c++) printf("  %-12s%s\n", c->name, c->summary);
    printf("\noptions of all commands:\n");
    print_options(OPTION_ANYWHERE);
    printf("\n`otx help COMMAND` has the others.\n");
    return 0;
}
