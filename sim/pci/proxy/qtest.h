// SPDX-License-Identifier: Apache-2.0
// Interrupts of a QEMU without KVM: a message is a write that QEMU's qtest socket does, and its APIC takes it.
#ifndef OTX_PCI_QTEST_H
#define OTX_PCI_QTEST_H

#include <cstdint>
#include <string>

namespace otx::pci {

class Qtest {
  public:
    explicit Qtest(std::string path) : path_(std::move(path)) {}

    // Connects with the first message; QEMU listens from its start on.
    void write(uint64_t address, uint32_t data);

  private:
    bool connect();

    std::string path_;
    int fd_ = -1;
};

}  // namespace otx::pci
#endif
