// SPDX-License-Identifier: Apache-2.0
// BCH parity, one byte per clock, of up to 16 chunks whose parity is sent later than their data.
//
// A byte counts in each clock with `in_valid`. Data: `in_parity` low, `in_first` with the first byte of the chunk,
// `out_byte` is `in_byte`. Parity: with `in_parity` high `out_byte` is the next of the M*T/8 parity bytes of
// `in_chunk`, and `in_byte` is not looked at. With `in_check` too, `in_byte` is the parity byte that was read:
// `out_differs` is where it is wrong, and the chunk keeps these bytes: when all have passed they are the remainder of
// the chunk as it was read, zero when it is a code word, and a second pass over its parity bytes without `in_check`
// gives them on `out_rest` (not inverted).
// `out_byte` follows the inputs in the same clock; chunks may alternate from byte to byte; there is no pause between
// data and parity, nor between chunks.
// A chunk may have any length up to (2^M - 1) / 8 bytes less the parity. The first bit of a byte is its bit 7.
// Inverted: the parity of the inverted data is sent inverted, so that FFh in all bytes is a code word of every length,
// and an erased page with a few flipped bits is corrected like any other. No reset: the first byte of a chunk forgets
// what was there.

`default_nettype none

module otx_bch_encoder #(
    parameter  int M         = 13,                              // field GF(2^M)
    parameter  int T         = 8,                               // bits that can be corrected; M*T fills whole bytes
    parameter  int Chunks    = 8,                               // 1 to 16
    parameter  bit Inverted  = 1'b1,
    localparam int ChunkBits = Chunks > 1 ? $clog2(Chunks) : 1
) (
    input  logic                 clk,
    input  logic                 in_valid,
    input  logic [ChunkBits-1:0] in_chunk,
    input  logic                 in_first,
    input  logic                 in_parity,
    input  logic                 in_check,
    input  logic [          7:0] in_byte,
    output logic [          7:0] out_byte,
    output logic [          7:0] out_rest,
    output logic [          7:0] out_differs
);
  localparam int Bits = M * T;
  localparam logic [1023:0] Whole = otx_bch_pkg::generator(M, T);
  localparam logic [Bits-1:0] Generator = Whole[Bits-1:0];

  // What is left of x^Bits to x^(Bits + 7).
  function automatic logic [8*Bits-1:0] rests();
    logic [Bits-1:0] rest;
    rest = Generator;
    for (int i = 0; i < 8; i++) begin
      rests[Bits*i+:Bits] = rest;
      rest = (rest << 1) ^ (rest[Bits-1] ? Generator : '0);
    end
  endfunction

  localparam logic [8*Bits-1:0] Rests = rests();

  if (!otx_bch_pkg::fits(M, T)) begin : g_check_code
    $fatal(1, "otx_bch_encoder: no such code: M 5 to 15, 2T - 1 < 2^ceil(M/2), M*T a multiple of 8");
  end
  if (Chunks < 1 || Chunks > 16) begin : g_check_chunks
    $fatal(1, "otx_bch_encoder: Chunks must be 1 to 16");
  end

  logic [Bits-1:0] remainders[Chunks];
  logic [Bits-1:0] now;
  logic [7:0] data;

  assign now = in_first ? '0 : remainders[in_chunk];
  assign data = in_byte ^ {8{Inverted}};
  assign out_rest = now[Bits-1-:8];
  assign out_byte = in_parity ? out_rest ^ {8{Inverted}} : in_byte;
  assign out_differs = data ^ out_rest;

  always_ff @(posedge clk)
    if (in_valid) begin : step
      logic [Bits-1:0] after;
      after = now << 8;
      if (!in_parity) for (int i = 0; i < 8; i++) if (out_differs[i]) after = after ^ Rests[Bits*i+:Bits];
      if (in_parity && in_check) after[7:0] = out_differs;
      remainders[in_chunk] <= after;
    end
endmodule

`default_nettype wire
