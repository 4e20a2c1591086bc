// SPDX-License-Identifier: Apache-2.0
// Error correction of one channel: puts parity into the page that is programmed, compares it in the page that is read,
// and asks otx_nand_corrector about the chunks that differ.
//
// Layout: chunks of 512 data bytes (T=24: 1,024), the last with spare bytes 0-23 too; from spare byte 24 on their
// parity, 13 (42) bytes each. `start` begins a page at byte 0, with `from_last` at the data of the last chunk, which
// then is the only chunk that counts. Bytes pass in order, one in a clock with `byte_valid`: `page_byte` in,
// `sent_byte` out in the same clock, which is the parity from spare byte 24 on. With `check` the page is one that is
// read.
// After its last byte: `dirty`, some chunk is not a code word; `erased`, no chunk that counts has more than T bits that
// are 0. A written page is never erased: each of its code words has none, or 2T + 1 or more such bits, and the last
// chunk of a written page has some.
// `repair` high until `repaired` (one clock): the wrong bits come on `fix`, for data bytes as {number in the page,
// mask}; spare bytes 0-19 are corrected by 20 clocks of `rotate`, in which the spare bytes go round, each XOR
// `rotate_mask`; `sum_valid` with `sum`: XOR this to the CRC. `failed`: a chunk cannot be corrected (the chunks after
// it are then left as they are). `most`: most wrong bits of a chunk. All three stay until `start`.
// Reset ends a repair; the rest needs none.

