// SPDX-License-Identifier: Apache-2.0
#include "vfio_connection.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

namespace otx::pci::vfio {

namespace {
constexpr timeval patience = {10, 0};  // in the middle of a message, or for a reply
constexpr size_t most_kept = 1024;     // commands, while a reply is waited for
}  // namespace

Connection::Connection(Fd socket) : socket_(std::move(socket)) {
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

bool Connection::waiting(int milliseconds) const {
    return !kept_.empty() || !alive() || readable(socket_.get(), milliseconds);
}

std::optional<Message> Connection::receive_message() {
    Message m;
    if (!alive()) return std::nullopt;
    if (!receive(socket_.get(), &m.header, sizeof m.header, m.fds)) {
        socket_ = Fd();
        return std::nullopt;
    }
    if (m.header.size < sizeof m.header || m.header.size > most_message || (m.header.flags & type_mask) > is_reply) {
        reply(m.header, EINVAL, {});
        socket_ = Fd();  // where the next message begins nobody knows
        return std::nullopt;
    }
    m.payload.resize(m.header.size - sizeof m.header);
    if (receive(socket_.get(), m.payload.data(), m.payload.size(), m.fds)) return m;
    socket_ = Fd();
    return std::nullopt;
}

std::optional<Message> Connection::next() {
    if (!kept_.empty()) {
        Message m = std::move(kept_.front());
        kept_.pop_front();
        return m;
    }
    std::optional<Message> m = receive_message();
    if (m && (m->header.flags & type_mask) == is_reply) return std::nullopt;  // to nothing: left out
    return m;
}

void Connection::put(const Header &header, const Bytes &payload) {
    Bytes whole;
    append(whole, header);
    whole.insert(whole.end(), payload.begin(), payload.end());
    if (alive() && !send_all(socket_.get(), whole.data(), whole.size())) socket_ = Fd();
}

void Connection::reply(const Header &to, int error, const Bytes &payload) {
    if (to.flags & no_reply) return;
    const Bytes &sent = error ? Bytes() : payload;
    const uint32_t flags = is_reply | (error ? is_error : 0);
    put({to.id, to.command, uint32_t(sizeof to + sent.size()), flags, uint32_t(error)}, sent);
}

bool Connection::ask(Command command, const Bytes &payload, Message &reply) {
    const uint16_t id = id_++;
    put({id, command, uint32_t(sizeof(Header) + payload.size()), 0, 0}, payload);
    while (std::optional<Message> m = receive_message()) {
        if ((m->header.flags & type_mask) != is_reply) {
            if (kept_.size() == most_kept) break;
            kept_.push_back(std::move(*m));
        } else if (m->header.id == id && m->header.command == command) {
            reply = std::move(*m);
            return !(reply.header.flags & is_error);
        }
    }
    socket_ = Fd();
    return false;
}

}  // namespace otx::pci::vfio
