// SPDX-License-Identifier: Apache-2.0
// otx-vfio SOCKET [IMAGE]: the simulated drive as a vfio-user device on a Unix socket (tools/vfio.py).
//
// IMAGE: the file of the drive's NAND, without one it is in memory. When the drive has started and listens it says
// "ready". One client at a time, the next waits. SIGTERM and SIGINT are an orderly power-down, anything else that ends
// it is a power cut. A line of figures goes to standard error at the end. Exit code 0; 1: the drive or the socket
// cannot be opened, or it does not start, or did not say that its power may go off.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "vfio_device.h"

namespace {

volatile std::sig_atomic_t stop;
constexpr uint64_t boot_clocks = 50'000'000;
constexpr int idle_ms = 100;

int wrong(const char *words) {
    std::fprintf(stderr, "otx-vfio: %s\n", words);
    return 1;
}

otx::pci::Fd listen_on(const char *path) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    if (std::strlen(path) >= sizeof name.sun_path) {
        errno = ENAMETOOLONG;
        return otx::pci::Fd();
    }
    std::strcpy(name.sun_path, path);
    otx::pci::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (bind(socket.get(), reinterpret_cast<sockaddr *>(&name), sizeof name) || listen(socket.get(), 4))
        return otx::pci::Fd();
    return socket;
}

void serve(otx::pci::vfio::Device &device, const otx::pci::Fd &listener) {
    for (bool idle = false; !stop;) {
        const int wait = idle ? idle_ms : 0;
        if (const auto *client = device.client()) {
            if (client->waiting(wait)) device.serve();
            if (!client->alive()) device.disconnect();
        } else if (otx::pci::readable(listener.get(), wait)) {
            otx::pci::Fd socket(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (socket) device.connect(std::move(socket));
        }
        idle = !device.run();
    }
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 2 || argc > 3) return wrong("usage: otx-vfio SOCKET [IMAGE]");
    struct sigaction action = {};
    action.sa_handler = [](int) { stop = 1; };
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
    char message[400];
    if (otx_open(argc > 2 ? argv[2] : nullptr, nullptr, message, sizeof message)) return wrong(message);
    if (otx_boot(boot_clocks)) return wrong(otx_uart());
    const otx::pci::Fd listener = listen_on(argv[1]);
    if (!listener) return wrong(std::strerror(errno));
    std::puts("ready");
    std::fflush(stdout);
    otx::pci::vfio::Device device;
    serve(device, listener);
    if (device.client()) device.disconnect();
    bool down = device.power_down();
    unlink(argv[1]);
    std::fprintf(stderr,
                 "otx-vfio: %llu clocks, %llu messages, %llu refused, %llu interrupts, "
                 "%llu accesses beyond the client's memory\n%s",
                 (unsigned long long)otx_clock(), (unsigned long long)device.figures().messages,
                 (unsigned long long)device.figures().refused, (unsigned long long)device.interrupts(),
                 (unsigned long long)otx_host_faults(), otx_uart());
    down = !otx_close(0) && down;
    return down ? 0 : wrong("the drive has not said that its power may go off");
}
