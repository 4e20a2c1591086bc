// SPDX-License-Identifier: Apache-2.0
// Sum of products in GF(2^M): a0*b0 + a1*b1 + ..., combinational. The products are added as polynomials and reduced once.

`default_nettype none

module otx_gf_multiply #(
    parameter int M     = 13,
    parameter int Pairs = 1
) (
    input  logic [Pairs*M-1:0] a,
    input  logic [Pairs*M-1:0] b,
    output logic [      M-1:0] sum
);
  localparam logic [511:0] Columns = otx_bch_pkg::powers(M, 0, 1, 2 * M - 1);
  logic [2*M-2:0] whole;

  always_comb begin
    whole = '0;
    for (int p = 0; p < Pairs; p++) for (int i = 0; i < M; i++) whole = whole ^ ((2 * M - 1)'(a[M*p+:M] & {M{b[M*p+i]}}) << i);
  end

  otx_gf_linear #(.M(M), .Inputs(2 * M - 1), .Columns(Columns)) reduce (.in(whole), .out(sum));
endmodule

`default_nettype wire
