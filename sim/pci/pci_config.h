// SPDX-License-Identifier: Apache-2.0
// Configuration space of the drive as a PCI function: type 0 header (class 010802h, BAR 0 of 16 KiB, 32 bits), power
// management and MSI-X capability (16 vectors, table at 2000h and PBA at 3000h of BAR 0), no INTx. 256 bytes.
#ifndef OTX_PCI_CONFIG_H
#define OTX_PCI_CONFIG_H

#include <cstdint>

namespace otx::pci {

class Config {
  public:
    Config() { reset(); }
    void reset();
    uint32_t read(uint32_t at, uint32_t bytes) const;
    void write(uint32_t at, uint32_t value, uint32_t bytes);

    static constexpr uint32_t size = 256, bar_size = 0x4000;
    static constexpr uint32_t vectors = 16, msix_table = 0x2000, msix_pending = 0x3000;  // the two in BAR 0
    uint32_t bar() const;                                                                // where BAR 0 is now
    bool bus_master() const;
    bool msix_enable() const;
    bool msix_mask() const;

  private:
    void put(uint32_t at, uint32_t value, uint32_t bytes);

    uint8_t bytes_[size], writable_[size];
};

}  // namespace otx::pci
#endif
