// SPDX-License-Identifier: Apache-2.0
// otx-pci FD QTEST [IMAGE [SEED]]: the simulated drive as the PCI device of a QEMU (tools/vm).
//
// FD: this end of the socket pair whose other one is x-pci-proxy-dev's; QTEST: QEMU's qtest socket; IMAGE: the file of
// the drive's NAND, without one it is in memory. When the drive has started it says "ready". SIGTERM is a power cut, by
// SEED; so is the end of QEMU. A line of figures goes to standard error at the end. Exit code 0 unless the drive cannot
// be opened or does not start.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "mpqemu.h"
#include "qtest.h"

namespace {

volatile std::sig_atomic_t cut;
constexpr uint64_t boot_clocks = 50'000'000;

struct Figures {
    uint64_t messages = 0, interrupts = 0;
};

int wrong(const char *words) {
    std::fprintf(stderr, "otx-pci: %s\n", words);
    return 1;
}

Figures serve(int fd, const char *qtest_path) {
    Figures figures;
    otx::pci::Qtest qtest(qtest_path);
    otx::pci::Drive drive([&](uint64_t address, uint32_t data) {
        figures.interrupts++;
        qtest.write(address, data);
    });
    otx::pci::Mpqemu qemu(fd, drive);
    for (bool idle = false; !cut;) {
        if (qemu.waiting(idle ? 100 : 0)) {
            if (!qemu.serve()) break;
            figures.messages++;
        }
        idle = !drive.run();
    }
    return figures;
}

}  // namespace

int main(int argc, char **argv) {
    if (argc < 3 || argc > 5) return wrong("usage: otx-pci FD QTEST [IMAGE [SEED]]");
    struct sigaction action = {};
    action.sa_handler = [](int) { cut = 1; };
    sigaction(SIGTERM, &action, nullptr);
    std::signal(SIGINT, SIG_IGN);  // of a terminal: it is meant for the guest
    char message[400];
    if (otx_open(argc > 3 && argv[3][0] ? argv[3] : nullptr, nullptr, message, sizeof message)) return wrong(message);
    if (otx_boot(boot_clocks)) return wrong(otx_uart());
    std::puts("ready");
    std::fflush(stdout);
    const Figures f = serve(std::atoi(argv[1]), argv[2]);
    const uint64_t clocks = otx_clock(), faults = otx_host_faults();
    std::fprintf(stderr,
                 "otx-pci: %llu clocks, %llu messages of QEMU, %llu interrupts, %llu accesses beyond its memory\n%s",
                 (unsigned long long)clocks, (unsigned long long)f.messages, (unsigned long long)f.interrupts,
                 (unsigned long long)faults, otx_uart());
    otx_power_cut(argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 0);
    return 0;
}
