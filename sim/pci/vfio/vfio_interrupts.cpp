// SPDX-License-Identifier: Apache-2.0
#include "vfio_interrupts.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace otx::pci::vfio {

void Interrupts::write_entry(uint32_t vector) {
    const Vector &v = vectors_[vector];
    const uint64_t mask = !v.event || v.masked;
    drive_.bar_write(table + 16 * vector, 0, 8);
    drive_.bar_write(table + 16 * vector + 8, mask << 32 | vector, 8);
}

void Interrupts::enable() {
    drive_.want_messages(std::any_of(vectors_.begin(), vectors_.end(), [](const Vector &v) { return bool(v.event); }));
}

void Interrupts::restore() {
    for (uint32_t i = 0; i < vectors_.size(); i++) write_entry(i);
    enable();
}

void Interrupts::clear() {
    for (Vector &v : vectors_) v = Vector();
    restore();
}

void Interrupts::fire(uint32_t vector) {
    if (vector >= vectors_.size() || !vectors_[vector].event) return;
    const int fd = vectors_[vector].event.get();
    const uint64_t one = 1;
    pollfd room = {fd, POLLOUT, 0};  // whatever the client has given: the drive does not wait for it
    if (poll(&room, 1, 0) != 1 || write(fd, &one, sizeof one) != sizeof one) std::perror("otx-vfio: event");
    fired_++;
}

int Interrupts::set_events(uint32_t start, uint32_t count, std::vector<Fd> &fds) {
    if (!fds.empty() && fds.size() != count) return EINVAL;
    for (uint32_t i = 0; i < count; i++) {
        vectors_[start + i].event = fds.empty() ? Fd() : std::move(fds[i]);
        write_entry(start + i);
    }
    enable();
    return 0;
}

int Interrupts::set(const IrqSet &wanted, Message &message) {
    const uint32_t data = wanted.flags & data_mask, action = wanted.flags & actions_mask;
    const bool one_action = action == action_mask || action == action_unmask || action == action_trigger;
    if (wanted.index >= irqs || !one_action || wanted.flags & ~(data_mask | actions_mask)) return EINVAL;
    const uint32_t start = wanted.start, count = wanted.count;
    if (data == data_none && action == action_trigger && !start && !count) {  // takes all of the index away
        if (wanted.index == msix) clear();
        return 0;
    }
    const uint32_t there = wanted.index == msix ? uint32_t(vectors_.size()) : 0;
    if (count > there || start > there - count) return EINVAL;
    if (data == data_eventfd && action == action_trigger) return set_events(start, count, message.fds);
    const uint8_t *chosen = data == data_bool ? message.payload.data() + sizeof wanted : nullptr;
    if (data != data_none && (!chosen || message.payload.size() < sizeof wanted + count)) return EINVAL;
    for (uint32_t i = start; i < start + count; i++) {
        if (chosen && !chosen[i - start]) continue;
        if (action == action_trigger) fire(i);
        else vectors_[i].masked = action == action_mask;
        write_entry(i);
    }
    return 0;
}

}  // namespace otx::pci::vfio
