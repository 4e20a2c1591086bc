// SPDX-License-Identifier: Apache-2.0
// The simulated drive as a vfio-user device: what a client's commands do (vfio_wire.h has them).
//
// Regions are BAR 0 and configuration space, both by messages only; interrupts are MSI-X. What cannot be done is
// answered with an errno and changes nothing. When a client goes, the function is reset and what was under way ends;
// then its memory and events are given back. What the drive stores stays.
#ifndef OTX_PCI_VFIO_DEVICE_H
#define OTX_PCI_VFIO_DEVICE_H

#include "guest_memory.h"
#include "pci_drive.h"
#include "vfio_connection.h"
#include "vfio_interrupts.h"

namespace otx::pci::vfio {

class Device {
  public:
    void connect(Fd socket);
    // The client has gone, or is to go.
    void disconnect();
    const Connection *client() const { return client_ ? &*client_ : nullptr; }

    // One command of the client, if there is one.
    void serve();
    bool run() { return drive_.run(); }
    bool power_down() { return drive_.power_down(); }

    struct Figures {
        uint64_t messages = 0, refused = 0;
    };
    const Figures &figures() const { return figures_; }
    uint64_t interrupts() const { return interrupts_.fired(); }

  private:
    // Each gets the payload of the reply; 0 or an errno.
    int answer(Message &m, Bytes &reply);
    int version(const Message &m, Bytes &reply);
    int dma_map(Message &m);
    int dma_unmap(const Message &m, Bytes &reply);
    int device_info(const Message &m, Bytes &reply) const;
    int region_info(const Message &m, Bytes &reply) const;
    int irq_info(const Message &m, Bytes &reply) const;
    int set_irqs(Message &m);
    int region_access(const Message &m, Bytes &reply, bool write);
    void read_region(const RegionAccess &a, Bytes &reply);
    void write_region(const RegionAccess &a, const uint8_t *bytes);
    bool client_memory(uint64_t address, void *bytes, uint32_t size, bool write);

    Drive drive_{[this](uint64_t, uint32_t vector) { interrupts_.fire(vector); }};
    Interrupts interrupts_{drive_};
    GuestMemory memory_{[this](auto... of) { return client_memory(of...); }};
    std::optional<Connection> client_;
    bool negotiated_ = false;
    uint32_t client_takes_ = most_data;  // bytes of one DMA_READ or DMA_WRITE
    Figures figures_;
};

}  // namespace otx::pci::vfio
#endif
