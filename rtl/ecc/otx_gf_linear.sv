// SPDX-License-Identifier: Apache-2.0
// A linear function with constants: `out` is the sum of those columns whose bit of `in` is 1. Combinational, made of XOR only.

`default_nettype none

module otx_gf_linear #(
    parameter int           M       = 13,  // bits of `out`, up to 16
    parameter int           Inputs  = 13,  // up to 32
    parameter logic [511:0] Columns = '0   // 16 bits for each input
) (
    input  logic [Inputs-1:0] in,
    output logic [     M-1:0] out
);
  localparam logic [511:0] Masks = otx_bch_pkg::transposed(Columns);  // bit by bit of `out`, which bits of `in` it is the sum of

  always_comb for (int r = 0; r < M; r++) out[r] = ^(in & Masks[32*r+:Inputs]);
endmodule

`default_nettype wire
