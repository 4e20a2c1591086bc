// SPDX-License-Identifier: Apache-2.0
#include "guest_memory.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "otx_nvme_sim.h"

namespace otx::pci {

GuestMemory::GuestMemory(Elsewhere elsewhere) : elsewhere_(std::move(elsewhere)) { otx_host_elsewhere(access, this); }

GuestMemory::~GuestMemory() {
    clear();
    otx_host_elsewhere(nullptr, nullptr);
}

void GuestMemory::clear() {
    for (const Mapped &m : mapped_)
        if (m.at) munmap(m.at, m.length);
    mapped_.clear();
    tell();
}

// The drive knows only all regions or none.
void GuestMemory::tell() {
    otx_host_unmap();
    for (const Mapped &m : mapped_)
        if (m.at && m.region.writable) otx_host_map(m.region.address, m.memory, m.region.size);
}

int GuestMemory::add(const Region &r, const Fd &fd, uint64_t offset) {
    const uint64_t last = r.address + (r.size - 1);
    if (!r.size || last < r.address) return EINVAL;
    for (const Mapped &m : mapped_)
        if (r.address <= m.region.address + (m.region.size - 1) && m.region.address <= last) return EEXIST;
    Mapped mapped = {r, nullptr, 0, nullptr};
    if (fd) {
        struct stat file;
        if (fstat(fd.get(), &file)) return errno;
        // a device has no size
        if (r.size > uint64_t(file.st_size) || offset > uint64_t(file.st_size) - r.size) return EINVAL;
        const uint64_t before = offset % uint64_t(sysconf(_SC_PAGESIZE));
        const int protection = r.writable ? PROT_READ | PROT_WRITE : PROT_READ;
        mapped.length = r.size + before;
        mapped.at = mmap(nullptr, mapped.length, protection, MAP_SHARED, fd.get(), off_t(offset - before));
        if (mapped.at == MAP_FAILED) return errno;
        mapped.memory = static_cast<uint8_t *>(mapped.at) + before;
    }
    mapped_.push_back(mapped);
    tell();
    return 0;
}

int GuestMemory::remove(uint64_t address, uint64_t size) {
    for (auto m = mapped_.begin(); m != mapped_.end(); ++m) {
        if (m->region.address != address || m->region.size != size) continue;
        if (m->at) munmap(m->at, m->length);
        mapped_.erase(m);
        tell();
        return 0;
    }
    return ENOENT;
}

int GuestMemory::access(void *self, uint64_t address, void *bytes, uint32_t size, int write) {
    auto &memory = *static_cast<GuestMemory *>(self);
    for (const Mapped &m : memory.mapped_) {
        const Region &r = m.region;
        if (address < r.address || size > r.size || address - r.address > r.size - size) continue;
        if (write && !r.writable) return -1;
        if (!m.at) return memory.elsewhere_ && memory.elsewhere_(address, bytes, size, write) ? 0 : -1;
        std::memcpy(bytes, m.memory + (address - r.address), size);  // to be read only
        return 0;
    }
    return -1;
}

}  // namespace otx::pci
