// SPDX-License-Identifier: Apache-2.0
// Commands that answer with numbers: tables in words with units, or JSON.
#ifndef OTX_SHOW_H
#define OTX_SHOW_H

#include "args.h"

int run_info(const struct args *args, struct otx_drive *drive);
int run_health(const struct args *args, struct otx_drive *drive);
int run_query(const struct args *args, struct otx_drive *drive);

#endif
