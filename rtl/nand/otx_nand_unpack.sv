// SPDX-License-Identifier: Apache-2.0
// Cuts the 64-bit beats of a page into bytes, lowest first, for data-in cycles.
//
// `start` opens it for `Words` beats; outside of those `wdata_ready` is low. `byte_valid` while a byte waits; `byte_take` consumes it. One byte per clock without gaps when beats come in time.
// Reset drops what it holds.

`default_nettype none

module otx_nand_unpack #(
    parameter int Words = 512
) (
    input  logic        clk,
    input  logic        reset,
    input  logic        start,
    input  logic        wdata_valid,
    output logic        wdata_ready,
    input  logic [63:0] wdata_data,
    output logic        byte_valid,
    output logic [ 7:0] byte_data,
    input  logic        byte_take
);
  localparam int CountBits = $clog2(Words + 1);

  logic [63:0] word_q;
  logic [3:0] bytes_q;  // left in word_q
  logic [CountBits-1:0] words_q;  // still to come

  assign byte_valid = bytes_q != 0;
  assign byte_data = word_q[7:0];
  assign wdata_ready = words_q != 0 && (bytes_q == 0 || (bytes_q == 1 && byte_take));

  always_ff @(posedge clk) begin
    if (byte_take) begin
      word_q  <= {8'd0, word_q[63:8]};
      bytes_q <= bytes_q - 1'b1;
    end
    if (wdata_valid && wdata_ready) begin
      word_q  <= wdata_data;
      bytes_q <= 4'd8;
      words_q <= words_q - 1'b1;
    end
    if (start) begin
      words_q <= CountBits'(Words);
      bytes_q <= '0;
    end
    if (reset) begin
      words_q <= '0;
      bytes_q <= '0;
    end
  end
endmodule

`default_nettype wire
