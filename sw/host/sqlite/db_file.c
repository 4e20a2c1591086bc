// SPDX-License-Identifier: Apache-2.0
// A database on a drive, for SQLite's pager.
//
// Whatever the pager writes between two syncs is one transaction of the drive. With SQLITE_ENABLE_BATCH_ATOMIC_WRITE it
// says where one begins and ends (SQLITE_FCNTL_BEGIN, COMMIT and ROLLBACK_ATOMIC_WRITE), and keeps no journal. Without,
// and where SQLite keeps one all the same (the first transaction of an empty database, one that does not fit into the
// page cache, synchronous=OFF), the journal is in memory, the transaction begins with the first write and is committed
// by SQLITE_FCNTL_SYNC, which comes before each xSync and in place of it; xSync has nothing left to do.
//
// A lock that is given up while a transaction is open means that nobody wants it any more: ABORT. So does the question
// whether the pager's pages are still right, which comes when it begins anew: with locking_mode=EXCLUSIVE it keeps its
// lock through a rollback.
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "files.h"
#include "otx.h"

enum { PAGER_ASKS_AT = 24, PAGER_ASKS_BYTES = 16 };      // that question: change counter and what is behind it
enum { VERSIONS_AT = 18, WAL = 2, HEADER_BYTES = 100 };  // in the first page of a database: for writers, for readers

static struct store *store_of(sqlite3_file *file) { return &((struct db_file *)file)->store; }

// SQLite's code for what a store returned; words go to SQLite's log.
static int code(const struct store *s, int error, int other) {
    if (!error) return SQLITE_OK;
    if (error == OTX_STATUS_TX_FULL || error == OTX_STATUS_CAPACITY || error == STORE_FULL) other = SQLITE_FULL;
    if (error == OTX_ERROR_MEMORY) other = SQLITE_NOMEM;
    sqlite3_log(other, "otx: %s", s->message);
    return other;
}

static void unlock_drive(struct db_file *f) {
    for (int i = 0; i < 2; i++)
        if (f->locks[i] >= 0) close(f->locks[i]);
}

static int db_close(sqlite3_file *file) {
    struct db_file *f = (struct db_file *)file;
    if (f->store.relaxed && f->store.exists && !f->read_only) store_flush(&f->store);
    store_close(&f->store);
    unlock_drive(f);
    return SQLITE_OK;
}

static int db_read(sqlite3_file *file, void *data, int bytes, sqlite3_int64 offset) {
    struct store *s = store_of(file);
    int rc = SQLITE_OK;
    if (offset == PAGER_ASKS_AT && bytes == PAGER_ASKS_BYTES) rc = code(s, store_abort(s), SQLITE_IOERR_READ);
    if (!rc) rc = code(s, store_read(s, data, (uint32_t)bytes, (uint64_t)offset), SQLITE_IOERR_READ);
    const bool there = (uint64_t)offset + (uint32_t)bytes <= s->size;
    return rc || there ? rc : SQLITE_IOERR_SHORT_READ;
}

// A database that says so could not be opened here again: what a copy of one in WAL mode would leave.
static bool wants_wal(const uint8_t *data, int bytes, sqlite3_int64 offset) {
    return !offset && bytes >= HEADER_BYTES && (data[VERSIONS_AT] == WAL || data[VERSIONS_AT + 1] == WAL);
}

static int db_write(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 offset) {
    struct store *s = store_of(file);
    if (((struct db_file *)file)->read_only) return SQLITE_READONLY;
    if (wants_wal(data, bytes, offset))
        return code(s, store_refuse(s, "a database in WAL mode: PRAGMA journal_mode=DELETE where it comes from"),
                    SQLITE_IOERR_WRITE);
    return code(s, store_write(s, data, (uint32_t)bytes, (uint64_t)offset), SQLITE_IOERR_WRITE);
}

// Without an open transaction the pager makes the file shorter behind a COMMIT, which it would say has failed. A file
// with more pages than its first one counts is whole, so the COMMIT holds, whatever becomes of this.
static int db_truncate(sqlite3_file *file, sqlite3_int64 size) {
    struct store *s = store_of(file);
    const bool behind = !s->open && !s->dropped && !s->lost && (uint64_t)size < s->size;
    if (((struct db_file *)file)->read_only) return SQLITE_READONLY;
    const int rc = code(s, store_truncate(s, (uint64_t)size), SQLITE_IOERR_TRUNCATE);
    if (!rc || !behind) return rc;
    store_abort(s);
    return SQLITE_OK;
}

