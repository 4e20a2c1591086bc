// SPDX-License-Identifier: Apache-2.0
#include "fd_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace otx::pci {

namespace {
constexpr size_t most_fds = 64;  // with one call; a sender's limit is lower (SCM_MAX_FD is 253, but nobody needs it)
}

Fd::~Fd() {
    if (fd_ >= 0) close(fd_);
}

bool receive(int socket, void *to, size_t bytes, std::vector<Fd> &fds) {
    for (size_t done = 0; done < bytes;) {
        alignas(cmsghdr) char control[CMSG_SPACE(most_fds * sizeof(int))];
        iovec part = {static_cast<char *>(to) + done, bytes - done};
        msghdr message = {};
        message.msg_iov = &part, message.msg_iovlen = 1;
        message.msg_control = control, message.msg_controllen = sizeof control;
        const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        if (n <= 0) return false;
        done += size_t(n);
        for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
            const size_t came = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < came; i++) {
                int fd;
                std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                fds.emplace_back(fd);
            }
        }
    }
    return true;
}

bool send_all(int socket, const void *from, size_t bytes) {
    for (size_t done = 0; done < bytes;) {
        const ssize_t n = send(socket, static_cast<const char *>(from) + done, bytes - done, MSG_NOSIGNAL);
        if (n <= 0) return false;
        done += size_t(n);
    }
    return true;
}

bool readable(int socket, int milliseconds) {
    pollfd p = {socket, POLLIN, 0};
    return poll(&p, 1, milliseconds) > 0;
}

}  // namespace otx::pci
