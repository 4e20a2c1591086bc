// SPDX-License-Identifier: Apache-2.0
#include "pci_drive.h"

namespace otx::pci {

void Drive::config_write(uint32_t at, uint32_t value, uint32_t bytes) {
    config_.write(at, value, bytes);
    otx_msix_control(config_.msix_enable(), config_.msix_mask());
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
    otx_msix_control(0, 0);
    otx_function_reset();
    otx_step(2);
    interrupts();
}

bool Drive::run() {
    const uint64_t since = otx_clock() - otx_host_seen();
    if (since > linger && !otx_host_active() && (since > most || !otx_busy())) return false;
    otx_step(slice);
    interrupts();
    return true;
}

}  // namespace otx::pci