static int db_sync(sqlite3_file *file, int flags) {
    struct store *s = store_of(file);
    (void)flags;
    return code(s, store_commit(s), SQLITE_IOERR_FSYNC);
}

static int db_size(sqlite3_file *file, sqlite3_int64 *size) {
    *size = (sqlite3_int64)store_of(file)->size;
    return SQLITE_OK;
}

static int db_lock(sqlite3_file *file, int level) {
    struct db_file *f = (struct db_file *)file;
    if (level > f->level) f->level = level;
    return SQLITE_OK;
}

static int db_unlock(sqlite3_file *file, int level) {
    struct db_file *f = (struct db_file *)file;
    if (level < f->level) f->level = level;
    if (!f->store.open && !f->store.dropped) return SQLITE_OK;  // behind a COMMIT: that has not failed
    return code(&f->store, store_abort(&f->store), SQLITE_IOERR_UNLOCK);
}

static int db_reserved(sqlite3_file *file, int *result) {
    *result = ((struct db_file *)file)->level >= SQLITE_LOCK_RESERVED;
    return SQLITE_OK;
}

static char *status(const struct store *s) {
    const struct store_counts *c = &s->counts;
    return sqlite3_mprintf(
        "reads %llu writes %llu blocks %llu begins %llu commits %llu batches %llu aborts %llu flushes %llu trims %llu; "
        "last error: %s",
        c->reads, c->writes, c->blocks_written, c->begins, c->commits, c->batches, c->aborts, c->flushes, c->trims,
        *s->message ? s->message : "none");
}

// words[1] is the pragma, words[2] its argument or NULL, words[0] what it says.
static int pragma(struct store *s, char **words) {
    if (!sqlite3_stricmp(words[1], "otx_status")) {
        words[0] = status(s);
        return words[0] ? SQLITE_OK : SQLITE_NOMEM;
    }
    if (!sqlite3_stricmp(words[1], "otx_flush")) {
        const int error = store_flush(s);
        if (error) words[0] = sqlite3_mprintf("otx: %s", s->message);
        return error ? SQLITE_ERROR : SQLITE_OK;
    }
    if (!words[2]) return SQLITE_NOTFOUND;
    if (!sqlite3_stricmp(words[1], "journal_mode") && !sqlite3_stricmp(words[2], "wal")) {
        words[0] = sqlite3_mprintf("otx: a database on the drive needs no WAL and cannot have one");
        return SQLITE_ERROR;
    }
    // another one would come with a VACUUM, which SQLite does not write as one batch then
    if (!sqlite3_stricmp(words[1], "page_size") && s->size) return SQLITE_OK;
    return SQLITE_NOTFOUND;
}

static int db_control(sqlite3_file *file, int what, void *argument) {
    struct store *s = store_of(file);
    switch (what) {
        case SQLITE_FCNTL_BEGIN_ATOMIC_WRITE:  // the first write opens the transaction
            ((struct db_file *)file)->spilled = s->open || s->dropped;
            return SQLITE_OK;
        case SQLITE_FCNTL_COMMIT_ATOMIC_WRITE:
            s->counts.batches += s->open;
            return code(s, store_commit(s), SQLITE_IOERR_COMMIT_ATOMIC);
        case SQLITE_FCNTL_ROLLBACK_ATOMIC_WRITE:
            // SQLite would write what was in the batch once more, and not what went before it: all fails until it
            // unlocks
            if (((struct db_file *)file)->spilled) {
                if (s->open) store_refuse(s, "a transaction of which a part is lost");
                return SQLITE_OK;
            }
            return code(s, store_abort(s), SQLITE_IOERR_ROLLBACK_ATOMIC);
        case SQLITE_FCNTL_SYNC:
            if (!argument) return code(s, store_commit(s), SQLITE_IOERR_FSYNC);
            // dropped at once: SQLite does not play the journal back, for it takes the super-journal for gone
            return code(s, store_refuse(s, "one COMMIT cannot change two databases at once"), SQLITE_IOERR_FSYNC);
        case SQLITE_FCNTL_PRAGMA: return pragma(s, argument);
        case SQLITE_FCNTL_HAS_MOVED: *(int *)argument = 0; return SQLITE_OK;
        default: return SQLITE_NOTFOUND;
    }
}

