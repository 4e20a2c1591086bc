// SPDX-License-Identifier: Apache-2.0
// QEMU's x-pci-proxy-dev (7.2: include/hw/remote/mpqemu-link.h, hw/remote/proxy.c): the drive is a PCI device of a
// stock QEMU, at the other end of a socket pair.
//
// The guest's memory comes as file descriptors (SYNC_SYSMEM) and is mapped for the drive's DMA. Without KVM QEMU cannot
// take interrupts here: they are written to QEMU's qtest socket (qtest.h).
#ifndef OTX_PCI_MPQEMU_H
#define OTX_PCI_MPQEMU_H

#include "fd_socket.h"
#include "guest_memory.h"
#include "pci_drive.h"

namespace otx::pci {

class Mpqemu {
  public:
    Mpqemu(int fd, Drive &drive) : fd_(fd), drive_(drive) {}

    // One message, which must be there or come; false: QEMU has gone.
    bool serve();
    // Whether QEMU has said something; waits up to so many milliseconds.
    bool waiting(int milliseconds) const { return readable(fd_, milliseconds); }

  private:
    void reply(uint64_t value);
    uint64_t config(const void *payload, bool write);
    uint64_t bar(const void *payload, bool write);

    int fd_;
    Drive &drive_;
    GuestMemory memory_;
};

}  // namespace otx::pci
#endif
