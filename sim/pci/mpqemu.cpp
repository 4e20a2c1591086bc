// SPDX-License-Identifier: Apache-2.0
#include "mpqemu.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace otx::pci {

namespace {

// As the compiler of QEMU lays them out.
struct Header {
    int32_t command;
    uint32_t unused;
    uint64_t size;
};
struct Memory {
    uint64_t address[8], size[8], offset[8];
};
struct ConfigAccess {
    uint32_t at, value;
    int32_t bytes;
};
struct BarAccess {
    uint64_t address, value;
    uint32_t bytes;
    bool memory;
};
enum Command {
    SYNC_SYSMEM,
    RET,
    PCI_CFGWRITE,
    PCI_CFGREAD,
    BAR_WRITE,
    BAR_READ,
    SET_IRQFD,
    DEVICE_RESET,
};
constexpr size_t most_fds = 8, most_payload = 256;

}  // namespace

bool Mpqemu::get(void *to, size_t bytes, int *fds, size_t *count) {
    for (size_t done = 0; done < bytes;) {
        alignas(cmsghdr) char control[CMSG_SPACE(most_fds * sizeof(int))];
        iovec part = {static_cast<char *>(to) + done, bytes - done};
        msghdr message = {};
        message.msg_iov = &part, message.msg_iovlen = 1;
        message.msg_control = control, message.msg_controllen = sizeof control;
        const ssize_t n = recvmsg(fd_, &message, MSG_CMSG_CLOEXEC);
        if (n <= 0) return false;
        done += size_t(n);
        for (cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
            const size_t came = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < came; i++) {
                int fd;
                std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                if (*count < most_fds) fds[(*count)++] = fd;
                else close(fd);
            }
        }
    }
    return true;
}

void Mpqemu::reply(uint64_t value) {
    struct {
        Header header;
        uint64_t value;
    } answer = {{RET, 0, sizeof value}, value};
    if (send(fd_, &answer, sizeof answer, MSG_NOSIGNAL) != ssize_t(sizeof answer)) std::perror("mpqemu: reply");
}

uint64_t Mpqemu::config(const void *payload, bool write) {
    ConfigAccess a;
    std::memcpy(&a, payload, sizeof a);
    if (!write) return drive_.config_read(a.at, uint32_t(a.bytes));
    drive_.config_write(a.at, a.value, uint32_t(a.bytes));
    return 0;
}

uint64_t Mpqemu::bar(const void *payload, bool write) {
    BarAccess a;
    std::memcpy(&a, payload, sizeof a);
    const uint32_t at = uint32_t(a.address) & (Config::bar_size - 1);
    if (!write) return drive_.bar_read(at, a.bytes);
    drive_.bar_write(at, a.value, a.bytes);
    return 0;
}

bool Mpqemu::serve() {
    int fds[most_fds];
    size_t count = 0;
    Header header;
    alignas(8) uint8_t payload[most_payload];
    if (!get(&header, sizeof header, fds, &count)) return false;
    if (header.size > sizeof payload || !get(payload, header.size, fds, &count)) return false;
    switch (header.command) {
        case SYNC_SYSMEM: {
            Memory m;
            std::memcpy(&m, payload, sizeof m);
            memory_.clear();
            for (size_t i = 0; i < count; i++)
                if (!memory_.add(m.address[i], m.size[i], m.offset[i], fds[i])) std::perror("mpqemu: guest memory");
            return true;
        }
        case PCI_CFGWRITE: reply(config(payload, true)); break;
        case PCI_CFGREAD: reply(config(payload, false)); break;
        case BAR_WRITE: reply(bar(payload, true)); break;
        case BAR_READ: reply(bar(payload, false)); break;
        case DEVICE_RESET:
            drive_.reset();
            reply(0);
            break;
        case SET_IRQFD: break;
        default: std::fprintf(stderr, "mpqemu: command %d is not known\n", header.command);
    }
    std::for_each(fds, fds + count, close);
    return true;
}

bool Mpqemu::waiting(int milliseconds) const {
    pollfd p = {fd_, POLLIN, 0};
    return poll(&p, 1, milliseconds) > 0;
}

}  // namespace otx::pci
