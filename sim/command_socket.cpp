// SPDX-License-Identifier: Apache-2.0
#include "command_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "../sw/host/lib/otx_wire.h"

namespace otx {

namespace {

constexpr size_t most_clients = 64;
constexpr size_t piece = 256 * 1024;  // bytes of one read

bool has_blocks(const otx_cmd &cmd) { return cmd.count >= 1 && cmd.count <= OTX_MAX_BLOCKS; }

// Bytes of data that a command brings.
size_t brings(const otx_wire_command &c) {
    return c.opcode == OTX_OP_WRITE && c.count >= 1 && c.count <= OTX_MAX_BLOCKS ? size_t(c.count) * OTX_BLOCK : 0;
}

otx_cmd command_of(const otx_wire_command &c) {
    otx_cmd cmd = {};
    cmd.opcode = c.opcode;
    cmd.txid = c.txid;
    cmd.has_tx = (c.flags & OTX_WIRE_HAS_TX) != 0;
    cmd.fua = (c.flags & OTX_WIRE_FUA) != 0;
    cmd.commit = (c.flags & OTX_WIRE_COMMIT) != 0;
    cmd.relaxed = (c.flags & OTX_WIRE_RELAXED) != 0;
    cmd.barrier = (c.flags & OTX_WIRE_BARRIER) != 0;
    cmd.orderless = (c.flags & OTX_WIRE_ORDERLESS) != 0;
    cmd.order = c.order;
    cmd.priority = c.priority;
    cmd.count = c.count;
    cmd.stream = c.stream;
    cmd.lba = c.lba;
    cmd.arg = c.arg;
    return cmd;
}

// What the drive's command has no place for: it would answer so itself if it had.
bool drive_has_fields(const otx_wire_command &c) { return c.priority < 4 && c.order < 4; }

}  // namespace

CommandSocket::CommandSocket(DriveEngine &engine, const std::string &path, Enter enter)
    : engine_(engine), path_(path), enter_(std::move(enter)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        throw std::runtime_error("the path of the command socket is longer than 107 bytes: " + path);
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (listener_ < 0 || wake_ < 0 || bind(listener_, reinterpret_cast<sockaddr *>(&address), sizeof address) ||
        listen(listener_, 16)) {
        const std::string why = std::string("cannot serve on ") + path + ": " + strerror(errno);
        if (listener_ >= 0) close(listener_);
        if (wake_ >= 0) close(wake_);
        throw std::runtime_error(why);
    }
    thread_ = std::thread([this] { run(); });
}

CommandSocket::~CommandSocket() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
    }
    eventfd_write(wake_, 1);
    thread_.join();
    close(listener_);
    close(wake_);
    unlink(path_.c_str());
}

void CommandSocket::run() {
    for (;;) {
        std::vector<pollfd> fds = {{listener_, POLLIN, 0}, {wake_, POLLIN, 0}};
        std::vector<Client *> of;
        for (Client &c : clients_) {
            if (c.fd < 0) continue;
            const bool more = !c.leaving && c.under_way + c.unsent < OTX_WIRE_UNDER_WAY;
            fds.push_back({c.fd, short((more ? POLLIN : 0) | (c.out.empty() ? 0 : POLLOUT)), 0});
            of.push_back(&c);
        }
        if (poll(fds.data(), fds.size(), -1) < 0) continue;
        eventfd_t count;
        eventfd_read(wake_, &count);
        finish();
        for (size_t i = 0; i < of.size(); i++) {
            Client &c = *of[i];
            const short events = fds[i + 2].revents;
            if (events & POLLOUT) write_to(c);
            if (c.fd >= 0 && events & POLLIN) read_from(c);
            if (c.fd >= 0 && events & (POLLHUP | POLLERR) && !(events & POLLIN)) hang_up(c);
            if (c.fd >= 0) take_frames(c);
            if (c.fd >= 0 && !c.out.empty()) write_to(c);
        }
        if (fds[0].revents & POLLIN) accept_one();
        if (!stopping()) {
            bury();
            continue;
        }
        int open = aborts_;
        for (Client &c : clients_) open += c.under_way, hang_up(c);
        if (!open) return;
    }
}

bool CommandSocket::stopping() {
    const std::lock_guard lock(mutex_);
    return stopping_;
}

