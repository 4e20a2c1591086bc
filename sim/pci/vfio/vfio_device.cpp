// SPDX-License-Identifier: Apache-2.0
#include "vfio_device.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace otx::pci::vfio {

namespace {

constexpr char capabilities[] =
    R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":1048576,"max_dma_maps":1024}})";
constexpr size_t most_maps = 1024;
constexpr uint64_t page = 4096;  // of NVMe's memory (CC.MPS 0)
constexpr uint16_t major_version = 0, minor_version = 1;

uint64_t region_size(uint32_t index) {
    return index == bar_0 ? Config::bar_size : index == config_space ? Config::size : 0;
}

// Bytes of the next access to a register, of so many at `offset`: at a multiple of their number.
uint32_t piece(uint64_t offset, uint64_t bytes) {
    uint32_t n = 8;
    while (offset % n || n > bytes) n /= 2;
    return n;
}

// The number behind a name in JSON, wherever it stands; `otherwise` without it.
uint32_t number_in(const std::string &json, const std::string &name, uint32_t otherwise) {
    size_t at = json.find('"' + name + '"');
    if (at == std::string::npos) return otherwise;
    at = json.find_first_not_of(" \t\r\n:", at + name.size() + 2);
    if (at == std::string::npos || json[at] < '0' || json[at] > '9') return otherwise;
    return uint32_t(std::min(std::strtoull(json.c_str() + at, nullptr, 10), 0xffffffffull));
}

}  // namespace

void Device::connect(Fd socket) {
    client_.emplace(std::move(socket));
    negotiated_ = false;
    client_takes_ = most_data;
}

void Device::disconnect() {
    drive_.reset();
    drive_.settle();
    memory_.clear();
    interrupts_.clear();
    client_.reset();
}

void Device::serve() {
    std::optional<Message> m = client_->next();
    if (!m) return;
    figures_.messages++;
    Bytes reply;
    const int error = answer(*m, reply);
    if (error) figures_.refused++;
    client_->reply(m->header, error, reply);
}

int Device::answer(Message &m, Bytes &reply) {
    if (m.header.command == VERSION) return version(m, reply);
    if (!negotiated_) return EINVAL;
    switch (m.header.command) {
        case DMA_MAP: return dma_map(m);
        case DMA_UNMAP: return dma_unmap(m, reply);
        case DEVICE_GET_INFO: return device_info(m, reply);
        case DEVICE_GET_REGION_INFO: return region_info(m, reply);
        case DEVICE_GET_IRQ_INFO: return irq_info(m, reply);
        case DEVICE_SET_IRQS: return set_irqs(m);
        case REGION_READ: return region_access(m, reply, false);
        case REGION_WRITE: return region_access(m, reply, true);
        case DEVICE_RESET:
            drive_.reset();
            interrupts_.restore();
            return 0;
        default: return ENOTSUP;
    }
}

int Device::version(const Message &m, Bytes &reply) {
    Version v;
    if (negotiated_ || !m.begins_with(v) || v.major != major_version) return EINVAL;
    const Bytes json(m.payload.begin() + sizeof v, m.payload.end());
    if (!json.empty()) {
        if (json.front() != '{' || json.back() != 0) return EINVAL;
        const std::string text(json.begin(), json.end() - 1);
        client_takes_ = std::min(number_in(text, "max_data_xfer_size", most_data), most_data);
        if (!client_takes_) return EINVAL;
    }
    negotiated_ = true;
    append(reply, Version{major_version, std::min(v.minor, minor_version)});
    reply.insert(reply.end(), capabilities, capabilities + sizeof capabilities);
    return 0;
}

int Device::dma_map(Message &m) {
    DmaMap map;
    if (!m.begins_with(map) || m.fds.size() > 1 || map.flags & ~(map_readable | map_writable)) return EINVAL;
    if (!(map.flags & map_readable)) return EINVAL;      // none that the drive could use
    if ((map.address | map.size) % page) return EINVAL;  // as with VFIO; a transfer stays in one region
    if (memory_.regions() >= most_maps) return ENOSPC;
    const bool writable = map.flags & map_writable;
    return memory_.add({map.address, map.size, writable}, m.fds.empty() ? Fd() : std::move(m.fds[0]), map.offset);
}

