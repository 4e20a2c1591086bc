// SPDX-License-Identifier: Apache-2.0
// What the command line says: one table of commands, one of options. Help, the check of arguments and the man page's
// test (cocotb_tests/system/test_otx.py) all go by these.
#ifndef OTX_ARGS_H
#define OTX_ARGS_H

#include "otx.h"

enum {
    OPTION_TXID = 1 << 0,
    OPTION_FUA = 1 << 1,
    OPTION_COMMIT = 1 << 2,
    OPTION_RELAXED = 1 << 3,
    OPTION_BARRIER = 1 << 4,
    OPTION_ORDER = 1 << 5,
    OPTION_ORDERLESS = 1 << 6,
    OPTION_PRIORITY = 1 << 7,
    OPTION_STREAM = 1 << 8,
    OPTION_INPUT = 1 << 9,
    OPTION_OUTPUT = 1 << 10,
    OPTION_OFF = 1 << 11,
    OPTION_SOCKET = 1 << 12,
    OPTION_JSON = 1 << 13,
    OPTION_DEPTH = 1 << 14,
    OPTION_WRAP = 1 << 15,
    OPTION_ACTION = 1 << 16,
    OPTION_ANYWHERE = OPTION_SOCKET | OPTION_JSON,
    OPTION_WHOLE = OPTION_FUA | OPTION_COMMIT | OPTION_RELAXED | OPTION_BARRIER | OPTION_ORDER | OPTION_ORDERLESS |
        OPTION_PRIORITY | OPTION_STREAM
};

struct args;

struct command {
    const char *name, *operands;  // as help shows them
    int least, most;              // operands
    unsigned options, needs;      // options that it takes, and those without which it makes no sense
    int (*run)(const struct args *args, struct otx_drive *drive);  // returns an exit code
    const char *summary, *more;
};

struct args {
    const struct command *command;
    const char *operands[64];
    int operand_count;
    unsigned given;  // options
    const char *socket, *input, *output;
    uint32_t depth;
    char action;
    struct otx_options options;
};

// Ends the program with exit code 2 and one line of words.
_Noreturn void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Reads the arguments of main; a wrong one ends the program.
void read_args(int argc, char **argv, struct args *args);

// A whole number from 0 to `most`, decimal or with 0x; else the program ends and names `what`.
uint32_t number(const char *text, uint32_t most, const char *what);

// The commands, up to one without a name.
extern const struct command commands[];

// Prints help for all, or for one command.
int help(const struct args *args, struct otx_drive *drive);

#endif
