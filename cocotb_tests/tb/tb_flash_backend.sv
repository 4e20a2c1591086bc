// SPDX-License-Identifier: Apache-2.0
// Testbench: otx_flash_backend with one NAND die model per way on its pins. Ports are those of the backend without its
// pins.
// Two drivers of a channel's data lines at once end the simulation; lines nobody drives read as ones.

`default_nettype none

module tb_flash_backend #(
    parameter int Channels       = 2,
    parameter int Ways           = 2,
    parameter int ClkPs          = 10000,
    parameter int CapabilityBits = 4       // 7 with read retry
) (
    input wire clk,
    input wire reset,
    input wire write_valid,
    output wire write_ready,
    input wire [3:0] write_payload_op,
    input wire [29:0] write_payload_ppn,
    input wire [15:0] write_payload_frame,
    input wire [7:0] write_payload_kind,
    input wire [31:0] write_payload_lpn,
    input wire [47:0] write_payload_sequence,
    input wire [15:0] write_payload_cookie,
    input wire [1:0] write_payload_priority,
    input wire read_valid,
    output wire read_ready,
    input wire [3:0] read_payload_op,
    input wire [29:0] read_payload_ppn,
    input wire [15:0] read_payload_frame,
    input wire [7:0] read_payload_kind,
    input wire [31:0] read_payload_lpn,
    input wire [47:0] read_payload_sequence,
    input wire [15:0] read_payload_cookie,
    input wire [1:0] read_payload_priority,
    input wire log_valid,
    output wire log_ready,
    input wire [3:0] log_payload_op,
    input wire [29:0] log_payload_ppn,
    input wire [15:0] log_payload_frame,
    input wire [7:0] log_payload_kind,
    input wire [31:0] log_payload_lpn,
    input wire [47:0] log_payload_sequence,
    input wire [15:0] log_payload_cookie,
    input wire [1:0] log_payload_priority,
    input wire firmware_valid,
    output wire firmware_ready,
    input wire [3:0] firmware_payload_op,
    input wire [29:0] firmware_payload_ppn,
    input wire [15:0] firmware_payload_frame,
    input wire [7:0] firmware_payload_kind,
    input wire [31:0] firmware_payload_lpn,
    input wire [47:0] firmware_payload_sequence,
    input wire [15:0] firmware_payload_cookie,
    input wire [1:0] firmware_payload_priority,
    output wire writeDone_valid,
    input wire writeDone_ready,
    output wire [15:0] writeDone_payload_cookie,
    output wire [2:0] writeDone_payload_status,
    output wire [7:0] writeDone_payload_kind,
    output wire [31:0] writeDone_payload_generation,
    output wire [31:0] writeDone_payload_lpn,
    output wire [47:0] writeDone_payload_sequence,
    output wire readDone_valid,
    input wire readDone_ready,
    output wire [15:0] readDone_payload_cookie,
    output wire [2:0] readDone_payload_status,
    output wire [7:0] readDone_payload_kind,
    output wire [31:0] readDone_payload_generation,
    output wire [31:0] readDone_payload_lpn,
    output wire [47:0] readDone_payload_sequence,
    output wire logDone_valid,
    input wire logDone_ready,
    output wire [15:0] logDone_payload_cookie,
    output wire [2:0] logDone_payload_status,
    output wire [7:0] logDone_payload_kind,
    output wire [31:0] logDone_payload_generation,
    output wire [31:0] logDone_payload_lpn,
    output wire [47:0] logDone_payload_sequence,
    output wire firmwareDone_valid,
    input wire firmwareDone_ready,
    output wire [15:0] firmwareDone_payload_cookie,
    output wire [2:0] firmwareDone_payload_status,
    output wire [7:0] firmwareDone_payload_kind,
    output wire [31:0] firmwareDone_payload_generation,
    output wire [31:0] firmwareDone_payload_lpn,
    output wire [47:0] firmwareDone_payload_sequence,
    output wire alloc_valid,
    input wire alloc_ready,
    output wire [29:0] alloc_payload,
    output wire [31:0] allocLeft,
    output wire [9:0] places,
    input wire [15:0] rounds,
    output wire [15:0] reach,
    input wire only,
    input wire freeBlock_valid,
    output wire freeBlock_ready,
    input wire [23:0] freeBlock_payload,
    output wire [Channels*Ways-1:0] freeBlockRoom,
    input wire [31:0] generation,
    input wire [2:0] nandMode,
    input wire [CapabilityBits-1:0] nandCapabilities,
    input wire [3:0] refreshAt,
    input wire idleDies,
    output wire weak_valid,
    input wire weak_ready,
    output wire [29:0] weak_payload,
    output wire [15:0] correctedReads,
    output wire [15:0] weakReads,
    output wire [15:0] retriedReads,
    output wire frame_aw_valid,
    input wire frame_aw_ready,
    output wire [31:0] frame_aw_payload_addr,
    output wire [3:0] frame_aw_payload_id,
    output wire [7:0] frame_aw_payload_len,
    output wire [2:0] frame_aw_payload_size,
    output wire [1:0] frame_aw_payload_burst,
    output wire frame_ar_valid,
    input wire frame_ar_ready,
    output wire [31:0] frame_ar_payload_addr,
    output wire [3:0] frame_ar_payload_id,
    output wire [7:0] frame_ar_payload_len,
    output wire [2:0] frame_ar_payload_size,
    output wire [1:0] frame_ar_payload_burst,
    output wire frame_w_valid,
    input wire frame_w_ready,
    output wire [63:0] frame_w_payload_data,
    output wire [7:0] frame_w_payload_strb,
    output wire frame_w_payload_last,
    input wire frame_b_valid,
    output wire frame_b_ready,
    input wire [3:0] frame_b_payload_id,
    input wire [1:0] frame_b_payload_resp,
    input wire frame_r_valid,
    output wire frame_r_ready,
    input wire [63:0] frame_r_payload_data,
    input wire [3:0] frame_r_payload_id,
    input wire [1:0] frame_r_payload_resp,
    input wire frame_r_payload_last,
    output wire busy
);
  wire [Channels*Ways-1:0] nand_ce_n, nand_rb_n, die_oe;
  wire [Channels-1:0] nand_cle, nand_ale, nand_we_n, nand_re_n, nand_wp_n, nand_dq_oe;
  wire [8*Channels-1:0] nand_dq_o, nand_dq_i;
  wire [8*Channels*Ways-1:0] die_dq;

  otx_flash_backend backend (
      .*,
      .retire_valid(1'b0),  // of the allocator alone: test_page_allocator.py
      .retire_payload(24'd0),
      .picked_valid(),
      .picked_payload(),
      .dieNow_0(),
      .dieNow_1(),
      .dieNow_2(),
      .dieNow_3()
  );

  for (genvar c = 0; c < Channels; c++) begin : g_channel
    logic [7:0] dq;
    always_comb begin
      dq = 8'hFF;
      for (int w = 0; w < Ways; w++) if (die_oe[c*Ways+w]) dq = die_dq[8*(c*Ways+w)+:8];
      if (nand_dq_oe[c]) dq = nand_dq_o[8*c+:8];
    end
    assign nand_dq_i[8*c+:8] = dq;

    for (genvar w = 0; w < Ways; w++) begin : g_way
      otx_nand_die #(
          .Die  (c * Ways + w),
          .ClkPs(ClkPs)
      ) die (
          .clk,
          .ce_n (nand_ce_n[c*Ways+w]),
          .rb_n (nand_rb_n[c*Ways+w]),
          .cle  (nand_cle[c]),
          .ale  (nand_ale[c]),
          .we_n (nand_we_n[c]),
          .re_n (nand_re_n[c]),
          .wp_n (nand_wp_n[c]),
          .dq_i (dq),
          .dq_o (die_dq[8*(c*Ways+w)+:8]),
          .dq_oe(die_oe[c*Ways+w])
      );
    end

    always_ff @(posedge clk) begin
      if (!reset && $countones(die_oe[c*Ways+:Ways]) + 32'(nand_dq_oe[c]) > 1)
        $fatal(1, "two drivers of the data lines at once");
    end
  end
endmodule

`default_nettype wire
