// SPDX-License-Identifier: Apache-2.0
// The microsecond of all NAND channels: `tick` is high for one clock in TickClocks, which is the first count of clocks
// that takes a microsecond or longer. Times of the channels that need no better one count it. Reset: none until then.

`default_nettype none

module otx_nand_tick #(
    parameter int ClkPs = 10000  // clock period, ps
) (
    input  logic clk,
    input  logic reset,
    output logic tick
);
  localparam int TickClocks = (1000000 + ClkPs - 1) / ClkPs;
  localparam int TickBits = $clog2(TickClocks + 1);

  logic [TickBits-1:0] left_q;

  always_ff @(posedge clk) begin
    tick   <= left_q == 0 && !reset;
    left_q <= left_q == 0 || reset ? TickBits'(TickClocks - 1) : left_q - 1'b1;
  end
endmodule
