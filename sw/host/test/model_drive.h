// SPDX-License-Identifier: Apache-2.0
// A drive in memory that does what docs/contract.md says of the commands that the SQLite VFS uses, for tests: it can
// refuse its n-th command, and power can fail in it. After a power cut open transactions are gone, durable commits are
// there, of the relaxed ones those up to one of them, and of other writes each is whole or lost.
#ifndef OTX_MODEL_DRIVE_H
#define OTX_MODEL_DRIVE_H

#include <stdbool.h>

#include "otx_port.h"

enum { MODEL_LBAS = 400 };

struct model_drive {
    uint32_t entries;  // of a transaction at most
    int commands;      // so far; reads only if they count
    bool reads_count;
    int cut_at, fail_at;  // numbers of commands, from 1 on; 0: none
    bool after;           // what is cut there has taken place all the same; what fails, too, but only commits do
    int status;           // of the one that fails
    bool off;             // power has failed
    int begins, writes, commits, aborts, flushes, reads;
    const char *identity;
};

extern struct model_drive model;

// A blank drive, switched on.
void model_new(uint32_t entries);

// Power comes again; `seed` decides what is lost.
void model_restart(unsigned seed);

// The block as everybody sees it.
const uint8_t *model_block(uint32_t lba);

int model_open_transactions(void);

otx_port_open model_open;

#endif
