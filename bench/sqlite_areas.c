// SPDX-License-Identifier: Apache-2.0
// A VFS for bench/e13.py: SQLite with its own journal or WAL on the same raw drive, as a file system that costs
// nothing.
//
// Database, rollback journal and WAL are areas of the drive: its first half, the third quarter and the last. Bytes are
// kept in memory as in a page cache; xSync writes the blocks that changed, neighbours as one, and sends a FLUSH, and so
// does the deletion of a journal that SQLite wants to be synced (a FLUSH without a write: of what a file system writes
// for it nothing is done). Sizes are in memory only, so nothing survives the process: for figures, not for data.
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "otx.h"
#include "otx_port.h"

enum { AREAS = 3 };

struct area {
    unsigned char *data, *dirty;
    uint32_t first, blocks;
    sqlite3_int64 size;
    int exists;
};

struct file {
    sqlite3_file base;
    struct area *area;
    unsigned char *temporary;  // of a file that is on no drive
    sqlite3_int64 size, room;
};

static struct otx_port port;
static struct area areas[AREAS];
static sqlite3_vfs *below;

static struct area *area_of(int flags) {
    if (flags & SQLITE_OPEN_MAIN_DB) return &areas[0];
    if (flags & SQLITE_OPEN_MAIN_JOURNAL) return &areas[1];
    return flags & SQLITE_OPEN_WAL ? &areas[2] : NULL;
}

static struct area *area_named(const char *name) {
    const size_t n = strlen(name);
    if (n > 8 && !strcmp(name + n - 8, "-journal")) return &areas[1];
    return n > 4 && !strcmp(name + n - 4, "-wal") ? &areas[2] : &areas[0];
}

static int flush(void) { return port.methods->flush(port.context) ? SQLITE_IOERR_FSYNC : SQLITE_OK; }

static int sync_area(struct area *a) {
    const uint32_t end = (uint32_t)((a->size + OTX_BLOCK - 1) / OTX_BLOCK);
    for (uint32_t b = 0; b < end;) {
        uint32_t n = 0;
        while (b + n < end && n < OTX_MAX_BLOCKS && a->dirty[b + n]) a->dirty[b + n++] = 0;
        if (n && port.methods->write(port.context, a->first + b, n, a->data + (size_t)b * OTX_BLOCK, -1, 0))
            return SQLITE_IOERR_WRITE;
        b += n ? n : 1;
    }
    return flush();
}

static int f_close(sqlite3_file *file) {
    free(((struct file *)file)->temporary);
    return SQLITE_OK;
}

static int f_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset) {
    const struct file *f = (struct file *)file;
    const unsigned char *from = f->area ? f->area->data : f->temporary;
    const sqlite3_int64 size = f->area ? f->area->size : f->size;
    sqlite3_int64 there = offset < size ? size - offset : 0;
    if (there > bytes) there = bytes;
    if (there) memcpy(data, from + offset, (size_t)there);
    memset((char *)data + there, 0, (size_t)(bytes - there));
    return there < bytes ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int f_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset) {
    struct file *f = (struct file *)file;
    struct area *a = f->area;
    const sqlite3_int64 end = offset + bytes;
    if (!a) {
        if (end > f->room) {
            unsigned char *more = realloc(f->temporary, (size_t)(2 * end));
            if (!more) return SQLITE_IOERR_NOMEM;
            f->temporary = more, f->room = 2 * end;
        }
        memcpy(f->temporary + offset, data, (size_t)bytes);
        if (end > f->size) f->size = end;
        return SQLITE_OK;
    }
    if (end > (sqlite3_int64)a->blocks * OTX_BLOCK) return SQLITE_FULL;
    memcpy(a->data + offset, data, (size_t)bytes);
    for (sqlite3_int64 b = offset / OTX_BLOCK; b * OTX_BLOCK < end; b++) a->dirty[b] = 1;
    if (end > a->size) a->size = end;
    return SQLITE_OK;
}

static int f_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct file *f = (struct file *)file;
    sqlite3_int64 *of = f->area ? &f->area->size : &f->size;
    if (size < *of) *of = size;
    return SQLITE_OK;
}

