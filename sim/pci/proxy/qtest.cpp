// SPDX-License-Identifier: Apache-2.0
#include "qtest.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace otx::pci {

bool Qtest::connect() {
    if (fd_ >= 0) return true;
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    std::snprintf(name.sun_path, sizeof name.sun_path, "%s", path_.c_str());
    fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ >= 0 && !::connect(fd_, reinterpret_cast<sockaddr *>(&name), sizeof name)) return true;
    std::perror("qtest");
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
    return false;
}

void Qtest::write(uint64_t address, uint32_t data) {
    if (!connect()) return;
    char line[64], answers[4096];
    const int n = std::snprintf(line, sizeof line, "writel 0x%" PRIx64 " 0x%" PRIx32 "\n", address, data);
    if (send(fd_, line, size_t(n), MSG_NOSIGNAL) != n) std::perror("qtest: write");
    while (recv(fd_, answers, sizeof answers, MSG_DONTWAIT) > 0) {}  // "OK", of what was written before
}

}  // namespace otx::pci