`default_nettype none

module otx_nand_ecc #(
    parameter int T = 8,  // 8 or 24
    localparam int M = otx_page_pkg::field(T),
    localparam int Chunks = otx_page_pkg::chunks(T),
    localparam int ChunkBits = $clog2(Chunks),
    localparam int LengthBits = M - 3,
    localparam int CountBits = $clog2(2 * T)
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic                  start,
    input  logic                  from_last,
    input  logic                  byte_valid,
    input  logic                  check,
    input  logic [           7:0] page_byte,
    output logic [           7:0] sent_byte,
    output logic                  dirty,
    output logic                  erased,
    input  logic                  repair,
    output logic                  repaired,
    output logic                  failed,
    output logic [ CountBits-1:0] most,
    output logic                  fix_valid,
    input  logic                  fix_ready,
    output logic [          11:0] fix_byte,
    output logic [           7:0] fix_mask,
    output logic                  rotate,
    output logic [           7:0] rotate_mask,
    output logic                  sum_valid,
    output logic                  ask_valid,
    input  logic                  ask_ready,
    output logic [ ChunkBits-1:0] ask_chunk,
    output logic [           7:0] ask_byte,
    input  logic                  found_valid,
    output logic                  found_ready,
    input  logic [LengthBits-1:0] found_byte,
    input  logic [           7:0] found_mask,
    input  logic                  found_last,
    input  logic                  found_failed,
    input  logic [ CountBits-1:0] found_count
);
  localparam int PlaceBits = LengthBits - 1;  // of a byte in the data of a chunk
  localparam int ParityBits = $clog2(otx_page_pkg::parity_bytes(T));
  localparam logic [ParityBits-1:0] LastParity = ParityBits'(otx_page_pkg::parity_bytes(T) - 1);
  localparam logic [ChunkBits-1:0] LastChunk = '1;
  localparam logic [4:0] SpareFields = 5'd20;

  if (!otx_page_pkg::fits(T)) begin : g_check_t
    $fatal(1, "otx_nand_ecc: T must be 8 or 24");
  end

  typedef enum logic [1:0] {
    StPage,  // bytes of a page, or a repair to begin
    StLook,  // nothing: decides whether this chunk is asked about
    StAsk,   // its remainder to be taken
    StFound  // the last beat of the answer
  } state_e;

  state_e state_q;
  logic [12:0] at_q;  // of the next byte; stays in the parity
  logic [ChunkBits-1:0] chunk_q;  // its chunk
  logic first_q, parity_q, last_only_q, written_q;
  logic [ParityBits-1:0] n_q;  // number in the parity
  logic [Chunks-1:0] dirty_q;
  logic [CountBits-1:0] zeroes[Chunks];
  logic [7:0] rest_byte, differs;
  logic counts, asks;
  logic [4:0] rotate_q;  // spare byte that goes round
  logic in_data, in_fields, found;

  assign counts = !last_only_q || chunk_q == LastChunk;
  assign asks   = ask_valid && ask_ready;

  otx_bch_encoder #(
      .M(M),
      .T(T),
      .Chunks(Chunks)
  ) encoder (
      .clk,
      .in_valid(byte_valid || asks),
      .in_chunk(chunk_q),
      .in_first(first_q),
      .in_parity(parity_q),
      .in_check(check && byte_valid),
      .in_byte(page_byte),
      .out_byte(sent_byte),
      .out_rest(rest_byte),
      .out_differs(differs)
  );

  assign dirty = |dirty_q;
  assign erased = !written_q;

  // Answer: what is in the data goes to `fix`, what is in the fields of the spare bytes waits for the turn of its byte.
  assign found = state_q == StFound && found_valid && !found_last;
  assign in_data = !found_byte[PlaceBits];
  assign
      in_fields = chunk_q == LastChunk && found_byte[PlaceBits] && found_byte[PlaceBits-1:0] < PlaceBits'(SpareFields);
  assign ask_valid = state_q == StAsk;
  assign ask_chunk = chunk_q;
  assign ask_byte = rest_byte;
  assign fix_valid = found && in_data;
  assign fix_byte = {chunk_q, found_byte[PlaceBits-1:0]};
  assign fix_mask = found_mask;
  assign rotate = found && in_fields;
  assign rotate_mask = rotate_q == found_byte[4:0] ? found_mask : '0;
  assign sum_valid = state_q == StFound && found_valid && found_last && !found_failed;
  assign found_ready = state_q == StFound &&
      (found_last || (in_data ? fix_ready : !in_fields || rotate_q == SpareFields - 1'b1));

  always_ff @(posedge clk) begin
    if (byte_valid) begin : count
      logic [CountBits:0] after;
      after = first_q ? '0 : {1'b0, zeroes[chunk_q]};
      for (int i = 0; i < 8; i++) after = after + (CountBits + 1)'(!page_byte[i]);
      if (after > (CountBits + 1)'(T)) after = (CountBits + 1)'(T + 1);
      zeroes[chunk_q] <= after[CountBits-1:0];
      if (counts && after > (CountBits + 1)'(T)) written_q <= 1'b1;
    end
    if (start) written_q <= 1'b0;
  end

  always_ff @(posedge clk) begin
    repaired <= 1'b0;
    rotate_q <= rotate && rotate_q != SpareFields - 1'b1 ? rotate_q + 1'b1 : '0;
    if (byte_valid) begin
      first_q <= !parity_q && at_q[PlaceBits-1:0] == '1 && at_q[12:PlaceBits] < (ChunkBits + 1)'(Chunks - 1);
      if (!parity_q) at_q <= at_q + 1'b1;
      if (!parity_q && at_q[PlaceBits-1:0] == '1 && at_q[11:PlaceBits] != LastChunk) chunk_q <= chunk_q + 1'b1;
      if (at_q == 13'(otx_page_pkg::DataBytes + otx_page_pkg::SpareBytes - 1)) begin
        parity_q <= 1'b1;
        first_q  <= 1'b0;
        chunk_q  <= '0;
      end
      if (parity_q) n_q <= n_q == LastParity ? '0 : n_q + 1'b1;
      if (parity_q && n_q == LastParity) chunk_q <= chunk_q + 1'b1;
      if (counts && check && parity_q && differs != 0) dirty_q[chunk_q] <= 1'b1;
    end
    case (state_q)
      StPage: begin
        if (repair && !repaired) begin
          chunk_q <= '0;
          state_q <= StLook;
        end
      end
      StLook: begin
        n_q <= '0;
        if (dirty_q[chunk_q]) state_q <= StAsk;
        else chunk_q <= chunk_q + 1'b1;
        if (!dirty_q[chunk_q] && chunk_q == LastChunk) begin
          repaired <= 1'b1;
          state_q  <= StPage;
        end
      end
      StAsk:
      if (asks) begin
        n_q <= n_q + 1'b1;
        if (n_q == LastParity) state_q <= StFound;
      end
      default:
      if (found_valid && found_last) begin
        dirty_q[chunk_q] <= 1'b0;
        failed <= found_failed;
        if (!found_failed && found_count > most) most <= found_count;
        repaired <= found_failed;
        state_q  <= found_failed ? StPage : StLook;
      end
    endcase
    if (start) begin
      at_q <= from_last ? 13'(otx_page_pkg::DataBytes - otx_page_pkg::chunk_bytes(T)) : '0;
      chunk_q <= from_last ? LastChunk : '0;
      n_q <= '0;
      first_q <= 1'b1;
      parity_q <= 1'b0;
      last_only_q <= from_last;
      dirty_q <= '0;
      failed <= 1'b0;
      most <= '0;
    end
    if (reset) begin
      state_q  <= StPage;
      repaired <= 1'b0;
    end
  end
endmodule

`default_nettype wire