int Device::dma_unmap(const Message &m, Bytes &reply) {
    DmaUnmap map;
    if (!m.begins_with(map) || map.flags & ~unmap_all) return EINVAL;
    if (!(map.flags & unmap_all)) {
        if (const int error = memory_.remove(map.address, map.size)) return error;
    } else {
        if (map.address || map.size) return EINVAL;
        memory_.clear();
    }
    map.argsz = sizeof map;
    append(reply, map);
    return 0;
}

int Device::device_info(const Message &m, Bytes &reply) const {
    DeviceInfo info;
    if (!m.begins_with(info) || info.argsz < sizeof info) return EINVAL;
    append(reply, DeviceInfo{sizeof info, device_resets | device_is_pci, regions, irqs});
    return 0;
}

int Device::region_info(const Message &m, Bytes &reply) const {
    RegionInfo info;
    if (!m.begins_with(info) || info.argsz < sizeof info || info.index >= regions) return EINVAL;
    const uint64_t size = region_size(info.index);
    append(reply, RegionInfo{sizeof info, size ? region_reads | region_writes : 0, info.index, 0, size, 0});
    return 0;
}

int Device::irq_info(const Message &m, Bytes &reply) const {
    IrqInfo info;
    if (!m.begins_with(info) || info.argsz < sizeof info || info.index >= irqs) return EINVAL;
    const bool there = info.index == msix;
    append(reply,
           IrqInfo{sizeof info, there ? irq_eventfd | irq_maskable : 0, info.index, there ? Config::vectors : 0});
    return 0;
}

int Device::set_irqs(Message &m) {
    IrqSet set;
    return m.begins_with(set) ? interrupts_.set(set, m) : EINVAL;
}

int Device::region_access(const Message &m, Bytes &reply, bool write) {
    RegionAccess a;
    if (!m.begins_with(a) || a.region >= regions || a.count > most_data) return EINVAL;
    const uint64_t size = region_size(a.region);
    if (a.count > size || a.offset > size - a.count) return EINVAL;
    if (write && m.payload.size() != sizeof a + a.count) return EINVAL;
    append(reply, a);
    if (write) write_region(a, m.payload.data() + sizeof a);
    else read_region(a, reply);
    return 0;
}

void Device::read_region(const RegionAccess &a, Bytes &reply) {
    for (uint32_t done = 0, n; done < a.count; done += n) {
        const uint32_t at = uint32_t(a.offset) + done;
        n = std::min(piece(at, a.count - done), a.region == bar_0 ? 8u : 4u);
        const uint64_t value = a.region == bar_0 ? drive_.bar_read(at, n) : drive_.config_read(at, n);
        const auto *bytes = reinterpret_cast<const uint8_t *>(&value);
        reply.insert(reply.end(), bytes, bytes + n);
    }
}

void Device::write_region(const RegionAccess &a, const uint8_t *bytes) {
    for (uint32_t done = 0, n; done < a.count; done += n) {
        const uint32_t at = uint32_t(a.offset) + done;
        n = std::min(piece(at, a.count - done), a.region == bar_0 ? 8u : 4u);
        uint64_t value = 0;
        std::memcpy(&value, bytes + done, n);
        if (a.region == config_space) drive_.config_write(at, uint32_t(value), n);
        else if (!Interrupts::in_table(at)) drive_.bar_write(at, value, n);
    }
}

bool Device::client_memory(uint64_t address, void *bytes, uint32_t size, bool write) {
    for (uint32_t done = 0, n; done < size; done += n) {
        n = std::min(size - done, client_takes_);
        const DmaAccess wanted = {address + done, n};
        auto *at = static_cast<uint8_t *>(bytes) + done;
        Bytes question;
        append(question, wanted);
        if (write) question.insert(question.end(), at, at + n);
        Message reply;
        if (!client_ || !client_->ask(write ? DMA_WRITE : DMA_READ, question, reply)) return false;
        if (write) continue;
        if (reply.payload.size() != sizeof wanted + n) return false;
        std::memcpy(at, reply.payload.data() + sizeof wanted, n);
    }
    return true;
}

}  // namespace otx::pci::vfio
