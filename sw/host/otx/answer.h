// SPDX-License-Identifier: Apache-2.0
// How the program answers: nothing, a table or a JSON object on standard output, errors in one line on the other.
#ifndef OTX_ANSWER_H
#define OTX_ANSWER_H

#include "args.h"

// For a command without an answer of its own: its end, `blocks` of which were done. `error` is what libotx returned.
int answer(const struct args *args, struct otx_drive *drive, int error, uint64_t blocks);

// The line of an error, of the drive or of the connection; exit code 1.
int failed(const struct args *args, struct otx_drive *drive, int error, uint64_t blocks);

// SUCCESS, LBA_RANGE, ...; of an error of the library ERROR.
const char *status_name(int error);

// A text in quotes, as JSON has it.
void print_string(const char *text);

// Microseconds of so many clocks.
double us(const struct otx_drive *drive, uint64_t clocks);

#endif
