// SPDX-License-Identifier: Apache-2.0
#include <string.h>

#include "files.h"

static int ram_close(sqlite3_file *file) {
    struct ram_file *f = (struct ram_file *)file;
    sqlite3_free(f->data);
    *f = (struct ram_file){0};
    return SQLITE_OK;
}

static int ram_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset) {
    const struct ram_file *f = (struct ram_file *)file;
    sqlite3_int64 there = offset < f->size ? f->size - offset : 0;
    if (there > bytes) there = bytes;
    if (there) memcpy(data, f->data + offset, (size_t)there);
    memset((char *)data + there, 0, (size_t)(bytes - there));
    return there < bytes ? SQLITE_IOERR_SHORT_READ : SQLITE_OK;
}

static int ram_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset) {
    struct ram_file *f = (struct ram_file *)file;
    const sqlite3_int64 end = offset + bytes;
    if (end > f->room) {
        const sqlite3_int64 room = end + end / 2 + 4096;
        unsigned char *more = sqlite3_realloc64(f->data, (sqlite3_uint64)room);
        if (!more) return SQLITE_IOERR_NOMEM;
        f->data = more;
        f->room = room;
    }
    if (offset > f->size) memset(f->data + f->size, 0, (size_t)(offset - f->size));
    memcpy(f->data + offset, data, (size_t)bytes);
    if (end > f->size) f->size = end;
    return SQLITE_OK;
}

static int ram_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct ram_file *f = (struct ram_file *)file;
    if (size < f->size) f->size = size;
    return SQLITE_OK;
}

static int ram_size(sqlite3_file *file, sqlite3_int64 *size) {
    *size = ((struct ram_file *)file)->size;
    return SQLITE_OK;
}

static int ram_nothing(sqlite3_file *file, int what) {
    (void)file, (void)what;
    return SQLITE_OK;
}

static int ram_reserved(sqlite3_file *file, int *result) {
    (void)file;
    *result = 0;
    return SQLITE_OK;
}

static int ram_control(sqlite3_file *file, int what, void *argument) {
    (void)file, (void)what, (void)argument;
    return SQLITE_NOTFOUND;
}

static int ram_sector(sqlite3_file *file) {
    (void)file;
    return 4096;
}

static int ram_is(sqlite3_file *file) {
    (void)file;
    return SQLITE_IOCAP_ATOMIC | SQLITE_IOCAP_SEQUENTIAL | SQLITE_IOCAP_SAFE_APPEND;
}

static const sqlite3_io_methods methods = {.iVersion = 1,
                                           .xClose = ram_close,
                                           .xRead = ram_read,
                                           .xWrite = ram_write,
                                           .xTruncate = ram_truncate,
                                           .xSync = ram_nothing,
                                           .xFileSize = ram_size,
                                           .xLock = ram_nothing,
                                           .xUnlock = ram_nothing,
                                           .xCheckReservedLock = ram_reserved,
                                           .xFileControl = ram_control,
                                           .xSectorSize = ram_sector,
                                           .xDeviceCharacteristics = ram_is};

int ram_file_open(struct ram_file *f) {
    *f = (struct ram_file){.base.pMethods = &methods};
    return SQLITE_OK;
}
