// SPDX-License-Identifier: Apache-2.0
// Puts bytes together to 64-bit beats of a page, first byte lowest, `last` on beat number `Words`.
//
// `start` begins a page. A byte counts in each clock with `byte_valid`; `zero` sends one beat of zeroes instead. There is no back pressure on these: the caller sends every eighth byte, or a zero beat, only
// when `room` was high after the one before. `empty`: every beat has been taken. `full`: beat number `Words` has been made. Reset drops what it holds.

`default_nettype none

module otx_nand_pack #(
    parameter int Words = 512
) (
    input  logic        clk,
    input  logic        reset,
    input  logic        start,
    input  logic        byte_valid,
    input  logic [ 7:0] byte_data,
    input  logic        zero,
    output logic        room,
    output logic        empty,
    output logic        full,
    output logic        rdata_valid,
    input  logic        rdata_ready,
    output logic [63:0] rdata_data,
    output logic        rdata_last
);
  localparam int CountBits = $clog2(Words + 1);

  logic [55:0] word_q;  // the seven bytes that came last
  logic [ 2:0] bytes_q;
  logic [CountBits-1:0] words_q;
  logic whole;

  assign whole = zero || (byte_valid && bytes_q == 3'd7);
  assign room = !rdata_valid || rdata_ready;
  assign empty = !rdata_valid;
  assign full = words_q == CountBits'(Words);

  always_ff @(posedge clk) begin
    if (rdata_ready) rdata_valid <= 1'b0;
    if (byte_valid) begin
      word_q  <= {byte_data, word_q[55:8]};
      bytes_q <= bytes_q + 1'b1;
    end
    if (whole) begin
      rdata_valid <= 1'b1;
      rdata_data <= zero ? 64'd0 : {byte_data, word_q};
      rdata_last <= words_q == CountBits'(Words - 1);
      words_q <= words_q + 1'b1;
    end
    if (start) begin
      words_q <= '0;
      bytes_q <= '0;
    end
    if (reset) rdata_valid <= 1'b0;
  end
endmodule

`default_nettype wire
