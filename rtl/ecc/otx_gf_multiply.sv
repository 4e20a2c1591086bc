// SPDX-License-Identifier: Apache-2.0
// Sum of products in GF(2^M), in a register: with `valid`, `sum` becomes `from`, and with `multiplies` too `from` +
// a0*b0 + a1*b1 + ...; else it stays. The products are added as polynomials and reduced once.
// All is worked out only when it is wanted: what rests costs a simulation nothing. No reset.

`default_nettype none

module otx_gf_multiply #(
    parameter int M     = 13,
    parameter int Pairs = 1
) (
    input  logic               clk,
    input  logic               valid,
    input  logic               multiplies,
    input  logic [      M-1:0] from,
    input  logic [Pairs*M-1:0] a,
    input  logic [Pairs*M-1:0] b,
    output logic [      M-1:0] sum
);
  localparam logic [511:0] Rows = otx_bch_pkg::transposed(otx_bch_pkg::powers(M, 0, 1, 2 * M - 1));

  always_ff @(posedge clk)
    if (valid) begin : step
      logic [2*M-2:0] whole;
      logic [  M-1:0] next;
      next = from;
      if (multiplies) begin
        whole = '0;
        for (int p = 0; p < Pairs; p++)
        for (int i = 0; i < M; i++) whole = whole ^ ((2 * M - 1)'(a[M*p+:M] & {M{b[M*p+i]}}) << i);
        for (int r = 0; r < M; r++) next[r] = from[r] ^ (^(whole & Rows[32*r+:2*M-1]));
      end
      sum <= next;
    end
endmodule

`default_nettype wire
