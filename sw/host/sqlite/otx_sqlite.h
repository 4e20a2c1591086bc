// SPDX-License-Identifier: Apache-2.0
// SQLite on a drive without a file system and without a journal on it: a VFS whose database is an area of the drive,
// and whose transactions are those of the drive.
//
//     sqlite3_open_v2("file:build/otx.cmd?vfs=otx", ...)      the simulated drive of `make drive`
//     sqlite3_open_v2("file:/dev/nvme0n1?vfs=otx", ...)       NVMe passthrough, as root
//
// Parameters of the URI: first (block where the area begins, 0), blocks (its length, all that is left), txid (the
// transaction of the drive that it uses, 31: each database on a drive has its own), relaxed (1: a COMMIT that has
// returned is ordered, and durable later: what survives a power cut is all commits up to one of them).
//
// What holds: after a power cut at any instant the database is that of the last COMMIT which returned, or of the one
// under way, whole. A COMMIT that is refused or fails has changed nothing. A transaction changes at most so many blocks
// as the drive's transactions have entries; one more is SQLITE_FULL, and nothing of it remains.
//
// One connection at a time has a database; another one gets SQLITE_BUSY. Threads as SQLite has them. Rollback journals,
// statement journals and temporary databases are in this process's memory. WAL is refused; so is a COMMIT that changes
// two databases at once.
//
// PRAGMA otx_status: one line of what has been asked of the drive, and of the last call that failed.
// PRAGMA otx_flush: what relaxed commits have left is durable.
#ifndef OTX_SQLITE_H
#define OTX_SQLITE_H

#include "otx_port.h"

// Registers the VFS `name`, whose drives `open` opens (NULL: otx_port_open_any, by what the path is). `name` stays the
// caller's and must stay. An SQLite code. Not for the extension (otx_sqlite.so), which registers "otx" itself.
int otx_sqlite_register(const char *name, otx_port_open *open, int make_default);

// The entry of the extension: `SELECT load_extension('build/host/otx_sqlite.so')`, which stays loaded.
struct sqlite3;
struct sqlite3_api_routines;
int sqlite3_otxsqlite_init(struct sqlite3 *db, char **message, const struct sqlite3_api_routines *api);

#endif
