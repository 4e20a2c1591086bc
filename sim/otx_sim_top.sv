// SPDX-License-Identifier: Apache-2.0
// The whole simulated drive: the SoC of soc/sim.py and one otx_nand_die per way, on pins as on a board. What stands
// before the core (its host port, or with OTX_NVME the transport's side of the NVMe front end), UART bytes and state
// are ports.
//
// Everything runs on `clk`; the harness (otx_sim.cpp) sets inputs before a rising edge and looks at outputs after them.
// Parameters come from build/<preset>/sim.f.
// A die that is not selected leaves the data lines alone; lines nobody drives read as ones.
`default_nettype none

module otx_sim_top #(
    parameter int Channels = 1,
    parameter int Ways = 1,
    parameter int ClkPs = 10000
) (
    input wire clk,
    input wire reset,
    input wire power_fail,

`ifdef OTX_NVME
    input wire bar_req_valid,
    output wire bar_req_ready,
    input wire bar_req_write,
    input wire [13:0] bar_req_address,
    input wire [63:0] bar_req_data,
    input wire [7:0] bar_req_mask,
    output wire bar_rsp_valid,
    output wire [63:0] bar_rsp_data,
    output wire dma_read_valid,
    input wire dma_read_ready,
    output wire [63:0] dma_read_address,
    output wire [12:0] dma_read_length,
    input wire dma_read_data_valid,
    output wire dma_read_data_ready,
    input wire [63:0] dma_read_data_data,
    input wire dma_read_data_last,
    input wire dma_read_data_error,
    output wire dma_write_valid,
    input wire dma_write_ready,
    output wire [63:0] dma_write_address,
    output wire [12:0] dma_write_length,
    output wire dma_write_message,
    output wire dma_write_data_valid,
    input wire dma_write_data_ready,
    output wire [63:0] dma_write_data_data,
    output wire dma_write_data_last,
    input wire msix_enable,
    input wire msix_mask,
    input wire function_reset,
    output wire active,
