// SPDX-License-Identifier: Apache-2.0
// CRC-32 of IEEE 802.3 (as zlib), one byte per clock.
//
// `start` begins a new sum; a byte counts in each clock with `byte_valid` high (not in the clock of `start`).
// `fix_valid` adds `fix`, what a correction of earlier bytes changes in the register. `sum` is the finished checksum of
// the bytes so far, valid in the clock after the last byte; its bytes are stored lowest first. `residue` is high when
// the bytes so far end in their own checksum. Reset loses the sum.

`default_nettype none

module otx_crc32 (
    input  logic        clk,
    input  logic        start,
    input  logic        byte_valid,
    input  logic [ 7:0] byte_data,
    input  logic        fix_valid,
    input  logic [31:0] fix,
    output logic [31:0] sum,
    output logic        residue
);
  localparam logic [31:0] Polynomial = 32'hEDB8_8320;  // reflected 04C11DB7h
  localparam logic [31:0] Residue = 32'hDEBB_20E3;

  logic [31:0] crc_q, crc_d;

  always_comb begin
    crc_d = crc_q ^ {24'd0, byte_data};
    for (int bit_number = 0; bit_number < 8; bit_number++) begin
      crc_d = crc_d[0] ? (crc_d >> 1) ^ Polynomial : crc_d >> 1;
    end
  end

  assign sum = ~crc_q;
  assign residue = crc_q == Residue;

  always_ff @(posedge clk) begin
    if (start) crc_q <= 32'hFFFF_FFFF;
    else if (byte_valid) crc_q <= crc_d;
    else if (fix_valid) crc_q <= crc_q ^ fix;
  end
endmodule

`default_nettype wire
