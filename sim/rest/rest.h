// SPDX-License-Identifier: Apache-2.0
// Blocks of the simulated drive that rest (otx_rest.sv).
#pragma once

class Votx_sim_top;

namespace otx {

// The model is another one.
void rest_open(const Votx_sim_top &top);

// The state of the model has been changed from outside.
void rest_forget();

}  // namespace otx
