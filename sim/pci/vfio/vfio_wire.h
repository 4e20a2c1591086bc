// SPDX-License-Identifier: Apache-2.0
// vfio-user on the wire, version 0.1 (docs/interop/vfio-user.rst of QEMU): what this server says and hears of it. All
// is in the byte order of the machine; a payload follows its header.
#ifndef OTX_PCI_VFIO_WIRE_H
#define OTX_PCI_VFIO_WIRE_H

#include <cstdint>

namespace otx::pci::vfio {

enum Command : uint16_t {
    VERSION = 1,
    DMA_MAP = 2,
    DMA_UNMAP = 3,
    DEVICE_GET_INFO = 4,
    DEVICE_GET_REGION_INFO = 5,
    DEVICE_GET_IRQ_INFO = 7,
    DEVICE_SET_IRQS = 8,
    REGION_READ = 9,
    REGION_WRITE = 10,
    DMA_READ = 11,  // these two the server asks
    DMA_WRITE = 12,
    DEVICE_RESET = 13,
};

struct Header {
    uint16_t id, command;
    uint32_t size;  // with the header
    uint32_t flags;
    uint32_t error;  // an errno, of a reply with `is_error`
};
constexpr uint32_t type_mask = 0xf, is_reply = 1, no_reply = 1 << 4, is_error = 1 << 5;

struct Version {
    uint16_t major, minor;  // then JSON, ended by a NUL
};

struct DmaMap {
    uint32_t argsz, flags;
    uint64_t offset, address, size;
};
constexpr uint32_t map_readable = 1, map_writable = 2;

struct DmaUnmap {
    uint32_t argsz, flags;
    uint64_t address, size;
};
constexpr uint32_t unmap_all = 2;

struct DeviceInfo {
    uint32_t argsz, flags, regions, irqs;
};
constexpr uint32_t device_resets = 1, device_is_pci = 2;

struct RegionInfo {
    uint32_t argsz, flags, index, cap_offset;
    uint64_t size, offset;
};
constexpr uint32_t region_reads = 1, region_writes = 2;
enum Region : uint32_t { bar_0 = 0, config_space = 7, regions = 9 };

struct IrqInfo {
    uint32_t argsz, flags, index, count;
};
constexpr uint32_t irq_eventfd = 1, irq_maskable = 2;
enum Irq : uint32_t { intx = 0, msi = 1, msix = 2, irqs = 3 };

struct IrqSet {
    uint32_t argsz, flags, index, start, count;  // then `count` booleans, if data_bool
};
constexpr uint32_t data_none = 1, data_bool = 2, data_eventfd = 4, data_mask = 7;
constexpr uint32_t action_mask = 8, action_unmask = 16, action_trigger = 32, actions_mask = 56;

struct RegionAccess {
    uint64_t offset;
    uint32_t region, count;  // then the bytes, of a write and of the reply to a read
};

struct DmaAccess {
    uint64_t address, count;  // then the bytes, of a write and of the reply to a read
};

constexpr uint32_t most_data = 1 << 20;  // bytes of one access: max_data_xfer_size
constexpr uint32_t most_message = most_data + 4096;

}  // namespace otx::pci::vfio
#endif
