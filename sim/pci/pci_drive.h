// SPDX-License-Identifier: Apache-2.0
// The simulated drive as a PCI function, whatever the transport is: configuration space, BAR 0, host memory,
// interrupts.
//
// One thread calls. Time passes in `bar_read`, until it is answered, and in `run`; BAR writes are posted. With nothing
// to do the drive is idle after some clocks, and stands still until the host says something.
#ifndef OTX_PCI_DRIVE_H
#define OTX_PCI_DRIVE_H

#include <functional>

#include "otx_nvme_sim.h"
#include "pci_config.h"

namespace otx::pci {

class Drive {
  public:
    // Called for each message of an interrupt.
    using Raise = std::function<void(uint64_t address, uint32_t data)>;
    explicit Drive(Raise raise) : raise_(std::move(raise)) {}

    uint32_t config_read(uint32_t at, uint32_t bytes) const { return config_.read(at, bytes); }
    void config_write(uint32_t at, uint32_t value, uint32_t bytes);
    const Config &config() const { return config_; }

    // `at` is an offset in BAR 0; bytes is 1, 2, 4 or 8 and at a multiple of it.
    uint64_t bar_read(uint32_t at, uint32_t bytes);
    void bar_write(uint32_t at, uint64_t value, uint32_t bytes);

    void reset();  // of the function

    // Messages are sent also while the capability's enable bit is 0: the host has said elsewhere that it wants them.
    void want_messages(bool wanted);

    // Orderly, whatever the host was at: the function is reset, what was under way ends, all is durable. What host
    // memory there was should still be there. False: the drive has not said within some 50 million clocks that its
    // power may go off.
    bool power_down();
    // What was under way ends, after a reset; nothing of host memory is used then. False: not within some clocks.
    bool settle();

    // Lets some clocks pass if there is something to do; false: the drive is idle.
    bool run();

  private:
    void interrupts();
    void control();
    uint32_t csts();

    static constexpr uint64_t slice = 400;       // clocks between looks at the host
    static constexpr uint64_t linger = 50'000;   // clocks after the last transfer in any case: firmware reacts
    static constexpr uint64_t most = 1'000'000;  // if only something waits in the drive that no FLUSH has asked for

    static constexpr uint64_t resets = 100;          // clocks in which the MSI-X table is emptied, and some
    static constexpr uint64_t settled = 30'000'000;  // longer than host_timeout_us
    static constexpr uint64_t powered_down = 50'000'000;

    Config config_;
    Raise raise_;
    bool wanted_ = false;
};

}  // namespace otx::pci
#endif
