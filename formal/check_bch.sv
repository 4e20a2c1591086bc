// SPDX-License-Identifier: Apache-2.0
// Encoder and syndromes of a short code (GF(2^8), two errors) agree, whatever the bytes are: a word that the encoder
// made has no syndrome, with one or two wrong bits it has; words of FFh are code words.
//
// Words of 1 to 3 bytes of data and their two of parity. Data has at most one bit that is 0, at any place: both
// circuits are linear, so what holds for these words holds for their sums, and data that is free is more than a solver
// ends with. All places of the wrong bits free, with a pause after any byte as far as the depth of the proof allows.

`default_nettype none

module check_bch (
    input logic       clk,
    input logic       go,
    input logic [7:0] data
);
  (* anyconst *) logic [1:0] length;  // bytes of data less 1
  (* anyconst *) logic [5:0] first_bit, second_bit;  // wrong when below 40 and not the same
  (* anyconst *) logic [5:0] zero_bit;
  logic reset = 1'b1;
  logic [2:0] at = 3'd0;
  logic ones = 1'b1;  // all data was FFh
  logic valid, first, parity, last, out_valid, out_clean, out_erased, out_chunk;
  logic [4:0] out_bytes;
  logic [7:0] made, wrong;
  logic [15:0] out_syndromes;
  logic [ 5:0] bits;

  assign valid  = go && !reset && at != 3'd7;
  assign first  = at == 3'd0;
  assign parity = at > {1'b0, length};
  assign last   = at == {1'b0, length} + 3'd2;
  assign bits   = 6'({1'b0, length} + 3'd3) << 3;

  otx_bch_encoder #(
      .M(8),
      .T(2),
      .Chunks(1)
  ) encoder (
      .clk,
      .in_valid(valid),
      .in_chunk(1'b0),
      .in_first(first),
      .in_parity(parity),
      .in_check(1'b0),
      .in_byte(data),
      .out_byte(made),
      .out_rest(),
      .out_differs()
  );

  always_comb begin
    wrong = 8'd0;
    for (int i = 0; i < 8; i++) wrong[i] = {at, 3'(i)} == first_bit || {at, 3'(i)} == second_bit;
  end

  otx_bch_syndrome #(
      .M(8),
      .T(2),
      .Chunks(1)
  ) syndrome (
      .clk,
      .reset,
      .in_valid(valid),
      .in_chunk(1'b0),
      .in_first(first),
      .in_last (last),
      .in_byte (made ^ wrong),
      .out_valid,
      .out_chunk,
      .out_bytes,
      .out_clean,
      .out_erased,
      .out_syndromes
  );

  always_ff @(posedge clk) begin
    reset <= 1'b0;
    if (valid) begin
      at <= last ? 3'd7 : at + 1'b1;
      if (!parity && data != 8'hFF) ones <= 1'b0;
    end
  end

  always_comb begin
    assume (length != 2'd3);
    for (int i = 0; i < 8; i++) assume (data[i] == ({at, 3'(i)} != zero_bit));
    if (valid && !parity) assert (made == data);
    if (valid && parity && ones) assert (made == 8'hFF);
    if (out_valid && !reset) begin
      assert (at == 3'd7 && out_bytes == {3'd0, length} + 5'd3);
      assert (out_clean == (first_bit >= bits && second_bit >= bits));
      if (ones) assert (out_erased);
    end
  end
  always_ff @(posedge clk) begin
    cover (!reset && out_valid && out_clean && !ones && length == 2'd2);
    cover (!reset && out_valid && !out_clean && length == 2'd2);
  end
endmodule

`default_nettype wire