`else
    input wire cmd_valid,
    output wire cmd_ready,
    input wire [7:0] cmd_opcode,
    input wire [31:0] cmd_lba,
    input wire [15:0] cmd_count,
    input wire [7:0] cmd_txid,
    input wire cmd_has_tx,
    input wire cmd_fua,
    input wire cmd_commit,
    input wire cmd_relaxed,
    input wire cmd_barrier,
    input wire cmd_orderless,
    input wire [1:0] cmd_order,
    input wire [1:0] cmd_priority,
    input wire [15:0] cmd_stream,
    input wire [7:0] cmd_tag,
    input wire [31:0] cmd_arg,
    output wire wdata_req_valid,
    output wire [7:0] wdata_req_tag,
    output wire [4:0] wdata_req_block,
    output wire [11:0] wdata_req_request,
    input wire wdata_valid,
    output wire wdata_ready,
    input wire [11:0] wdata_request,
    input wire [63:0] wdata_data,
    input wire wdata_last,
    input wire wdata_error,
    output wire rdata_valid,
    output wire [7:0] rdata_tag,
    output wire [4:0] rdata_block,
    output wire [63:0] rdata_data,
    output wire rdata_last,
    output wire cpl_valid,
    output wire [7:0] cpl_tag,
    output wire [3:0] cpl_status,
    output wire [31:0] cpl_result,
`endif

    output wire uart_valid,
    output wire [7:0] uart_data,
    output wire enabled,
    output wire busy,
    output wire fault,
    output wire dumped  // the power fails, and all that was to be saved is
);
  localparam int Dies = Channels * Ways;

  wire [Dies-1:0] ce_n, rb_n, die_oe;
  wire [Channels-1:0] cle, ale, we_n, re_n, wp_n, dq_oe;
  wire [8*Channels-1:0] dq_o, dq_i;
  wire [8*Dies-1:0] die_dq;

  logic reset_q = 1'b1;  // a register, or Verilator works out in every evaluation what hangs on an input
  always_ff @(posedge clk) reset_q <= reset;

  otx_soc soc (
      .clk,
      .reset(reset_q),
      .power_fail,
`ifdef OTX_NVME
      .bar_req_valid,
      .bar_req_ready,
      .bar_req_payload_write(bar_req_write),
      .bar_req_payload_address(bar_req_address),
      .bar_req_payload_data(bar_req_data),
      .bar_req_payload_mask(bar_req_mask),
      .bar_rsp_valid,
      .bar_rsp_ready(1'b1),
      .bar_rsp_payload_data(bar_rsp_data),
      .dma_read_valid,
      .dma_read_ready,
      .dma_read_payload_address(dma_read_address),
      .dma_read_payload_length(dma_read_length),
      .dma_read_data_valid,
      .dma_read_data_ready,
      .dma_read_data_payload_data(dma_read_data_data),
      .dma_read_data_payload_last(dma_read_data_last),
      .dma_read_data_payload_error(dma_read_data_error),
      .dma_write_valid,
      .dma_write_ready,
      .dma_write_payload_address(dma_write_address),
      .dma_write_payload_length(dma_write_length),
      .dma_write_payload_message(dma_write_message),
      .dma_write_data_valid,
      .dma_write_data_ready,
      .dma_write_data_payload_data(dma_write_data_data),
      .dma_write_data_payload_last(dma_write_data_last),
      .msix_enable,
      .msix_mask,
      .function_reset,
      .active,
`else
      .cmd_valid,
      .cmd_ready,
      .cmd_payload_opcode(cmd_opcode),
      .cmd_payload_lba(cmd_lba),
      .cmd_payload_count(cmd_count),
      .cmd_payload_txid(cmd_txid),
      .cmd_payload_hasTx(cmd_has_tx),
      .cmd_payload_fua(cmd_fua),
      .cmd_payload_commit(cmd_commit),
      .cmd_payload_relaxed(cmd_relaxed),
      .cmd_payload_barrier(cmd_barrier),
      .cmd_payload_orderless(cmd_orderless),
      .cmd_payload_order(cmd_order),
      .cmd_payload_priority(cmd_priority),
      .cmd_payload_stream(cmd_stream),
      .cmd_payload_tag(cmd_tag),
      .cmd_payload_arg(cmd_arg),
      .wdata_req_valid,
      .wdata_req_ready(1'b1),
      .wdata_req_payload_tag(wdata_req_tag),
      .wdata_req_payload_block(wdata_req_block),
      .wdata_req_payload_request(wdata_req_request),
      .wdata_valid,
      .wdata_ready,
      .wdata_payload_request(wdata_request),
      .wdata_payload_data(wdata_data),
      .wdata_payload_last(wdata_last),
      .wdata_payload_error(wdata_error),
      .rdata_valid,
      .rdata_ready(1'b1),
      .rdata_payload_tag(rdata_tag),
      .rdata_payload_block(rdata_block),
      .rdata_payload_data(rdata_data),
      .rdata_payload_last(rdata_last),
      .cpl_valid,
      .cpl_ready(1'b1),
      .cpl_payload_tag(cpl_tag),
      .cpl_payload_status(cpl_status),
      .cpl_payload_result(cpl_result),
`endif
      .uart_valid,
      .uart_ready(1'b1),
      .uart_data,
      .enabled,
      .busy,
      .fault,
      .dumped,
      .nand_ce_n(ce_n),
      .nand_rb_n(rb_n),
      .nand_cle(cle),
      .nand_ale(ale),
      .nand_we_n(we_n),
      .nand_re_n(re_n),
      .nand_wp_n(wp_n),
      .nand_dq_o(dq_o),
      .nand_dq_oe(dq_oe),
      .nand_dq_i(dq_i)
  );

  for (genvar c = 0; c < Channels; c++) begin : gen_channel
    logic [7:0] lines;
    wire  [7:0] host_lines = dq_oe[c] ? dq_o[8*c+:8] : 8'hFF;
    always_comb begin
      lines = host_lines;
      for (int w = 0; w < Ways; w++) if (die_oe[c*Ways+w]) lines &= die_dq[8*(c*Ways+w)+:8];
    end
    assign dq_i[8*c+:8] = lines;

    for (genvar w = 0; w < Ways; w++) begin : gen_way
      otx_nand_die #(
          .Die  (c * Ways + w),
          .ClkPs(ClkPs)
      ) die (
          .clk,
          .ce_n (ce_n[c*Ways+w]),
          .rb_n (rb_n[c*Ways+w]),
          .cle  (cle[c]),
          .ale  (ale[c]),
          .we_n (we_n[c]),
          .re_n (re_n[c]),
          .wp_n (wp_n[c]),
          .dq_i (host_lines),
          .dq_o (die_dq[8*(c*Ways+w)+:8]),
          .dq_oe(die_oe[c*Ways+w])
      );
    end
  end
endmodule
`default_nettype wire
