// SPDX-License-Identifier: Apache-2.0
// Puts bytes together to 64-bit beats of a page, first byte lowest, `last` on beat number `Words`.
//
// `start` begins a page, when `empty`; bytes of a beat that was not finished are forgotten. A byte counts in each clock
// with `byte_valid`; `zero` sends one beat of zeroes instead, between whole beats.
// There is no back pressure on these: the caller sends every eighth byte, or a zero beat, only when `room` is high, and
// none of them once `full` is. `room` stays high until the next beat is made.
// `empty`: every beat has been taken. `full`: beat number `Words` has been made. A beat is offered in the clock after
// its last byte. Reset drops what it holds; `start` comes before the first byte.

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
  logic [2:0] bytes_q;
  logic [CountBits-1:0] words_q;
  logic whole;

  assign whole = zero || (byte_valid && bytes_q == 3'd7);
  assign room  = !rdata_valid || rdata_ready;
  assign empty = !rdata_valid;
  assign full  = words_q == CountBits'(Words);

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

`ifdef FORMAL
  // Byte n carries n, so beat content tells which bytes it is made of: none lost, doubled or out of place. Inductive.
  logic past_q = 1'b0, open_q, zeroes_q, had_room_q;  // a page has begun; the beat on offer is one of zeroes
  logic [7:0] sent_q, taken_q;  // bytes that came and bytes that left, less those forgotten
  logic [CountBits-1:0] beats_q;  // that left of this page
  logic fired;
  logic [63:0] bytes, upto;  // bytes that the beat on offer is made of; the eight that came last
  assign fired = rdata_valid && rdata_ready;
  always_comb
    for (int i = 0; i < 8; i++) begin
      bytes[8*i+:8] = taken_q + 8'(i);
      upto[8*i+:8]  = sent_q - 8'(8 - i);
    end

  always_ff @(posedge clk) begin
    past_q <= 1'b1;
    sent_q <= sent_q + 8'(byte_valid);
    taken_q <= taken_q + (fired && !zeroes_q ? 8'd8 : 8'd0);
    beats_q <= beats_q + CountBits'(fired);
    had_room_q <= room && !whole;
    if (whole) zeroes_q <= zero;
    if (start) begin
      open_q  <= 1'b1;
      sent_q  <= taken_q;
      beats_q <= '0;
    end
    if (reset) begin
      open_q <= 1'b0;
      sent_q <= '0;
      taken_q <= '0;
      had_room_q <= 1'b0;
    end
  end

  always_comb begin
    // who feeds it
    if (byte_valid) assume (byte_data == sent_q);
    assume (!(byte_valid && zero));
    if (zero) assume (bytes_q == 0);
    if (byte_valid || zero) assume (open_q && !start && !reset);
    if (whole) assume (room && !full);
    if (start) assume (empty);
    if (!reset && past_q) begin
      if (rdata_valid)
        assert (open_q && rdata_data == (zeroes_q ? 64'd0 : bytes) && rdata_last == (beats_q == CountBits'(Words - 1)));
      if (had_room_q) assert (room);
      if (open_q) begin
        assert (full == (beats_q + CountBits'(rdata_valid) == CountBits'(Words)));
        // invariants: how many bytes it holds, and which
        assert (words_q == beats_q + CountBits'(rdata_valid) && words_q <= CountBits'(Words));
        assert (sent_q == taken_q + (rdata_valid && !zeroes_q ? 8'd8 : 8'd0) + 8'(bytes_q));
        for (int i = 1; i < 8; i++) if (bytes_q >= 3'(i)) assert (word_q[56-8*i+:8] == upto[64-8*i+:8]);
      end
    end
  end

  check_stream #(
      .Width (65),
      .Source(1)
  ) check_rdata (
      .clk,
      .reset,
      .valid  (rdata_valid),
      .ready  (rdata_ready),
      .payload({rdata_last, rdata_data})
  );
  always_ff @(posedge clk) begin
    cover (!reset && fired && rdata_last && zeroes_q && taken_q == 8'd8);
    cover (!reset && fired && rdata_last && !zeroes_q && full);
  end
`endif
endmodule

`default_nettype wire
