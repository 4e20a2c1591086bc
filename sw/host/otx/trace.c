// SPDX-License-Identifier: Apache-2.0
#include "trace.h"

#include <stdlib.h>
#include <string.h>

int run_trace(const struct args *args, struct otx_drive *drive) {
    const char *what = args->operands[0], *path = args->operands[1];
    if (!strcmp(what, "play")) {
        if (args->operand_count > 2) wrong("%s is too much; usage: otx trace play FILE", args->operands[2]);
        return trace_play(args, drive, path);
    }
    if (strcmp(what, "record")) wrong("no trace %s; there are play and record", what);
    if (args->given & (OPTION_DEPTH | OPTION_WRAP | OPTION_ACTION))
        wrong("trace record takes no --depth, --wrap or --action");
    if (args->operand_count < 3) wrong("no program; usage: otx trace record FILE -- PROGRAM [ARGUMENTS]");
    char *program[64] = {NULL};
    for (int i = 2; i < args->operand_count; i++) program[i - 2] = (char *)(uintptr_t)args->operands[i];
    const char *socket = args->socket ? args->socket : getenv("OTX_SOCKET");
    return trace_record(path, socket ? socket : "build/otx.cmd", program);
}
