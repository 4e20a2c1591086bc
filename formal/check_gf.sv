// SPDX-License-Identifier: Apache-2.0
// otx_gf_multiply against multiplication bit by bit, in GF(2^5), for all factors of two pairs (other fields:
// cocotb_tests/ecc/test_bch.py).

`default_nettype none

module check_gf (
    input logic       clk,
    input logic       valid,
    input logic       multiplies,
    input logic [4:0] from,
    input logic [9:0] a,
    input logic [9:0] b
);
  logic [4:0] sum, slow, slow_q;
  logic started_q = 1'b0;

  otx_gf_multiply #(
      .M(5),
      .Pairs(2)
  ) dut (
      .clk,
      .valid,
      .multiplies,
      .from,
      .a,
      .b,
      .sum
  );

  always_comb begin
    slow = 5'd0;
    for (int i = 4; i >= 0; i--)
    slow = {slow[3:0], 1'b0} ^ (slow[4] ? 5'h05 : 5'd0) ^ (b[i] ? a[4:0] : 5'd0) ^ (b[5+i] ? a[9:5] : 5'd0);
    if (started_q) assert (sum == slow_q);
  end

  always_ff @(posedge clk) begin
    started_q <= 1'b1;
    slow_q <= valid ? from ^ (multiplies ? slow : 5'd0) : sum;
  end
endmodule

`default_nettype wire
