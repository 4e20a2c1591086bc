// SPDX-License-Identifier: Apache-2.0
// The VFS as an extension that any SQLite can load, also one without SQLITE_ENABLE_BATCH_ATOMIC_WRITE.
#include <sqlite3ext.h>

#include "otx_sqlite.h"

SQLITE_EXTENSION_INIT1

__attribute__((visibility("default"))) int sqlite3_otxsqlite_init(struct sqlite3 *db, char **message,
                                                                  const struct sqlite3_api_routines *api) {
    (void)db;
    SQLITE_EXTENSION_INIT2(api)
    const int rc = otx_sqlite_register("otx", 0, 0);
    if (rc && message) *message = sqlite3_mprintf("otx: the VFS cannot be registered");
    return rc ? rc : SQLITE_OK_LOAD_PERMANENTLY;
}
