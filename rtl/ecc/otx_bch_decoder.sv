// SPDX-License-Identifier: Apache-2.0
// BCH decoder of one channel but for the key equation, which it asks otx_bch_kes for: bytes of code words in, the bits
// to correct out.
//
// Bytes: as in otx_bch_syndrome, one per clock while `in_ready` is high; that is low only while Queue words with errors
// wait or are under way. The parity of a word comes in one piece, so that T clocks or more are between the ends of two
// words. In the clock after the last byte of a word `end_valid` says what is known at once: `end_clean`, it has no
// error, and that was all; else `fix` follows, in the order of the ends. `end_erased`:
// at most T of its bits are 0 (see otx_bch_syndrome).
// `fix`: for each byte to correct a beat with its number in the word (`fix_byte`, from the last one to the first) and
// its wrong bits (`fix_mask`), parity bytes among them; then a beat with `fix_last`: `fix_count` bits were wrong, or
// the word cannot be corrected (`fix_failed`; then it is the only beat). No beat comes before it is sure that the word
// can be corrected.
// Longest time from the last byte to `fix_last`, without stalls and with a free key equation: bytes / W + T * (T + 11)
// / 2 + 7 clocks (T = 8, 525 bytes: 608). Words with errors follow each other at least every bytes / W + 2*T + 5
// clocks. W, the bytes searched in a clock: 1, with T = 16 or more 2; the quotient rounded up.
// Reset forgets all words.

