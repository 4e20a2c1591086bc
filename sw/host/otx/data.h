// SPDX-License-Identifier: Apache-2.0
// Commands on blocks. Ranges of more than 32 blocks are several commands of the drive, each atomic by itself, one after
// the other; the first that fails ends it.
#ifndef OTX_DATA_H
#define OTX_DATA_H

#include "args.h"

int run_read(const struct args *args, struct otx_drive *drive);
int run_write(const struct args *args, struct otx_drive *drive);
int run_trim(const struct args *args, struct otx_drive *drive);
int run_zero(const struct args *args, struct otx_drive *drive);
int run_rflush(const struct args *args, struct otx_drive *drive);

#endif
