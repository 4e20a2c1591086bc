// SPDX-License-Identifier: Apache-2.0
// The spare bytes of a page as one shift register: loaded with the fields and shifted out to program, filled from the
// bus and taken apart to read.
//
// Layout (docs/interfaces.md): byte 0 FFh, 1 kind, 2-5 generation, 6-9 lpn, 10-15 sequence, 16-19 CRC (put in by the
// caller), then FFh. `out_byte` is the byte to send next.
// After 20 bytes `in_valid` the fields are the ones of the page; 20 clocks of `rotate` take them round once, each byte
// XOR the `rotate_mask` of its clock. `last_bytes`: the five bytes that came last, oldest lowest (chip identification,
// status in its highest byte).
// Reset does not touch it.

`default_nettype none

module otx_nand_oob (
    input  logic        clk,
    input  logic        load,
    input  logic [ 7:0] load_kind,
    input  logic [31:0] load_generation,
    input  logic [31:0] load_lpn,
    input  logic [47:0] load_sequence,
    input  logic        out_take,
    output logic [ 7:0] out_byte,
    input  logic        in_valid,
    input  logic [ 7:0] in_byte,
    input  logic        rotate,
    input  logic [ 7:0] rotate_mask,
    output logic [ 7:0] kind,
    output logic [31:0] generation,
    output logic [31:0] lpn,
    output logic [47:0] sequence_number,
    output logic [39:0] last_bytes
);
  logic [159:0] bytes_q;

  assign out_byte = bytes_q[7:0];
  assign kind = bytes_q[15:8];
  assign generation = bytes_q[47:16];
  assign lpn = bytes_q[79:48];
  assign sequence_number = bytes_q[127:80];
  assign last_bytes = bytes_q[159:120];

  always_ff @(posedge clk) begin
    if (load) bytes_q <= {32'hFFFF_FFFF, load_sequence, load_lpn, load_generation, load_kind, 8'hFF};
    else if (in_valid || out_take || rotate)
      bytes_q <= {in_valid ? in_byte : rotate ? bytes_q[7:0] ^ rotate_mask : 8'hFF, bytes_q[159:8]};
  end
endmodule

`default_nettype wire
