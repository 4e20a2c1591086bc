// SPDX-License-Identifier: Apache-2.0
// The processor's ROM or SRAM in simulation: one 32-bit Wishbone port (classic cycles), answered in the next clock, one
// access per two clocks.
//
// Firmware = 1: contents are the firmware binary the harness was given (words past its end read as zero), writes are
// answered and lost.
// Firmware = 0: powers up with a pattern that is not zero. Reset keeps the contents, as it does in a block RAM.
`default_nettype none

module otx_sim_ram #(
    parameter int Bytes = 16384,  // a power of two
    parameter int Firmware = 0
) (
    input wire clk,
    input wire reset,
    input wire [29:0] wb_adr,  // the low bits that Bytes needs are used
    input wire [31:0] wb_dat_w,
    output reg [31:0] wb_dat_r,
    input wire [3:0] wb_sel,
    input wire wb_cyc,
    input wire wb_stb,
    output reg wb_ack,
    input wire wb_we
);
  localparam int Words = Bytes / 4;
  localparam int IndexBits = $clog2(Words);

  import "DPI-C" function int otx_firmware_word(input int index);

  reg [31:0] words[Words];
  wire [IndexBits-1:0] index = wb_adr[IndexBits-1:0];
  wire unused = &{1'b0, wb_adr};
  wire access = wb_cyc && wb_stb && !wb_ack;

  initial begin
    if (1 << IndexBits != Words) $fatal(1, "otx_sim_ram: %0d bytes are not a power of two", Bytes);
    for (int i = 0; i < Words; i++) words[i] = Firmware != 0 ? otx_firmware_word(i) : 32'hDEAD_BEEF ^ i;
  end

  always_ff @(posedge clk) begin
    wb_ack <= access;
    if (access) begin
      wb_dat_r <= words[index];
      if (wb_we && Firmware == 0) begin
        for (int b = 0; b < 4; b++) if (wb_sel[b]) words[index][8*b+:8] <= wb_dat_w[8*b+:8];
      end
    end
    if (reset) wb_ack <= 1'b0;
  end
endmodule
`default_nettype wire
