// SPDX-License-Identifier: Apache-2.0
// Key bytes for the data of a page, so that no pattern a host writes is a pattern in the cells: each data byte is
// stored XOR its key. The row seeds them.
//
// The key is a maximum-length sequence: the register of CRC-32 (IEEE 802.3, reflected) over zeroes, from {row, 4Bh} and
// 16 bytes on; a byte's key is its low byte. So the keys of two rows differ by such a sequence, too.
// `row` must be there one clock before the last clock of `load`; the key of byte 0 is valid one clock after `load`, and
// `take` goes to the next byte. Spare bytes have no key, so what a page is can be told from its OOB whatever `On` is.
// With `On` 0 all keys are 0 and nothing is built. Reset does not touch it.

`default_nettype none

module otx_nand_scrambler #(
    parameter bit On = 1'b1
) (
    input  logic        clk,
    input  logic [23:0] row,
    input  logic        load,
    input  logic        take,
    output logic [ 7:0] key
);
  function automatic logic [31:0] after_byte(input logic [31:0] state);
    after_byte = state;
    for (int n = 0; n < 8; n++) after_byte = {1'b0, after_byte[31:1]} ^ (after_byte[0] ? 32'hEDB8_8320 : 32'd0);
  endfunction

  function automatic logic [31:0] seed_of(input logic [31:0] from);
    seed_of = from;
    for (int n = 0; n < 16; n++) seed_of = after_byte(seed_of);
  endfunction

  // seed_of is linear: bit i of {row, 4Bh}'s seed is the XOR of bit i of the seed of 4Bh and of these bits of the row.
  function automatic logic [32*24-1:0] columns(input logic [31:0] first);
    logic [31:0] seed;
    for (int j = 0; j < 24; j++) begin
      seed = seed_of(first << j);
      for (int i = 0; i < 32; i++) columns[i*24+j] = seed[i];
    end
  endfunction

  localparam logic [32*24-1:0] Map = columns(32'h100);
  localparam logic [31:0] Start = seed_of(32'h4B);

  if (On) begin : g_on
    logic [31:0] state_q, seed_q;
    assign key = state_q[7:0];

    always_ff @(posedge clk) begin
      for (int i = 0; i < 32; i++) seed_q[i] <= ^(row & Map[i*24+:24]) ^ Start[i];
      if (load) state_q <= seed_q;
      else if (take) state_q <= after_byte(state_q);
    end

`ifdef FORMAL
    // The sequence is never all zeroes: no seed is, and it goes round without it.
    logic seeded_q = 1'b0, loaded_q = 1'b0;
    always_ff @(posedge clk) begin
      seeded_q <= 1'b1;
      if (load && seeded_q) loaded_q <= 1'b1;
    end
    always_comb begin
      if (seeded_q) assert (seed_q != 0);
      if (!seeded_q) assume (!load);
      if (loaded_q) assert (state_q != 0);
    end
`endif
  end else begin : g_off
    logic unused;
    assign key = '0;
    assign unused = clk ^ (^row) ^ load ^ take ^ (^Map) ^ (^Start);
  end
endmodule

`default_nettype wire
