// SPDX-License-Identifier: Apache-2.0
// A Unix stream socket over which file descriptors come beside the bytes.
#ifndef OTX_PCI_FD_SOCKET_H
#define OTX_PCI_FD_SOCKET_H

#include <cstddef>
#include <utility>
#include <vector>

namespace otx::pci {

// A file descriptor that is closed when nobody has it any more.
class Fd {
  public:
    explicit Fd(int fd = -1) : fd_(fd) {}
    Fd(Fd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    Fd &operator=(Fd &&other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~Fd();
    int get() const { return fd_; }
    explicit operator bool() const { return fd_ >= 0; }

  private:
    int fd_;
};

// Exactly so many bytes, which must be there or come; descriptors that come with them are added to `fds`. False: the
// other side has gone, or says nothing for the socket's timeout, or a signal has come.
bool receive(int socket, void *to, size_t bytes, std::vector<Fd> &fds);

// All of the bytes; false: the other side has gone or does not take them.
bool send_all(int socket, const void *from, size_t bytes);

// Whether there is something to receive, or the other side has gone; waits up to so many milliseconds.
bool readable(int socket, int milliseconds);

}  // namespace otx::pci
#endif
