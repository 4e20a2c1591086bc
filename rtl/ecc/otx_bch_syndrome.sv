// SPDX-License-Identifier: Apache-2.0
// Syndromes of BCH code words, one byte per clock, of up to 16 words whose bytes may alternate.
//
// A byte counts in each clock with `in_valid`: `in_first` with the first byte of a word, `in_last` with its last parity
// byte; in between, bytes of other words may come. In the clock after the last byte `out_valid` is high and the other
// outputs are those of that word: `out_clean`, all syndromes are zero; `out_erased`, at most T of its bits are 0, so
// that it is, or will be corrected to, FFh in all bytes (with Inverted); `out_bytes`, its length with parity;
// `out_syndromes`, S1 lowest, then S3, S5 to S(2T-1). They stay until the next word's end. A word has at most (2^M - 1)
// / 8 bytes.
// Reset drops a word that has just ended; no other state needs one.

`default_nettype none

module otx_bch_syndrome #(
    parameter  int M          = 13,
    parameter  int T          = 8,
    parameter  int Chunks     = 8,
    parameter  bit Inverted   = 1'b1,
    localparam int ChunkBits  = Chunks > 1 ? $clog2(Chunks) : 1,
    localparam int LengthBits = M - 3
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic                  in_valid,
    input  logic [ ChunkBits-1:0] in_chunk,
    input  logic                  in_first,
    input  logic                  in_last,
    input  logic [           7:0] in_byte,
    output logic                  out_valid,
    output logic [ ChunkBits-1:0] out_chunk,
    output logic [LengthBits-1:0] out_bytes,
    output logic                  out_clean,
    output logic                  out_erased,
    output logic [       M*T-1:0] out_syndromes
);
  localparam int ZeroBits = $clog2(T + 10);  // up to T + 1, and eight more

  if (!otx_bch_pkg::fits(M, T)) begin : g_check_code
    $fatal(1, "otx_bch_syndrome: no such code: M 5 to 15, 2T - 1 < 2^ceil(M/2), M*T a multiple of 8");
  end
  if (Chunks < 1 || Chunks > 16) begin : g_check_chunks
    $fatal(1, "otx_bch_syndrome: Chunks must be 1 to 16");
  end

  logic [ZeroBits+LengthBits-1:0] counts[Chunks];
  logic [ZeroBits-1:0] zeroes, zeroes_q;
  logic [LengthBits-1:0] length;
  logic [7:0] data;

  assign {length, zeroes} = in_first ? '0 : counts[in_chunk];
  assign data = in_byte ^ {8{Inverted}};

  // Horner: S(odd) times alpha^(8*odd), plus the new byte as a polynomial at alpha^odd.
  for (genvar s = 0; s < T; s++) begin : g_syndrome
    localparam int Odd = 2 * s + 1;
    localparam logic [511:0] Rows = otx_bch_pkg::transposed(
        (otx_bch_pkg::powers(M, 8 * Odd, 1, M) << (16 * 8)) | otx_bch_pkg::powers(M, 0, Odd, 8)
    );
    logic [M-1:0] sums[Chunks];
    logic [M-1:0] now, sum_q;
    assign now = in_first ? '0 : sums[in_chunk];
    assign out_syndromes[M*s+:M] = sum_q;
    always_ff @(posedge clk)
      if (in_valid) begin : step
        logic [M-1:0] after;
        for (int r = 0; r < M; r++) after[r] = ^({now, data} & Rows[32*r+:M+8]);
        sums[in_chunk] <= after;
        if (in_last) sum_q <= after;
      end
  end

  assign out_clean  = out_syndromes == '0;
  assign out_erased = zeroes_q <= ZeroBits'(T);

  always_ff @(posedge clk) begin
    out_valid <= in_valid && in_last && !reset;
    if (in_valid) begin : count
      logic [ZeroBits-1:0] zeroes_after;
      zeroes_after = zeroes;
      for (int i = 0; i < 8; i++) zeroes_after = zeroes_after + ZeroBits'(!in_byte[i]);
      if (zeroes_after > ZeroBits'(T)) zeroes_after = ZeroBits'(T + 1);
      counts[in_chunk] <= {length + 1'b1, zeroes_after};
      if (in_last) begin
        out_chunk <= in_chunk;
        out_bytes <= length + 1'b1;
        zeroes_q  <= zeroes_after;
      end
    end
  end
endmodule

`default_nettype wire