static int db_sector(sqlite3_file *file) {
    (void)file;
    return OTX_BLOCK;
}

// A write is in a transaction: all of it, nothing else, and in order with all others.
static int db_is(sqlite3_file *file) {
    (void)file;
    return SQLITE_IOCAP_BATCH_ATOMIC | SQLITE_IOCAP_ATOMIC | SQLITE_IOCAP_POWERSAFE_OVERWRITE |
           SQLITE_IOCAP_SAFE_APPEND | SQLITE_IOCAP_SEQUENTIAL;
}

static const sqlite3_io_methods methods = {.iVersion = 1,
                                           .xClose = db_close,
                                           .xRead = db_read,
                                           .xWrite = db_write,
                                           .xTruncate = db_truncate,
                                           .xSync = db_sync,
                                           .xFileSize = db_size,
                                           .xLock = db_lock,
                                           .xUnlock = db_unlock,
                                           .xCheckReservedLock = db_reserved,
                                           .xFileControl = db_control,
                                           .xSectorSize = db_sector,
                                           .xDeviceCharacteristics = db_is};

// A name of this machine's that one process at a time can have, until it ends; -1: another one has it.
static int lock_name(const char *drive, const char *what, uint32_t number) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};  // its path begins with a 0: no file
    const int length =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "opentxssd/sqlite %s %s %u", drive, what, number);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (fd < 0 || !bind(fd, (struct sockaddr *)&address, bytes)) return fd;
    close(fd);
    return -1;
}

static bool lock_drive(struct db_file *f, const struct otx_port *port, uint32_t first, uint32_t txid) {
    if (!*port->identity) return true;
    f->locks[0] = lock_name(port->identity, "first", first);
    f->locks[1] = lock_name(port->identity, "txid", txid);
    return f->locks[0] >= 0 && f->locks[1] >= 0;
}

int db_file_open(struct db_file *f, const char *name, otx_port_open *open, int flags) {
    struct otx_port port;
    char why[200] = "";
    const sqlite3_int64 first = sqlite3_uri_int64(name, "first", 0), txid = sqlite3_uri_int64(name, "txid", 31);
    *f = (struct db_file){.locks = {-1, -1}, .read_only = flags & SQLITE_OPEN_READONLY};
    if (open(name, &port, why, sizeof why)) {
        sqlite3_log(SQLITE_CANTOPEN, "otx: %s", why);
        return SQLITE_CANTOPEN;
    }
    const sqlite3_int64 left = first < port.lbas ? port.lbas - first : 0;
    const sqlite3_int64 blocks = sqlite3_uri_int64(name, "blocks", left);
    int rc = SQLITE_OK;
    if (first < 0 || blocks < 2 || blocks > left || txid < 0 || txid >= OTX_TXIDS) {
        rc = SQLITE_CANTOPEN;
        sqlite3_log(rc, "otx: first, blocks or txid is not of this drive of %u blocks", port.lbas);
    } else if (!lock_drive(f, &port, (uint32_t)first, (uint32_t)txid)) {
        rc = SQLITE_BUSY;
        sqlite3_log(rc, "otx: the database, or transaction %d of the drive, is another connection's", (int)txid);
    }
    if (rc) {
        unlock_drive(f);
        port.methods->close(port.context);
        return rc;
    }
    const int error = store_open(&f->store, &port, (uint32_t)first, (uint32_t)blocks, (uint8_t)txid);
    f->store.relaxed = sqlite3_uri_boolean(name, "relaxed", 0);
    rc = code(&f->store, error, error == STORE_FOREIGN ? SQLITE_NOTADB : SQLITE_CANTOPEN);
    if (!rc && !f->store.exists && !(flags & SQLITE_OPEN_CREATE)) {
        rc = SQLITE_CANTOPEN;
        sqlite3_log(rc, "otx: no database there");
    }
    if (rc) {
        store_close(&f->store);
        unlock_drive(f);
        return rc;
    }
    f->base.pMethods = &methods;
    return SQLITE_OK;
}
