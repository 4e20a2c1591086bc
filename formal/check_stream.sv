// SPDX-License-Identifier: Apache-2.0
// The contract of a valid/ready stream: valid stays, with an unchanged payload, until the beat has passed, and nothing
// is on offer in the clock after a reset.
//
// Source 1: the design drives valid, the rules are asserted. Source 0: its neighbour does, the rules are assumed. The
// first clock of every proof is a reset.

`default_nettype none

module check_stream #(
    parameter int Width  = 8,
    parameter bit Source = 1
) (
    input logic             clk,
    input logic             reset,
    input logic             valid,
    input logic             ready,
    input logic [Width-1:0] payload
);
  logic past_q = 1'b0;
  logic reset_q, waiting_q;
  logic [Width-1:0] payload_q;

  always_ff @(posedge clk) begin
    past_q <= 1'b1;
    reset_q <= reset;
    waiting_q <= valid && !ready && !reset;
    payload_q <= payload;
  end

  always_comb begin
    if (!past_q) assume (reset);
    if (Source) begin
      if (past_q && reset_q) assert (!valid);
      if (past_q && waiting_q && !reset) assert (valid && payload == payload_q);
    end else begin
      if (reset) assume (!valid);
      if (past_q && waiting_q && !reset) assume (valid && payload == payload_q);
    end
  end
endmodule

`default_nettype wire