static int f_sync(sqlite3_file *file, int flags) {
    const struct file *f = (struct file *)file;
    (void)flags;
    return f->area ? sync_area(f->area) : SQLITE_OK;
}

static int f_size(sqlite3_file *file, sqlite3_int64 *size) {
    const struct file *f = (struct file *)file;
    *size = f->area ? f->area->size : f->size;
    return SQLITE_OK;
}

static int f_lock(sqlite3_file *file, int level) { return (void)file, (void)level, SQLITE_OK; }
static int f_reserved(sqlite3_file *file, int *result) { return (void)file, *result = 0, SQLITE_OK; }
static int f_control(sqlite3_file *file, int what, void *arg) {
    return (void)file, (void)what, (void)arg, SQLITE_NOTFOUND;
}
static int f_sector(sqlite3_file *file) { return (void)file, OTX_BLOCK; }
static int f_is(sqlite3_file *file) { return (void)file, SQLITE_IOCAP_POWERSAFE_OVERWRITE; }

static const sqlite3_io_methods methods = {1,      f_close, f_read,     f_write,   f_truncate, f_sync, f_size,
                                           f_lock, f_lock,  f_reserved, f_control, f_sector,   f_is,   NULL,
                                           NULL,   NULL,    NULL,       NULL,      NULL};

static int v_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    struct file *f = (struct file *)file;
    (void)vfs, (void)name;
    *f = (struct file){.base.pMethods = &methods, .area = area_of(flags)};
    if (f->area) f->area->exists = 1;
    if (out) *out = flags;
    return SQLITE_OK;
}

static int v_delete(sqlite3_vfs *vfs, const char *name, int sync) {
    struct area *a = area_named(name);
    (void)vfs;
    a->size = a->exists = 0;
    memset(a->dirty, 0, a->blocks);
    return sync ? flush() : SQLITE_OK;
}

static int v_access(sqlite3_vfs *vfs, const char *name, int flags, int *result) {
    const struct area *a = area_named(name);
    (void)vfs, (void)flags;
    *result = a->exists && a->size;
    return SQLITE_OK;
}

static int v_full(sqlite3_vfs *vfs, const char *name, int room, char *out) {
    (void)vfs;
    return (int)strlen(name) < room ? strcpy(out, name), SQLITE_OK : SQLITE_CANTOPEN;
}

static int v_random(sqlite3_vfs *vfs, int n, char *out) { return (void)vfs, memset(out, 7, (size_t)n), n; }
static int v_sleep(sqlite3_vfs *vfs, int us) { return (void)vfs, us; }
static int v_time(sqlite3_vfs *vfs, double *now) { return (void)vfs, below->xCurrentTime(below, now); }

static sqlite3_vfs areas_vfs = {.iVersion = 1,
                                .szOsFile = sizeof(struct file),
                                .mxPathname = 200,
                                .zName = "areas",
                                .xOpen = v_open,
                                .xDelete = v_delete,
                                .xAccess = v_access,
                                .xFullPathname = v_full,
                                .xRandomness = v_random,
                                .xSleep = v_sleep,
                                .xCurrentTime = v_time};

// The VFS "areas" on what `open` opens, blank; again: on another drive.
int sqlite_areas_register(otx_port_open *open) {
    char why[200];
    if (open("areas", &port, why, sizeof why)) return SQLITE_CANTOPEN;
    const uint32_t quarter = port.lbas / 4;
    for (uint32_t i = 0; i < AREAS; i++) {
        free(areas[i].data), free(areas[i].dirty);
        areas[i] = (struct area){.first = i ? (i + 1) * quarter : 0, .blocks = i ? quarter : 2 * quarter};
        areas[i].data = calloc(areas[i].blocks, OTX_BLOCK);
        areas[i].dirty = calloc(areas[i].blocks, 1);
        if (!areas[i].data || !areas[i].dirty) return SQLITE_NOMEM;
    }
    below = sqlite3_vfs_find(NULL);
    return sqlite3_vfs_register(&areas_vfs, 0);
}
