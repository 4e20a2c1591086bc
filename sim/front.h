// SPDX-License-Identifier: Apache-2.0
// What stands before the core in the simulated drive, for otx_sim.cpp: its ports of otx_sim_top, clock by clock.
//
// front_port.cpp (the core's host port) or front_nvme.cpp (the NVMe front end) implements it, and the functions of
// otx_sim.h and otx_nvme_sim.h that are its own.
#ifndef OTX_FRONT_H
#define OTX_FRONT_H

#include <cstdint>

class Votx_sim_top;

namespace otx::front {

// A clock: inputs before the evaluation, a look at all ports before the edge, and what has passed at it.
void put(Votx_sim_top &top);
void look(const Votx_sim_top &top, uint64_t now);
void passed();

void forget();   // all, at power on and off
void silence();  // the host says nothing more
int waiting();   // so much is there for the caller to take: clocks stop
bool busy();     // something is under way that the core does not know of

// Orderly power-down until that clock; `clock` lets one pass. False: the drive has not become idle.
bool power_down(uint64_t end, void (*clock)());

}  // namespace otx::front
#endif
