// SPDX-License-Identifier: Apache-2.0
#include "pci_drive.h"

namespace otx::pci {

namespace {
constexpr uint32_t csts_at = 0x1c, cc_at = 0x14;
constexpr uint32_t ready = 1, shutdown = 0xc, shut = 0x8, shutdown_normal = 1 << 14;
}  // namespace

void Drive::config_write(uint32_t at, uint32_t value, uint32_t bytes) {
    config_.write(at, value, bytes);
    control();
}

void Drive::want_messages(bool wanted) {
    wanted_ = wanted;
    control();
}

void Drive::control() {
    otx_host_master(config_.bus_master());
    otx_msix_control(wanted_ || config_.msix_enable(), config_.msix_mask());
    otx_step(2);  // masks and enables are seen before what comes next
    interrupts();
}

void Drive::interrupts() {
    uint64_t address;
    uint32_t data;
    while (otx_host_message(&address, &data)) raise_(address, data);
}

uint64_t Drive::bar_read(uint32_t at, uint32_t bytes) {
    otx_bar_read(at & ~7u);
    uint64_t word;
    while (!otx_bar_answer(&word)) {
        otx_step(slice);
        interrupts();
    }
    word >>= 8 * (at % 8);
    return bytes == 8 ? word : word & ((uint64_t(1) << 8 * bytes) - 1);
}

void Drive::bar_write(uint32_t at, uint64_t value, uint32_t bytes) {
    otx_bar_write(at & ~7u, value << 8 * (at % 8), uint8_t(((1u << bytes) - 1) << at % 8));
}

void Drive::reset() {
    config_.reset();
    otx_function_reset();
    control();
    for (const uint64_t end = otx_clock() + resets; otx_clock() < end; interrupts()) otx_step(resets);
}

uint32_t Drive::csts() { return uint32_t(bar_read(csts_at, 4)); }

bool Drive::settle() {
    for (const uint64_t end = otx_clock() + settled; otx_clock() < end; otx_step(slice), interrupts())
        if (!otx_host_active() && !(csts() & ready)) return true;
    return false;
}

bool Drive::power_down() {
    reset();
    settle();
    bar_write(cc_at, shutdown_normal, 4);  // CC.SHN, of a controller that is disabled
    for (const uint64_t end = otx_clock() + powered_down; otx_clock() < end; otx_step(slice), interrupts())
        if ((csts() & shutdown) == shut && !otx_busy()) return true;
    return false;
}

bool Drive::run() {
    const uint64_t since = otx_clock() - otx_host_seen();
    if (since > linger && !otx_host_active() && (since > most || !otx_busy())) return false;
    otx_step(slice);
    interrupts();
    return true;
}

}  // namespace otx::pci
