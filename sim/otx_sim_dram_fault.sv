// SPDX-License-Identifier: Apache-2.0
// Simulation only: the faults of the modelled DRAM (soc/sim_dram.py says what the bits do), set by a test through
// otx_sim_dram.cpp.
`default_nettype none

module otx_sim_dram_fault (
    input wire clk,
    output logic [31:0] fault
);
  import "DPI-C" function int otx_dram_fault();

  always_ff @(posedge clk) fault <= otx_dram_fault();
endmodule
`default_nettype wire
