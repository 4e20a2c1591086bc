// SPDX-License-Identifier: Apache-2.0
// Cuts the 64-bit beats of a page into bytes, lowest first, for data-in cycles.
//
// `start` opens it for `Words` beats, when the bytes of the page before are all taken; outside of those `wdata_ready`
// is low. `byte_valid` while a byte waits; `byte_take` (only then) consumes it, and `wdata_ready` depends on it. One
// byte per clock without gaps when beats come in time.
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

  assign byte_valid  = bytes_q != 0;
  assign byte_data   = word_q[7:0];
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

`ifdef FORMAL
  // Beat n carries bytes 8n to 8n + 7, so byte n that leaves must be n: none lost, doubled or out of place. Inductive.
  logic past_q = 1'b0, due_q;
  logic [7:0] sent_q, taken_q;  // bytes that came and bytes that left
  logic [CountBits+2:0] left_q;  // bytes of this page that have not left
  logic [63:0] next_beat, held;
  always_comb
    for (int i = 0; i < 8; i++) begin
      next_beat[8*i+:8] = sent_q + 8'(i);
      held[8*i+:8] = taken_q + 8'(i);
    end

  always_ff @(posedge clk) begin
    past_q  <= 1'b1;
    due_q   <= wdata_valid && words_q != 0 && (bytes_q == 0 || byte_take) && !reset;
    sent_q  <= sent_q + (wdata_valid && wdata_ready ? 8'd8 : 8'd0);
    taken_q <= taken_q + 8'(byte_take);
    left_q  <= start ? {CountBits'(Words), 3'd0} : left_q - (CountBits + 3)'(byte_take);
    if (reset) begin
      sent_q  <= '0;
      taken_q <= '0;
      left_q  <= '0;
    end
  end

  always_comb begin
    if (wdata_valid) assume (wdata_data == next_beat);
    if (byte_take) assume (byte_valid && !reset);
    if (start) assume (left_q == 0);
    if (!reset && past_q) begin
      if (byte_valid) assert (byte_data == taken_q && left_q != 0);
      if (left_q == 0) assert (!wdata_ready);
      if (due_q) assert (byte_valid);  // no gap
      // invariants: how many bytes it holds, and which
      assert (left_q == {words_q, 3'd0} + (CountBits + 3)'(bytes_q) && words_q <= CountBits'(Words) && bytes_q <= 4'd8);
      assert (sent_q == taken_q + 8'(bytes_q));
      for (int i = 0; i < 8; i++) if (bytes_q > 4'(i)) assert (word_q[8*i+:8] == held[8*i+:8]);
    end
  end

  check_stream #(
      .Width (64),
      .Source(0)
  ) check_wdata (
      .clk,
      .reset,
      .valid  (wdata_valid),
      .ready  (wdata_ready),
      .payload(wdata_data)
  );
  always_ff @(posedge clk) begin
    cover (!reset && byte_take && left_q == 1 && taken_q == 8'd15);
    cover (!reset && byte_take && bytes_q == 4'd1 && wdata_valid && wdata_ready);
  end
`endif
endmodule

`default_nettype wire
