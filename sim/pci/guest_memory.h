// SPDX-License-Identifier: Apache-2.0
// A host's memory as the drive reaches it: regions of bus addresses, none over another.
//
// A region with a file descriptor is mapped here. If the drive may write it, its accesses go straight to it; if not,
// and in regions without a descriptor, they come through `Elsewhere`. What no region has is a fault of otx_host_faults.
#ifndef OTX_PCI_GUEST_MEMORY_H
#define OTX_PCI_GUEST_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "fd_socket.h"

namespace otx::pci {

class GuestMemory {
  public:
    // Reads or writes bytes of a region without a descriptor, by asking who has them; false: that failed.
    using Elsewhere = std::function<bool(uint64_t address, void *bytes, uint32_t size, bool write)>;
    explicit GuestMemory(Elsewhere elsewhere = nullptr);
    ~GuestMemory();
    GuestMemory(const GuestMemory &) = delete;

    struct Region {
        uint64_t address, size;
        bool writable;
    };
    // `fd` from `offset` on; without `fd` the region is elsewhere. 0, or EEXIST: one is there; EINVAL: it has no bytes,
    // passes the end of all addresses or of the file; or that of mmap.
    int add(const Region &region, const Fd &fd, uint64_t offset);
    // The region that is exactly this; ENOENT: there is none.
    int remove(uint64_t address, uint64_t size);
    void clear();
    size_t regions() const { return mapped_.size(); }

  private:
    struct Mapped {
        Region region;
        void *at;         // of the mapping; nullptr: elsewhere
        size_t length;    // of the mapping
        uint8_t *memory;  // of the region's first byte
    };
    static int access(void *self, uint64_t address, void *bytes, uint32_t size, int write);
    void tell();

    Elsewhere elsewhere_;
    std::vector<Mapped> mapped_;
};

}  // namespace otx::pci
#endif
