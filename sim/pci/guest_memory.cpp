// SPDX-License-Identifier: Apache-2.0
#include "guest_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "otx_nvme_sim.h"

namespace otx::pci {

void GuestMemory::clear() {
    otx_host_unmap();
    for (const Mapped &m : mapped_) munmap(m.at, m.size);
    mapped_.clear();
}

bool GuestMemory::add(uint64_t address, uint64_t size, uint64_t offset, int fd) {
    const uint64_t page = uint64_t(sysconf(_SC_PAGESIZE)), before = offset % page;
    void *at = mmap(nullptr, size + before, PROT_READ | PROT_WRITE, MAP_SHARED, fd, off_t(offset - before));
    close(fd);
    if (at == MAP_FAILED) return false;
    mapped_.push_back({at, size + before});
    otx_host_map(address, static_cast<uint8_t *>(at) + before, size);
    return true;
}

}  // namespace otx::pci
