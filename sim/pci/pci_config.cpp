// SPDX-License-Identifier: Apache-2.0
#include "pci_config.h"

#include <cstring>

namespace otx::pci {

namespace {
constexpr uint32_t command = 0x04, bar0 = 0x10, pm = 0x40, msix = 0x50;
constexpr uint32_t vendor = 0x10ee, device = 0x7024;  // as LitePCIe's endpoint
}  // namespace

void Config::put(uint32_t at, uint32_t value, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes; i++) bytes_[at + i] = uint8_t(value >> 8 * i);
}

void Config::reset() {
    std::memset(bytes_, 0, sizeof bytes_);
    std::memset(writable_, 0, sizeof writable_);
    put(0x00, vendor | device << 16, 4);
    put(0x06, 0x10, 2);        // status: there are capabilities
    put(0x08, 0x01080201, 4);  // NVM Express, revision 1
    put(0x2c, vendor | device << 16, 4);
    put(0x34, pm, 1);
    put(pm, 0x0003 << 16 | msix << 8 | 1, 4);
    put(msix, 0x11, 2);
    put(msix + 2, vectors - 1, 2);
    put(msix + 4, msix_table, 4);
    put(msix + 8, msix_pending, 4);
    writable_[command] = 0x06, writable_[command + 1] = 0x04;  // memory space, bus master; no INTx
    writable_[bar0 + 1] = 0xc0, writable_[bar0 + 2] = writable_[bar0 + 3] = 0xff;
    writable_[0x0c] = writable_[0x3c] = 0xff;  // cache line, interrupt line: nobody's
    writable_[pm + 4] = 0x03;
    writable_[msix + 3] = 0xc0;
}

uint32_t Config::read(uint32_t at, uint32_t bytes) const {
    uint32_t value = 0;
    for (uint32_t i = 0; i < bytes && at + i < size; i++) value |= uint32_t(bytes_[at + i]) << 8 * i;
    return value;
}

void Config::write(uint32_t at, uint32_t value, uint32_t bytes) {
    for (uint32_t i = 0; i < bytes && at + i < size; i++) {
        const uint8_t mask = writable_[at + i];
        bytes_[at + i] = uint8_t((bytes_[at + i] & ~mask) | (value >> 8 * i & mask));
    }
}

uint32_t Config::bar() const { return read(bar0, 4) & ~(bar_size - 1); }
bool Config::bus_master() const { return bytes_[command] >> 2 & 1; }
bool Config::msix_enable() const { return bytes_[msix + 3] >> 7 & 1; }
bool Config::msix_mask() const { return bytes_[msix + 3] >> 6 & 1; }

}  // namespace otx::pci
