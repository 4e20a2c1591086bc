// SPDX-License-Identifier: Apache-2.0
// Testbench: one NAND channel with its dies on a shared bus, and the corrector, which a second channel keeps busy while
// `rival` is high: it asks about one chunk after the other. Two drivers of the data pins at once end the simulation.

`default_nettype none

module tb_nand_channel #(
    parameter  int Ways       = 2,
    parameter  int ClkPs      = 10000,
    parameter  int TAdlNs     = 100,
    parameter  int TWpNs      = 12,
    parameter  int TWcNs      = 25,
    parameter  int TDsNs      = 12,
    parameter  int TClsNs     = 12,
    parameter  int TAlsNs     = 12,
    parameter  int TRpNs      = 12,
    parameter  int TRcNs      = 25,
    parameter  int TReaNs     = 20,
    parameter  int TIoNs      = 5,
    parameter  int TWhNs      = 10,
    parameter  int TRehNs     = 10,
    parameter  int TClhNs     = 5,
    parameter  int TCsNs      = 20,
    parameter  int TChNs      = 5,
    parameter  int TAlhNs     = 5,
    parameter  int TDhNs      = 5,
    parameter  int TWhrNs     = 60,
    parameter  int TRhwNs     = 100,
    parameter  int TWbNs      = 100,
    parameter  int TRrNs      = 20,
    parameter  int TRMaxNs    = 25000,
    parameter  int TProgMaxNs = 700000,
    parameter  int TBersMaxNs = 2000000,
    parameter  int TSuspNs    = 0,
    parameter  bit Cache      = 1'b0,
    parameter  int Planes     = 1,
    parameter  int PageBits   = 6,
    parameter  bit Scramble   = 1'b0,
    parameter  int T          = 8,
    localparam int ChunkBits  = $clog2(otx_page_pkg::chunks(T)),
    localparam int LengthBits = otx_page_pkg::field(T) - 3,
    localparam int CountBits  = $clog2(2 * T)
) (
    input  logic                 clk,
    input  logic                 reset,
    input  logic [          2:0] mode,
    input  logic [          3:0] capabilities,
    input  logic                 cmd_valid,
    output logic                 cmd_ready,
    output logic                 cmd_slot,
    input  logic [          3:0] cmd_way,
    input  logic [          3:0] cmd_op,
    input  logic [         23:0] cmd_row,
    input  logic [          7:0] cmd_kind,
    input  logic [         31:0] cmd_generation,
    input  logic [         31:0] cmd_lpn,
    input  logic [         47:0] cmd_sequence,
    input  logic                 cmd_allow_cache,
    output logic                 wreq_valid,
    input  logic                 wreq_ready,
    output logic [          3:0] wreq_way,
    output logic                 wreq_slot,
    input  logic                 wdata_valid,
    output logic                 wdata_ready,
    input  logic [         63:0] wdata_data,
    input  logic                 wdata_last,
    output logic                 rdata_valid,
    input  logic                 rdata_ready,
    output logic [          3:0] rdata_way,
    output logic                 rdata_slot,
    output logic [         63:0] rdata_data,
    output logic                 rdata_last,
    output logic                 cpl_valid,
    input  logic                 cpl_ready,
    output logic [          3:0] cpl_way,
    output logic [          2:0] cpl_status,
    output logic [          7:0] cpl_kind,
    output logic [         31:0] cpl_generation,
    output logic [         31:0] cpl_lpn,
    output logic [         47:0] cpl_sequence,
    output logic [CountBits-1:0] cpl_corrected,
    output logic                 cpl_slot,
    output logic                 fix_valid,
    input  logic                 fix_ready,
    output logic [          3:0] fix_way,
    output logic                 fix_slot,
    output logic [         11:0] fix_byte,
    output logic [          7:0] fix_mask,
    input  logic                 rival,
    output logic                 asks,
    output logic [     Ways-1:0] way_idle,
    output logic [     Ways-1:0] way_accepts_read,
    output logic [     Ways-1:0] way_accepts_program,
    output logic [     Ways-1:0] way_accepts_erase,
    output logic [         31:0] clocks
);
  logic [Ways-1:0] ce_n, rb_n, die_oe;
  logic [Ways*8-1:0] die_dq;
  logic cle, ale, we_n, re_n, wp_n, host_oe;
  logic [7:0] host_dq, dq;

  logic ask_valid, ask_ready, found_valid, found_ready, found_last, found_failed;
  logic [ChunkBits-1:0] ask_chunk;
  logic [7:0] ask_byte, found_mask;
  logic [LengthBits-1:0] found_byte;
  logic [CountBits-1:0] found_count;
  logic [31:0] found_sum;
  logic rival_valid, rival_ready, rival_found;
  assign asks = ask_valid;

  otx_nand_corrector #(
      .Users(2),
      .T(T)
  ) corrector (
      .clk,
      .reset,
      .ask_valid({rival_valid, ask_valid}),
      .ask_ready({rival_ready, ask_ready}),
      .ask_chunk({ChunkBits'(2), ask_chunk}),
      .ask_byte({8'hA5, ask_byte}),
      .fix_valid({rival_found, found_valid}),
      .fix_ready({1'b1, found_ready}),
      .fix_byte(found_byte),
      .fix_mask(found_mask),
      .fix_last(found_last),
      .fix_failed(found_failed),
      .fix_count(found_count),
      .fix_sum(found_sum)
  );

  // The rival asks from the clock in which it may until the bytes of its remainder are taken.
  logic [5:0] taken_q;
  assign rival_valid = taken_q != 0;
  always_ff @(posedge clk) begin
    if (taken_q == 0) taken_q <= rival && !rival_found ? 6'(otx_page_pkg::parity_bytes(T)) : 6'd0;
    else if (rival_ready) taken_q <= taken_q - 1'b1;
    if (reset) taken_q <= 6'd0;
  end

  logic tick;
  otx_nand_tick #(
      .ClkPs(ClkPs)
  ) ticks (
      .clk,
      .reset,
      .tick
  );

  otx_nand_channel #(
      .Ways(Ways),
      .ClkPs(ClkPs),
      .TAdlNs(TAdlNs),
      .TWpNs(TWpNs),
      .TWcNs(TWcNs),
      .TDsNs(TDsNs),
      .TClsNs(TClsNs),
      .TAlsNs(TAlsNs),
      .TWhNs(TWhNs),
      .TRehNs(TRehNs),
      .TClhNs(TClhNs),
      .TCsNs(TCsNs),
      .TChNs(TChNs),
      .TAlhNs(TAlhNs),
      .TDhNs(TDhNs),
      .TWhrNs(TWhrNs),
      .TRhwNs(TRhwNs),
      .TWbNs(TWbNs),
      .TRrNs(TRrNs),
      .TRpNs(TRpNs),
      .TRcNs(TRcNs),
      .TReaNs(TReaNs),
      .TIoNs(TIoNs),
      .TRMaxNs(TRMaxNs),
      .TProgMaxNs(TProgMaxNs),
      .TBersMaxNs(TBersMaxNs),
      .TSuspNs(TSuspNs),
      .Cache(Cache),
      .Planes(Planes),
      .PageBits(PageBits),
      .Scramble(Scramble),
      .T(T)
  ) channel (
      .*,
      .nand_ce_n (ce_n),
      .nand_rb_n (rb_n),
      .nand_cle  (cle),
      .nand_ale  (ale),
      .nand_we_n (we_n),
      .nand_re_n (re_n),
      .nand_wp_n (wp_n),
      .nand_dq_o (host_dq),
      .nand_dq_oe(host_oe),
      .nand_dq_i (dq)
  );

  for (genvar i = 0; i < Ways; i++) begin : g_die
    otx_nand_die #(
        .Die  (i),
        .ClkPs(ClkPs)
    ) die (
        .clk,
        .ce_n (ce_n[i]),
        .rb_n (rb_n[i]),
        .cle,
        .ale,
        .we_n,
        .re_n,
        .wp_n,
        .dq_i (dq),
        .dq_o (die_dq[i*8+:8]),
        .dq_oe(die_oe[i])
    );
  end

  always_comb begin
    dq = 8'hFF;
    if (host_oe) dq = host_dq;
    for (int i = 0; i < Ways; i++) if (die_oe[i] && !host_oe) dq = die_dq[i*8+:8];
  end

  always_ff @(posedge clk) begin
    clocks <= reset ? 32'd0 : clocks + 1'b1;
    if (!reset && ($countones(die_oe) + 32'(host_oe)) > 1) $fatal(1, "two drivers of the data pins at once");
  end
endmodule

`default_nettype wire
