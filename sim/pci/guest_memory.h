// SPDX-License-Identifier: Apache-2.0
// A guest's memory, mapped from file descriptors and made known to the drive.
#ifndef OTX_PCI_GUEST_MEMORY_H
#define OTX_PCI_GUEST_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace otx::pci {

class GuestMemory {
  public:
    ~GuestMemory() { clear(); }
    void clear();
    // `size` bytes of the file from `offset` on are at bus address `address`. The descriptor is closed. False: it
    // cannot be mapped.
    bool add(uint64_t address, uint64_t size, uint64_t offset, int fd);

  private:
    struct Mapped {
        void *at;
        size_t size;
    };
    std::vector<Mapped> mapped_;
};

}  // namespace otx::pci
#endif
