// SPDX-License-Identifier: Apache-2.0
// The two kinds of files of the VFS.
#ifndef OTX_SQLITE_FILES_H
#define OTX_SQLITE_FILES_H

#include <sqlite3ext.h>
#include <stdbool.h>

#include "store.h"

SQLITE_EXTENSION_INIT3

// A database on a drive.
struct db_file {
    sqlite3_file base;
    struct store store;
    int locks[2];  // sockets that keep others from the area and the txid; -1: none
    int level;     // SQLite's lock
    bool read_only;
    bool spilled;  // pages went to the drive before the batch began
};

// A journal or a temporary database: memory, gone when it is closed.
struct ram_file {
    sqlite3_file base;
    unsigned char *data;
    sqlite3_int64 size, room;
};

#pragma GCC visibility push(hidden)

int db_file_open(struct db_file *f, const char *name, otx_port_open *open, int flags);
int ram_file_open(struct ram_file *f);

#pragma GCC visibility pop

#endif
