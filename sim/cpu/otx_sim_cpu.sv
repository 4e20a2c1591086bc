// SPDX-License-Identifier: Apache-2.0
// The processor of a SoC that is simulated for what the drive does, not for how long its firmware takes: the
// instructions run in C++ (rv32.cpp), from the same binary as VexRiscv's. ROM, SRAM and the two big memories are
// reached without the bus; for anything else, the CSRs, this is a 32-bit Wishbone master (classic cycles).
//
// Up to PerClock instructions a clock, an access to a CSR after the other: a mount takes a fraction of VexRiscv's
// clocks. Reset: as VexRiscv's, at address Rom; SRAM keeps what it holds.
`default_nettype none

module otx_sim_cpu #(
    parameter logic [31:0] Rom = 0,
    parameter int RomBytes = 0,
    parameter logic [31:0] Sram = 0,
    parameter int SramBytes = 0,  // powers up with a pattern that is not zero
    parameter int PerClock = 32
) (
    input wire clk,
    input wire reset,
    output reg [29:0] wb_adr,
    output reg [31:0] wb_dat_w,
    input wire [31:0] wb_dat_r,
    output reg [3:0] wb_sel,
    output reg wb_cyc,
    output wire wb_stb,
    input wire wb_ack,
    input wire wb_err,
    output reg wb_we
);
  import "DPI-C" function void otx_cpu_open(
    input int rom,
    input int rom_bytes,
    input int sram,
    input int sram_bytes
  );
  import "DPI-C" function void otx_cpu_reset();
  // {write, lanes, address, data} of the access that it waits for
  import "DPI-C" function bit otx_cpu_run(
    input  int  most,
    output int  address,
    output int  data,
    output byte lanes,
    output bit  write
  );
  import "DPI-C" function void otx_cpu_answer(
    input int word,
    input bit error
  );

  int address, data;
  byte lanes;
  bit  write;

  initial otx_cpu_open(int'(Rom), RomBytes, int'(Sram), SramBytes);

  assign wb_stb = wb_cyc;

  always_ff @(posedge clk) begin
    if (reset) begin
      otx_cpu_reset();
      wb_cyc <= 1'b0;
    end else if (wb_cyc) begin
      if (wb_ack || wb_err) begin
        otx_cpu_answer(wb_dat_r, wb_err);
        wb_cyc <= 1'b0;
      end
    end else if (otx_cpu_run(PerClock, address, data, lanes, write)) begin
      wb_adr   <= address[31:2];
      wb_dat_w <= data;
      wb_sel   <= lanes[3:0];
      wb_we    <= write;
      wb_cyc   <= 1'b1;
    end
  end
endmodule
`default_nettype wire
