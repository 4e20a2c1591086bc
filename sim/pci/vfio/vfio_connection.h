// SPDX-License-Identifier: Apache-2.0
// One client of the vfio-user server: whole messages in both directions over its socket.
//
// The server asks a client, too (`ask`, for memory that the client has not shared); commands that come while it waits
// for the reply are kept for `next`, in their order. A client that stops in the middle of a message, takes no replies
// or sends what is no message is given up: `alive` is false from then on.
#ifndef OTX_PCI_VFIO_CONNECTION_H
#define OTX_PCI_VFIO_CONNECTION_H

#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include "fd_socket.h"
#include "vfio_wire.h"

namespace otx::pci::vfio {

using Bytes = std::vector<uint8_t>;

template <class T>
void append(Bytes &to, const T &value) {
    const auto *from = reinterpret_cast<const uint8_t *>(&value);
    to.insert(to.end(), from, from + sizeof value);
}

struct Message {
    Header header;
    Bytes payload;
    std::vector<Fd> fds;

    // The structure that the payload begins with; false: it is shorter.
    template <class T>
    bool begins_with(T &value) const {
        if (payload.size() < sizeof value) return false;
        std::memcpy(&value, payload.data(), sizeof value);
        return true;
    }
};

class Connection {
  public:
    explicit Connection(Fd socket);

    bool alive() const { return bool(socket_); }
    int socket() const { return socket_.get(); }

    // Whether `next` would not wait: for a command, or to see that the client has gone. Waits up to so many
    // milliseconds.
    bool waiting(int milliseconds) const;
    std::optional<Message> next();

    // Nothing is sent to who wants no reply. An errno goes without a payload.
    void reply(const Header &to, int error, const Bytes &payload);

    // A command to the client, and its reply; false: it has none or says that it failed.
    bool ask(Command command, const Bytes &payload, Message &reply);

  private:
    std::optional<Message> receive_message();
    void put(const Header &header, const Bytes &payload);

    Fd socket_;
    std::deque<Message> kept_;
    uint16_t id_ = 0;
};

}  // namespace otx::pci::vfio
#endif
