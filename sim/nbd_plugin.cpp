// SPDX-License-Identifier: Apache-2.0
// nbdkit plugin: the simulated drive as a network block device. Parameters: image=FILE (none: in memory),
// firmware=FILE, trace=FILE.fst, trace_commits=1, commands=SOCKET (none: no command socket).
//
// Export `drive` (the default): the plain drive; FLUSH, FUA, TRIM and WRITE ZEROES are the drive's own. Export
// `atomic`: all that one connection writes, trims and zeroes between two flushes is one transaction, visible to this
// connection only until FLUSH commits it; FUA is a flush; closing without a flush aborts, and so does a flush after a
// request of the transaction failed (it says so with EIO). 32 connections to `atomic` at once. Requests are whole
// blocks of 4,096 bytes, others get EINVAL; longer ones than 32 blocks become several commands (each atomic by itself).
// A connection to `atomic` takes a txid that nobody has; while it has it, the command socket (command_socket.h) does
// not take commands that name it. A RECOVER from there aborts, as everybody's, what such a connection has written: its
// next flush says so. SIGTERM is an orderly power-down, after which a start replays nothing; SIGKILL is a power cut.
#define NBDKIT_API_VERSION 2
#include <errno.h>
#include <nbdkit-plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "command_socket.h"
#include "drive_engine.h"
#include "otx_numbers.h"

#define THREAD_MODEL NBDKIT_THREAD_MODEL_PARALLEL