`default_nettype none

module otx_bch_decoder #(
    parameter int M = 13,
    parameter int T = 8,
    parameter int Chunks = 8,
    parameter int Queue = 8,  // words with errors that may wait; a power of two, 2 or more
    parameter bit Inverted = 1'b1,
    localparam int ChunkBits = Chunks > 1 ? $clog2(Chunks) : 1,
    localparam int LengthBits = M - 3,
    localparam int DegreeBits = $clog2(2 * T)
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic                  in_valid,
    output logic                  in_ready,
    input  logic [ ChunkBits-1:0] in_chunk,
    input  logic                  in_first,
    input  logic                  in_last,
    input  logic [           7:0] in_byte,
    output logic                  end_valid,
    output logic [ ChunkBits-1:0] end_chunk,
    output logic                  end_clean,
    output logic                  end_erased,
    output logic                  kes_req_valid,
    input  logic                  kes_req_ready,
    output logic [         M-1:0] kes_req_syndrome,
    output logic                  kes_req_last,
    input  logic                  kes_rsp_valid,
    input  logic [         M-1:0] kes_rsp_coefficient,
    input  logic                  kes_rsp_last,
    input  logic [DegreeBits-1:0] kes_rsp_degree,
    input  logic                  kes_rsp_failed,
    output logic                  fix_valid,
    input  logic                  fix_ready,
    output logic [ ChunkBits-1:0] fix_chunk,
    output logic [LengthBits-1:0] fix_byte,
    output logic [           7:0] fix_mask,
    output logic                  fix_last,
    output logic                  fix_failed,
    output logic [DegreeBits-1:0] fix_count
);
  localparam int BeatBits = $clog2(T);
  localparam int OpenBits = $clog2(Queue + 1);
  localparam int Width = otx_page_pkg::search_bytes(T);

  // Words with errors: their syndromes go one by one into `asked`, the rest into `about`.
  logic [LengthBits-1:0] end_bytes, bytes;
  logic [M*T-1:0] end_syndromes, rest_q;
  logic [  BeatBits:0] rest_beats_q;
  logic [OpenBits-1:0] open_q;  // words between their end and their last beat of `fix`
  logic dirty, closes, beat_valid, about_valid, room, about_room;

  assign in_ready = open_q != OpenBits'(Queue);
  assign dirty = end_valid && !end_clean;
  assign closes = fix_valid && fix_ready && fix_last;

  otx_bch_syndrome #(
      .M(M),
      .T(T),
      .Chunks(Chunks),
      .Inverted(Inverted)
  ) syndrome (
      .clk,
      .reset,
      .in_valid(in_valid && in_ready),
      .in_chunk,
      .in_first,
      .in_last,
      .in_byte,
      .out_valid(end_valid),
      .out_chunk(end_chunk),
      .out_bytes(end_bytes),
      .out_clean(end_clean),
      .out_erased(end_erased),
      .out_syndromes(end_syndromes)
  );

  otx_fifo #(
      .Width(M),
      .Depth(Queue << BeatBits)
  ) asked (
      .clk,
      .reset,
      .up_valid(rest_beats_q != 0),
      .up_ready(room),
      .up_payload(rest_q[M-1:0]),
      .down_valid(beat_valid),
      .down_ready(kes_req_valid && kes_req_ready),
      .down_payload(kes_req_syndrome)
  );

  otx_fifo #(
      .Width(ChunkBits + LengthBits),
      .Depth(Queue)
  ) about (
      .clk,
      .reset,
      .up_valid(dirty),
      .up_ready(about_room),
      .up_payload({end_chunk, end_bytes}),
      .down_valid(about_valid),
      .down_ready(closes),
      .down_payload({fix_chunk, bytes})
  );

  // The key equation is asked only when there is a place for its answer, which does not wait.
  logic waits_q;  // from the last beat of a request until its answer has gone into the search
  logic [BeatBits-1:0] beat_q;
  logic answer_valid, answer_take, chien_ready, done, search_failed;
  logic [M-1:0] answer;
  logic answer_last, answer_failed;
  logic [DegreeBits-1:0] answer_degree;
  logic hit_valid;
  logic [LengthBits-1:0] hit_byte;
  logic [8*Width-1:0] hit_mask;
  logic sends_q;  // `fix` is being sent

  assign kes_req_valid = beat_valid && !waits_q;
  assign kes_req_last  = beat_q == BeatBits'(T - 1);
  assign answer_take   = answer_valid && chien_ready && !done && !sends_q;

  otx_fifo #(
      .Width(M + DegreeBits + 2),
      .Depth(2 << BeatBits)
  ) answered (
      .clk,
      .reset,
      .up_valid(kes_rsp_valid),
      .up_ready(answer_room),
      .up_payload({kes_rsp_coefficient, kes_rsp_degree, kes_rsp_failed, kes_rsp_last}),
      .down_valid(answer_valid),
      .down_ready(chien_ready && !done && !sends_q),
      .down_payload({answer, answer_degree, answer_failed, answer_last})
  );

  otx_bch_chien #(
      .M(M),
      .T(T),
      .Width(Width)
  ) chien (
      .clk,
      .reset,
      .rsp_valid(answer_take),
      .rsp_ready(chien_ready),
      .rsp_coefficient(answer),
      .rsp_last(answer_last),
      .rsp_degree(answer_degree),
      .rsp_failed(answer_failed),
      .bytes,
      .walks,
      .hit_valid,
      .hit_byte,
      .hit_mask,
      .done,
      .failed(search_failed),
      .count(fix_count)
  );

  logic unused, walks, answer_room, sent;

  otx_bch_hits #(
      .M(M),
      .T(T),
      .Width(Width)
  ) hits (
      .clk,
      .clear(reset || closes),
      .hit_valid,
      .hit_byte,
      .hit_mask,
      .take(fix_valid && fix_ready),
      .out_none(sent),
      .out_byte(fix_byte),
      .out_mask(fix_mask)
  );

  assign unused = &{walks, room, about_room, about_valid, answer_room};  // `open_q` and `waits_q` count for them
  assign fix_valid = sends_q;
  assign fix_failed = search_failed;
  assign fix_last = search_failed || sent;

  always_ff @(posedge clk) begin
    open_q <= open_q + OpenBits'(dirty) - OpenBits'(closes);
    rest_q <= dirty ? end_syndromes : rest_q >> M;
    if (dirty) rest_beats_q <= (BeatBits + 1)'(T);
    else if (rest_beats_q != 0) rest_beats_q <= rest_beats_q - 1'b1;
    if (kes_req_valid && kes_req_ready) beat_q <= kes_req_last ? '0 : beat_q + 1'b1;
    if (kes_req_valid && kes_req_ready && kes_req_last) waits_q <= 1'b1;
    if (answer_take && answer_last) waits_q <= 1'b0;
    if (done) sends_q <= 1'b1;
    if (closes) sends_q <= 1'b0;
    if (reset) begin
      open_q <= '0;
      rest_beats_q <= '0;
      beat_q <= '0;
      waits_q <= 1'b0;
      sends_q <= 1'b0;
    end
  end
endmodule

`default_nettype wire