void CommandSocket::accept_one() {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    Client &c = clients_.emplace_back();
    c.fd = fd;
    otx_wire_hello hello = {OTX_WIRE_VERSION, otx_lbas(), otx_tx_entries(), otx_clock_ps(), OTX_WIRE_UNDER_WAY,
                            engine_.clock(),  ""};
    std::snprintf(hello.preset, sizeof hello.preset, "%s", otx_preset());
    c.out.resize(OTX_WIRE_HELLO);
    otx_wire_put_hello(c.out.data(), &hello);
    if (clients_.size() > most_clients) last_words(c, "64 clients are here already");
    write_to(c);
}

void CommandSocket::read_from(Client &c) {
    const size_t had = c.in.size();
    c.in.resize(had + piece);
    const ssize_t got = recv(c.fd, c.in.data() + had, piece, 0);
    c.in.resize(had + size_t(std::max<ssize_t>(got, 0)));
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) hang_up(c);
}

void CommandSocket::write_to(Client &c) {
    while (c.taken < c.out.size()) {
        const ssize_t sent = send(c.fd, c.out.data() + c.taken, c.out.size() - c.taken, MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (sent < 0) return hang_up(c);
        c.taken += size_t(sent);
    }
    c.out.clear();
    c.taken = 0;
    c.unsent = 0;
    if (c.leaving) hang_up(c);
}

void CommandSocket::take_frames(Client &c) {
    size_t at = 0;
    while (c.fd >= 0 && !c.leaving && c.under_way + c.unsent < OTX_WIRE_UNDER_WAY && take_frame(c, at)) continue;
    c.in.erase(c.in.begin(), c.in.begin() + ptrdiff_t(std::min(at, c.in.size())));
}

// Takes one whole frame, if there is one.
bool CommandSocket::take_frame(Client &client, size_t &at) {
    const uint8_t *frame = client.in.data() + at;
    const size_t have = client.in.size() - at;
    if (!client.greeted) {
        if (have < OTX_WIRE_GREETING) return false;
        at += OTX_WIRE_GREETING;
        return greet(client, frame);
    }
    if (have < OTX_WIRE_HEADER) return false;
    otx_wire_command c;
    otx_wire_get_command(frame, &c);
    if (c.flags & ~OTX_WIRE_FLAGS || c.rest) {
        last_words(client, "a command has a flag or a byte that means nothing");
        return false;
    }
    if (c.bytes != OTX_WIRE_HEADER + brings(c)) {
        char words[OTX_WIRE_MAX_WORDS];
        std::snprintf(words, sizeof words, "a frame of opcode %02Xh and %u blocks has %u bytes, not %zu", c.opcode,
                      c.count, c.bytes, OTX_WIRE_HEADER + brings(c));
        last_words(client, words);
        return false;
    }
    if (have < c.bytes) return false;
    at += c.bytes;
    const otx_cmd cmd = command_of(c);
    std::vector<uint8_t> data(frame + OTX_WIRE_HEADER, frame + c.bytes);
    if (c.opcode == OTX_OP_READ && has_blocks(cmd)) data.resize(size_t(cmd.count) * OTX_BLOCK);
    if (drive_has_fields(c)) {
        begin(&client, c.id, cmd, std::move(data));
    } else {
        const uint64_t now = engine_.clock();
        answer(client, {&client, c.id, cmd, {}, {0, OTX_STATUS_INVALID_FIELD, 0, 0, now}, now});
    }
    return true;
}

bool CommandSocket::greet(Client &client, const uint8_t *frame) {
    const auto version = uint32_t(otx_wire_get(frame + 8, 4)), flags = uint32_t(otx_wire_get(frame + 12, 4));
    if (std::memcmp(frame, OTX_WIRE_CLIENT_MAGIC, 8)) {
        last_words(client, "this is the command socket of a drive, and the greeting is none of it");
    } else if (version != OTX_WIRE_VERSION || flags & ~uint32_t(OTX_WIRE_KEEP)) {
        char words[OTX_WIRE_MAX_WORDS];
        std::snprintf(words, sizeof words, "this drive speaks version %d, not version %u with flags %u",
                      OTX_WIRE_VERSION, version, flags);
        last_words(client, words);
    } else {
        client.keep = flags & OTX_WIRE_KEEP;
        return client.greeted = true;
    }
    return false;
}

void CommandSocket::begin(Client *client, uint64_t id, const otx_cmd &cmd, std::vector<uint8_t> data) {
    auto *command = new Command{client, id, cmd, std::move(data), {}, 0};
    (client ? client->under_way : aborts_)++;
    const auto ended = [this, command](const otx_cpl &cpl, uint64_t begun) {
        const std::lock_guard lock(mutex_);
        command->cpl = cpl;
        command->begun = begun;
        ended_.push_back(command);
        eventfd_write(wake_, 1);
    };
    void *buffer = command->data.empty() ? nullptr : command->data.data();
    if (!enter_(cmd, [&] { engine_.start(cmd, buffer, ended); }))
        ended({0, OTX_STATUS_TX_BUSY, 0, 0, engine_.clock()}, engine_.clock());
}

// Answers the commands that have ended.
void CommandSocket::finish() {
    std::vector<Command *> ended;
    {
        const std::lock_guard lock(mutex_);
        ended.swap(ended_);
    }
    for (Command *command : ended) {
        const std::unique_ptr<Command> done(command);
        (done->client ? done->client->under_way : aborts_)--;
        note_owner(*done);
        if (done->client && done->client->fd >= 0 && !done->client->leaving) answer(*done->client, *done);
    }
}

// Who has to end which transaction.
void CommandSocket::note_owner(const Command &c) {
    if (c.cpl.status) return;
    const uint8_t op = c.cmd.opcode;
    if (op == OTX_OP_RECOVER) std::fill(owner_, owner_ + OTX_TXIDS, nullptr);
    if (!c.cmd.has_tx || c.cmd.txid >= OTX_TXIDS) return;
    const Client *&owner = owner_[c.cmd.txid];
    if (op == OTX_OP_COMMIT || op == OTX_OP_ABORT || op == OTX_OP_PREPARE || c.cmd.commit) owner = nullptr;
    else if ((op == OTX_OP_BEGIN || op == OTX_OP_WRITE || op == OTX_OP_TRIM || op == OTX_OP_WRITE_ZEROES) && !owner)
        owner = c.client;
}

void CommandSocket::answer(Client &client, const Command &c) {
    const size_t data = c.cmd.opcode == OTX_OP_READ && c.cpl.blocks ? c.data.size() : 0;
    const otx_wire_answer a = {uint32_t(OTX_WIRE_ANSWER_HEADER + data),
                               OTX_WIRE_ANSWER,
                               c.cpl.status,
                               c.id,
                               c.cpl.clock,
                               c.begun,
                               c.cpl.result,
                               c.cpl.blocks};
    const size_t at = client.out.size();
    client.out.resize(at + OTX_WIRE_ANSWER_HEADER);
    otx_wire_put_answer(client.out.data() + at, &a);
    client.out.insert(client.out.end(), c.data.begin(), c.data.begin() + ptrdiff_t(data));
    client.unsent++;
}

void CommandSocket::last_words(Client &client, const char *words) {
    const size_t at = client.out.size(), length = strlen(words);
    const otx_wire_answer a = {
        uint32_t(OTX_WIRE_ANSWER_HEADER + length), OTX_WIRE_LAST_WORDS, 0, 0, engine_.clock(), 0, 0, 0};
    client.out.resize(at + OTX_WIRE_ANSWER_HEADER);
    otx_wire_put_answer(client.out.data() + at, &a);
    client.out.insert(client.out.end(), words, words + length);
    client.leaving = true;
    std::fprintf(stderr, "otx: a client of the command socket is closed: %s\n", words);
}

void CommandSocket::hang_up(Client &c) {
    if (c.fd >= 0) close(c.fd);
    c.fd = -1;
    c.in.clear();
    c.out.clear();
}

// Clients that have gone and have nothing under way: their transactions end with them.
void CommandSocket::bury() {
    for (auto c = clients_.begin(); c != clients_.end();) {
        if (c->fd >= 0 || c->under_way) {
            ++c;
            continue;
        }
        for (uint8_t txid = 0; txid < OTX_TXIDS; txid++) {
            if (owner_[txid] != &*c) continue;
            owner_[txid] = nullptr;
            otx_cmd abort = {};
            abort.opcode = OTX_OP_ABORT;
            abort.txid = txid;
            abort.has_tx = 1;
            if (!c->keep) begin(nullptr, 0, abort, {});
        }
        c = clients_.erase(c);
    }
}

}  // namespace otx
