// SPDX-License-Identifier: Apache-2.0
// The drive's MSI-X vectors at the event descriptors of a vfio-user client.
//
// As with VFIO the MSI-X table is not the client's: here each entry with an event is written with its number as the
// data of its message, the others are masked. MSI-X is on while a vector has an event, or the capability says so. A
// masked vector keeps its interrupt pending in the drive until it is unmasked.
#ifndef OTX_PCI_VFIO_INTERRUPTS_H
#define OTX_PCI_VFIO_INTERRUPTS_H

#include <array>

#include "pci_drive.h"
#include "vfio_connection.h"

namespace otx::pci::vfio {

class Interrupts {
  public:
    explicit Interrupts(Drive &drive) : drive_(drive) {}

    // DEVICE_SET_IRQS, whose booleans follow the structure; 0 or an errno.
    int set(const IrqSet &wanted, Message &message);
    void fire(uint32_t vector);
    // The table again, which a reset of the function has emptied.
    void restore();
    void clear();

    static bool in_table(uint64_t offset) { return offset >= table && offset < table + 16 * Config::vectors; }
    uint64_t fired() const { return fired_; }

  private:
    static constexpr uint32_t table = Config::msix_table;
    struct Vector {
        Fd event;
        bool masked = false;
    };
    int set_events(uint32_t start, uint32_t count, std::vector<Fd> &fds);
    void write_entry(uint32_t vector);
    void enable();

    Drive &drive_;
    std::array<Vector, Config::vectors> vectors_;
    uint64_t fired_ = 0;
};

}  // namespace otx::pci::vfio
#endif
