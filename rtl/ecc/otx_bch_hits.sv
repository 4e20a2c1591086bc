// SPDX-License-Identifier: Apache-2.0
// What a search has found, until it is sure that the word can be corrected: up to T hits of otx_bch_chien in, wrong
// bytes out one by one.
//
// `hit_*`: as from otx_bch_chien with the same Width; taken in every clock. `out_byte` and `out_mask` are the first
// byte with wrong bits that has not been taken, in the order of the search; `out_none`: there is none (then the other
// two mean nothing). With `take` it is the next one's turn. A byte is there in the clock after its hit. `clear` forgets
// all; a `take` in the same clock does not count.

`default_nettype none

module otx_bch_hits #(
    parameter int M = 13,
    parameter int T = 8,
    parameter int Width = otx_page_pkg::search_bytes(T),  // 1 or 2
    localparam int LengthBits = M - 3
) (
    input  logic                  clk,
    input  logic                  clear,
    input  logic                  hit_valid,
    input  logic [LengthBits-1:0] hit_byte,
    input  logic [   8*Width-1:0] hit_mask,
    input  logic                  take,
    output logic                  out_none,
    output logic [LengthBits-1:0] out_byte,
    output logic [           7:0] out_mask
);
  localparam int HitBits = $clog2(T);

  logic [LengthBits+8*Width-1:0] found[2**HitBits];
  logic [HitBits:0] hits_q, sent_q;
  logic [LengthBits-1:0] at;
  logic [8*Width-1:0] mask;
  logic ends;  // the byte is the last one of its hit

  assign {at, mask} = found[sent_q[HitBits-1:0]];
  assign out_none   = sent_q == hits_q;

  if (Width == 1) begin : g_one
    assign ends = 1'b1;
    assign out_byte = at;
    assign out_mask = mask;
  end else begin : g_two
    logic second, second_q;  // second_q: the first byte of the hit has been taken
    assign second = second_q || mask[7:0] == 0;
    assign ends = second || mask[15:8] == 0;
    assign out_byte = at - LengthBits'(second);
    assign out_mask = second ? mask[15:8] : mask[7:0];
    always_ff @(posedge clk) begin
      if (take) second_q <= !ends;
      if (clear) second_q <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (hit_valid) found[hits_q[HitBits-1:0]] <= {hit_byte, hit_mask};
    if (hit_valid) hits_q <= hits_q + 1'b1;
    if (take && ends) sent_q <= sent_q + 1'b1;
    if (clear) begin
      hits_q <= '0;
      sent_q <= '0;
    end
  end
endmodule

`default_nettype wire
