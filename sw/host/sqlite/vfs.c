// SPDX-License-Identifier: Apache-2.0
// The VFS: databases on a drive, everything else in memory. Time, randomness and extensions are those of the default
// VFS.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "otx_sqlite.h"

struct vfs {
    sqlite3_vfs base;
    sqlite3_vfs *below;
    otx_port_open *open;
};

static sqlite3_vfs *below(sqlite3_vfs *vfs) { return ((struct vfs *)vfs)->below; }

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    const int refused = SQLITE_OPEN_WAL | SQLITE_OPEN_SUPER_JOURNAL;
    int rc = SQLITE_CANTOPEN;
    file->pMethods = NULL;
    if (flags & SQLITE_OPEN_MAIN_DB) rc = db_file_open((struct db_file *)file, name, ((struct vfs *)vfs)->open, flags);
    else if (!(flags & refused)) rc = ram_file_open((struct ram_file *)file);
    if (out) *out = flags;
    return rc;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    (void)vfs, (void)name, (void)sync;
    return SQLITE_OK;  // it went when it was closed
}

static int vfs_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    (void)vfs, (void)name, (void)flags;
    *result = 0;  // a journal that outlives its connection: there is none
    return SQLITE_OK;
}

static int vfs_full(sqlite3_vfs *vfs, const char *name, int room, char *out) {
    char *path = realpath(name, NULL);
    (void)vfs;
    const int length = snprintf(out, (size_t)room, "%s", path ? path : name);
    free(path);
    return length < room ? SQLITE_OK : SQLITE_CANTOPEN_FULLPATH;
}

static void *vfs_dl_open(sqlite3_vfs *vfs, const char *name) { return below(vfs)->xDlOpen(below(vfs), name); }
static void vfs_dl_error(sqlite3_vfs *vfs, int room, char *out) { below(vfs)->xDlError(below(vfs), room, out); }
static void (*vfs_dl_sym(sqlite3_vfs *vfs, void *library, const char *name))(void) {
    return below(vfs)->xDlSym(below(vfs), library, name);
}
static void vfs_dl_close(sqlite3_vfs *vfs, void *library) { below(vfs)->xDlClose(below(vfs), library); }
static int vfs_randomness(sqlite3_vfs *vfs, int n, char *out) { return below(vfs)->xRandomness(below(vfs), n, out); }
static int vfs_sleep(sqlite3_vfs *vfs, int us) { return below(vfs)->xSleep(below(vfs), us); }
static int vfs_time(sqlite3_vfs *vfs, double *now) { return below(vfs)->xCurrentTime(below(vfs), now); }
static int vfs_error(sqlite3_vfs *vfs, int room, char *out) {
    return below(vfs)->xGetLastError ? below(vfs)->xGetLastError(below(vfs), room, out) : 0;
}

int otx_sqlite_register(const char *name, otx_port_open *open, int make_default) {
    struct vfs *vfs = sqlite3_malloc64(sizeof *vfs);
    sqlite3_vfs *found = sqlite3_vfs_find(NULL);
    if (!vfs || !found) return SQLITE_NOMEM;
    *vfs = (struct vfs){
        .base = {.iVersion = 1,
                 .szOsFile = (int)(sizeof(struct db_file) > sizeof(struct ram_file) ? sizeof(struct db_file)
                                                                                    : sizeof(struct ram_file)),
                 .mxPathname = found->mxPathname,
                 .zName = name,
                 .xOpen = vfs_open,
                 .xDelete = vfs_delete,
                 .xAccess = vfs_access,
                 .xFullPathname = vfs_full,
                 .xDlOpen = vfs_dl_open,
                 .xDlError = vfs_dl_error,
                 .xDlSym = vfs_dl_sym,
                 .xDlClose = vfs_dl_close,
                 .xRandomness = vfs_randomness,
                 .xSleep = vfs_sleep,
                 .xCurrentTime = vfs_time,
                 .xGetLastError = vfs_error},
        .below = found,
        .open = open ? open : otx_port_open_any};
    return sqlite3_vfs_register(&vfs->base, make_default);
}
