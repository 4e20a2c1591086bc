// SPDX-License-Identifier: Apache-2.0
#include "mpqemu.h"

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
constexpr size_t most_payload = 256;

}  // namespace

void Mpqemu::reply(uint64_t value) {
    struct {
        Header header;
        uint64_t value;
    } answer = {{RET, 0, sizeof value}, value};
    if (!send_all(fd_, &answer, sizeof answer)) std::perror("mpqemu: reply");
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
    std::vector<Fd> fds;
    Header header;
    alignas(8) uint8_t payload[most_payload];
    if (!receive(fd_, &header, sizeof header, fds)) return false;
    if (header.size > sizeof payload || !receive(fd_, payload, header.size, fds)) return false;
    switch (header.command) {
        case SYNC_SYSMEM: {
            Memory m;
            std::memcpy(&m, payload, sizeof m);
            memory_.clear();
            for (size_t i = 0; i < fds.size() && i < std::size(m.address); i++)
                if (const int error = memory_.add({m.address[i], m.size[i], true}, fds[i], m.offset[i]))
                    std::fprintf(stderr, "mpqemu: guest memory: %s\n", std::strerror(error));
            break;
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
    return true;
}

}  // namespace otx::pci
