# SPDX-License-Identifier: Apache-2.0
"""What opentxssd.nvme.NvmeHost needs of a Drive and of its library, of a drive in another process that is a PCI device.

Who derives from it has `bar_read(at, size)`, `bar_write(at, value, size)`, `config_write(at, value, size)`, and
`wait(seconds)`, which adds what messages of interrupts have come to `messages`, as (address, data). Time is the
device's: `step` waits for it a moment, `clock` counts the steps.
"""

MSIX = 0x50


class RemoteDrive:
    def __init__(self):
        self.lib, self.answers, self.messages, self.clock = self, [], [], 0

    def step(self, _clocks):
        self.clock += 1000
        self.wait(0.002)
        return len(self.messages)

    def otx_bar_write(self, address, data, mask):
        """With the accesses that a virtual machine makes of it: four or eight bytes."""
        if mask == 255:
            self.bar_write(address, data, 8)
        else:
            shift = 4 if mask == 0xF0 else 0
            self.bar_write(address + shift, data >> 8 * shift & 0xFFFFFFFF, 4)

    def otx_bar_read(self, address):
        self.answers.append(self.bar_read(address, 8))

    def otx_bar_answer(self, to):
        if self.answers:
            to._obj.value = self.answers.pop(0)
            return 1
        return 0

    def otx_host_message(self, address, data):
        if not self.messages:
            return 0
        address._obj.value, data._obj.value = self.messages.pop(0)
        return 1

    def otx_msix_control(self, enable, mask):
        self.config_write(4, 6, 2)  # memory space, bus master, as a driver does before
        self.config_write(MSIX + 2, enable << 15 | mask << 14, 2)

    def otx_host_map(self, *_):
        pass

    def otx_host_unmap(self):
        pass