namespace {

constexpr uint64_t boot_clocks = 200'000'000, close_clocks = 100'000'000;

// By status.
constexpr struct {
    int error;
    const char *words;
} outcome[] = {
#define OTX_OUTCOME(name, number, words, error) {error, words},
    OTX_STATUSES(OTX_OUTCOME)
#undef OTX_OUTCOME
};

std::string image, firmware, trace, commands;
bool trace_commits;
std::unique_ptr<otx::DriveEngine> engine;
std::unique_ptr<otx::CommandSocket> command_socket;

struct Connection {
    bool atomic = false;
    uint8_t txid = 0;
    std::mutex mutex;      // `written` changes in the order in which commands enter the drive
    bool written = false;  // the transaction has something
    bool failed = false;   // a request of the transaction failed
};

std::mutex txids_mutex;  // never taken by who holds the mutex of a connection
Connection *atomic_of[OTX_TXIDS];

Connection &of(void *handle) { return *static_cast<Connection *>(handle); }

int report(const char *what, uint8_t status) {
    if (!status) return 0;
    const auto &o = outcome[std::min<size_t>(status, std::size(outcome) - 1)];
    nbdkit_error("%s: %s", what, o.words);
    nbdkit_set_error(o.error);
    return -1;
}

// COMMIT or ABORT of the connection's transaction, if it has anything.
uint8_t end_transaction(Connection &c, otx_opcode op) {
    otx::Batch batch;
    {
        const std::lock_guard lock(c.mutex);
        if (!c.written) return 0;
        c.written = false;
        otx_cmd cmd = {};
        cmd.opcode = op;
        cmd.txid = c.txid;
        cmd.has_tx = 1;
        engine->start(cmd, nullptr, batch);
    }
    return engine->wait(batch);
}

// A command of the command socket: it does not touch the transaction of a connection, but RECOVER does, and says so.
bool enter(const otx_cmd &cmd, const std::function<void()> &start) {
    const std::lock_guard txids(txids_mutex);
    if (cmd.has_tx && cmd.txid < OTX_TXIDS && atomic_of[cmd.txid]) return false;
    std::vector<std::unique_lock<std::mutex>> locks;
    for (Connection *c : atomic_of)
        if (c && cmd.opcode == OTX_OP_RECOVER) {
            locks.emplace_back(c->mutex);
            c->failed |= c->written;
        }
    start();
    return true;
}

// Whether the drive has that transaction for somebody: open, prepared or on its way to its commit.
bool in_use(uint8_t txid) {
    otx::Batch batch;
    otx_cmd cmd = {};
    cmd.opcode = OTX_OP_QUERY;
    cmd.arg = OTX_QUERY_TX;
    cmd.has_tx = 1;
    cmd.txid = txid;
    engine->start(cmd, nullptr, batch);
    engine->wait(batch);
    const uint32_t state = batch.result & 7;
    return state == OTX_TX_OPEN || state == OTX_TX_PREPARED || state == OTX_TX_COMMITTING;
}

// Gives the connection a txid that nobody has; whether there was one.
bool take_txid(Connection &c) {
    for (uint8_t txid = 0; txid < OTX_TXIDS; txid++) {
        {
            const std::lock_guard lock(txids_mutex);
            if (atomic_of[txid]) continue;
            atomic_of[txid] = &c;
        }
        c.txid = txid;
        if (!in_use(txid)) return true;
        const std::lock_guard lock(txids_mutex);
        atomic_of[txid] = nullptr;
    }
    return false;
}

// A request of whole blocks, as commands of up to 32.
int transfer(void *handle, const char *what, otx_opcode op, uint8_t *data, uint64_t bytes, uint64_t offset,
             uint32_t flags) {
    if (offset % OTX_BLOCK || bytes % OTX_BLOCK) {
        nbdkit_error("%s: %llu bytes at %llu are not whole blocks of 4096", what, (unsigned long long)bytes,
                     (unsigned long long)offset);
        nbdkit_set_error(EINVAL);
        return -1;
    }
    Connection &c = of(handle);
    otx::Batch batch;
    {
        std::unique_lock lock(c.mutex, std::defer_lock);
        if (c.atomic && op != OTX_OP_READ) {
            lock.lock();
            c.written = true;
        }
        uint32_t lba = uint32_t(offset / OTX_BLOCK), left = uint32_t(bytes / OTX_BLOCK);
        while (left) {
            const uint32_t n = std::min<uint32_t>(left, OTX_MAX_BLOCKS);
            otx_cmd cmd = {};
            cmd.opcode = op;
            cmd.lba = lba;
            cmd.count = uint16_t(n);
            cmd.has_tx = c.atomic;
            cmd.txid = c.txid;
            cmd.fua = (flags & NBDKIT_FLAG_FUA) != 0;
            engine->start(cmd, data, batch);
            lba += n;
            left -= n;
            if (data) data += n * OTX_BLOCK;
        }
    }
    const uint8_t status = engine->wait(batch);
    if (status && c.atomic && op != OTX_OP_READ) {
        const std::lock_guard lock(c.mutex);
        c.failed = true;
    }
    return report(what, status);
}

int otx_config(const char *key, const char *value) {
    const std::string name = key;
    if (name == "trace_commits") {
        const int on = nbdkit_parse_bool(value);
        if (on < 0) return -1;
        trace_commits = on;
        return 0;
    }
    std::string *path = name == "image"      ? &image
                        : name == "firmware" ? &firmware
                        : name == "trace"    ? &trace
                        : name == "commands" ? &commands
                                             : nullptr;
    if (!path) {
        nbdkit_error("no parameter '%s'; there are image, firmware, trace, trace_commits, commands", key);
        return -1;
    }
    char *absolute = nbdkit_absolute_path(value);
    if (!absolute) return -1;
    *path = absolute;
    free(absolute);
    return 0;
}

int otx_after_fork() {
    char message[400] = "";
    if (otx_open(image.empty() ? nullptr : image.c_str(), firmware.empty() ? nullptr : firmware.c_str(), message,
                 sizeof message)) {
        nbdkit_error("%s", message);
        return -1;
    }
    if (!trace.empty()) {
        if (otx_trace(trace.c_str())) {
            nbdkit_error("cannot write waveforms to %s (only the trace plugin can)", trace.c_str());
            return -1;
        }
        otx_trace_pause(trace_commits);
    }
    const int ready = otx_boot(boot_clocks);
    fputs(otx_uart(), stderr);
    if (ready) {
        nbdkit_error("the drive is not ready after %llu clocks", (unsigned long long)otx_clock());
        return -1;
    }
    engine = std::make_unique<otx::DriveEngine>(trace_commits && !trace.empty());
    try {
        if (!commands.empty()) command_socket = std::make_unique<otx::CommandSocket>(*engine, commands, enter);
    } catch (const std::runtime_error &e) {
        nbdkit_error("%s", e.what());
        return -1;
    }
    return 0;
}

void otx_cleanup() {
    if (!engine) return;
    command_socket.reset();
    engine->stop();
    engine.reset();
    if (otx_close(close_clocks))
        fprintf(stderr, "the drive did not become idle in %llu clocks\n", (unsigned long long)close_clocks);
}

void *otx_connect(int) {
    const std::string name = nbdkit_export_name();
    auto c = std::make_unique<Connection>();
    if (name == "atomic") {
        if (!take_txid(*c)) {
            nbdkit_error("all %d transactions are somebody's; end one first", OTX_TXIDS);
            return nullptr;
        }
        c->atomic = true;
    } else if (!name.empty() && name != "drive") {
        nbdkit_error("no export '%s'; there are drive and atomic", name.c_str());
        return nullptr;
    }
    return c.release();
}

void otx_disconnect(void *handle) {
    const std::unique_ptr<Connection> c(&of(handle));
    if (!c->atomic) return;
    end_transaction(*c, OTX_OP_ABORT);
    const std::lock_guard lock(txids_mutex);
    atomic_of[c->txid] = nullptr;
}

int otx_flush(void *handle, uint32_t) {
    Connection &c = of(handle);
    if (!c.atomic) {
        otx::Batch batch;
        otx_cmd cmd = {};
        cmd.opcode = OTX_OP_FLUSH;
        engine->start(cmd, nullptr, batch);
        return report("flush", engine->wait(batch));
    }
    bool failed;
    {
        const std::lock_guard lock(c.mutex);
        failed = c.failed;
        c.failed = false;
    }
    if (!failed) {
        const uint8_t status = end_transaction(c, OTX_OP_COMMIT);
        const std::lock_guard lock(c.mutex);
        if (status) c.written = c.failed = true;
        return report("commit", status);
    }
    end_transaction(c, OTX_OP_ABORT);
    nbdkit_error("the transaction is aborted because a request in it failed");
    nbdkit_set_error(EIO);
    return -1;
}

int otx_list_exports(int, int, struct nbdkit_exports *exports) {
    if (nbdkit_add_export(exports, "drive", "the drive; every write stands by itself") < 0) return -1;
    return nbdkit_add_export(exports, "atomic", "all that is written between two flushes is one transaction");
}

struct nbdkit_plugin describe() {
    struct nbdkit_plugin p = {};
    p.name = "otx";
    p.longname = "OpenTxSSD simulated drive";
    p.config = otx_config;
    p.config_help = "image=FILE (none: in memory), firmware=FILE, trace=FILE.fst, trace_commits=1, commands=SOCKET";
    p.magic_config_key = "image";
    p.after_fork = otx_after_fork;
    p.cleanup = otx_cleanup;
    p.open = otx_connect;
    p.close = otx_disconnect;
    p.list_exports = otx_list_exports;
    p.default_export = [](int, int) { return "drive"; };
    p.get_size = [](void *) { return int64_t(otx_lbas()) * OTX_BLOCK; };
    p.block_size = [](void *, uint32_t *least, uint32_t *best, uint32_t *most) {
        *least = *best = OTX_BLOCK;
        *most = 1 << 20;
        return 0;
    };
    p.can_flush = p.can_trim = p.can_zero = [](void *) { return 1; };
    p.can_fua = [](void *h) { return of(h).atomic ? NBDKIT_FUA_EMULATE : NBDKIT_FUA_NATIVE; };
    p.can_multi_conn = [](void *h) { return int(!of(h).atomic); };
    p.pread = [](void *h, void *data, uint32_t n, uint64_t at, uint32_t flags) {
        return transfer(h, "read", OTX_OP_READ, static_cast<uint8_t *>(data), n, at, flags);
    };
    p.pwrite = [](void *h, const void *data, uint32_t n, uint64_t at, uint32_t flags) {
        return transfer(h, "write", OTX_OP_WRITE, static_cast<uint8_t *>(const_cast<void *>(data)), n, at, flags);
    };
    p.flush = otx_flush;
    p.trim = [](void *h, uint32_t n, uint64_t at, uint32_t flags) {
        return transfer(h, "trim", OTX_OP_TRIM, nullptr, n, at, flags);
    };
    p.zero = [](void *h, uint32_t n, uint64_t at, uint32_t flags) {
        return transfer(h, "write zeroes", OTX_OP_WRITE_ZEROES, nullptr, n, at, flags);
    };
    return p;
}

struct nbdkit_plugin plugin = describe();

}  // namespace

NBDKIT_REGISTER_PLUGIN(plugin)
