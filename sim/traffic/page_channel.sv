// SPDX-License-Identifier: Apache-2.0
// Simulation only: otx_nand_channel and otx_nand_corrector at the level of whole pages, for presets whose random
// traffic and power cuts look at engine, log and firmware and not at the bus.
//
// Same streams and the same contract as rtl/nand/otx_nand_channel.sv, for one way that does one thing at a time. A page
// takes 512 clocks (one beat each) instead of 8,448, the array the part's times; pins rest.
// The cells are those of the NAND model with its faults and its power cuts (sim/traffic/page_nand.cpp, which says what
// stands in a page); wrong bits are corrected there.
`default_nettype none

module otx_nand_channel #(
    parameter int Ways = 1,
    parameter int ClkPs = 10000,
    parameter int RowBytes = 3,
    parameter int TWpNs = 0,
    parameter int TWhNs = 0,
    parameter int TWcNs = 0,
    parameter int TRpNs = 0,
    parameter int TRehNs = 0,
    parameter int TRcNs = 0,
    parameter int TReaNs = 0,
    parameter int TIoNs = 0,
    parameter int TClsNs = 0,
    parameter int TClhNs = 0,
    parameter int TCsNs = 0,
    parameter int TChNs = 0,
    parameter int TAlsNs = 0,
    parameter int TAlhNs = 0,
    parameter int TDsNs = 0,
    parameter int TDhNs = 0,
    parameter int TAdlNs = 0,
    parameter int TWhrNs = 0,
    parameter int TRhwNs = 0,
    parameter int TWbNs = 0,
    parameter int TRrNs = 0,
    parameter int TRstMaxNs = 0,
    parameter int TProgMaxNs = 0,
    parameter int TBersMaxNs = 0,
    parameter int TRMaxNs = 0,
    parameter int TSuspNs = 0,
    parameter int SuspendReads = 4,
    parameter bit Cache = 1'b0,
    parameter int Planes = 1,
    parameter int PageBits = 6,
    parameter bit Scramble = 1'b0,
    parameter int T = 8,
    localparam int ChunkBits = $clog2(otx_page_pkg::chunks(T)),
    localparam int LengthBits = otx_page_pkg::field(T) - 3,
    localparam int CountBits = $clog2(2 * T)
) (
    input  wire                   clk,
    input  wire                   reset,
    input  wire                   tick,
    input  wire  [           2:0] mode,
    input  wire  [           3:0] capabilities,
    input  wire                   cmd_valid,
    output wire                   cmd_ready,
    output wire                   cmd_slot,
    input  wire  [           3:0] cmd_way,
    input  wire  [           3:0] cmd_op,
    input  wire  [          23:0] cmd_row,
    input  wire  [           7:0] cmd_kind,
    input  wire  [          31:0] cmd_generation,
    input  wire  [          31:0] cmd_lpn,
    input  wire  [          47:0] cmd_sequence,
    input  wire                   cmd_allow_cache,
    output wire                   wreq_valid,
    input  wire                   wreq_ready,
    output wire  [           3:0] wreq_way,
    output wire                   wreq_slot,
    input  wire                   wdata_valid,
    output wire                   wdata_ready,
    input  wire  [          63:0] wdata_data,
    input  wire                   wdata_last,
    output wire                   rdata_valid,
    input  wire                   rdata_ready,
    output wire  [           3:0] rdata_way,
    output wire                   rdata_slot,
    output logic [          63:0] rdata_data,
    output wire                   rdata_last,
    output wire                   cpl_valid,
    input  wire                   cpl_ready,
    output wire  [           3:0] cpl_way,
    output logic [           2:0] cpl_status,
    output logic [           7:0] cpl_kind,
    output logic [          31:0] cpl_generation,
    output logic [          31:0] cpl_lpn,
    output logic [          47:0] cpl_sequence,
    output logic [ CountBits-1:0] cpl_corrected,
    output wire                   cpl_slot,
    output wire                   fix_valid,
    input  wire                   fix_ready,
    output wire  [           3:0] fix_way,
    output wire                   fix_slot,
    output wire  [          11:0] fix_byte,
    output wire  [           7:0] fix_mask,
    output wire                   ask_valid,
    input  wire                   ask_ready,
    output wire  [ ChunkBits-1:0] ask_chunk,
    output wire  [           7:0] ask_byte,
    input  wire                   found_valid,
    output wire                   found_ready,
    input  wire  [LengthBits-1:0] found_byte,
    input  wire  [           7:0] found_mask,
    input  wire                   found_last,
    input  wire                   found_failed,
    input  wire  [ CountBits-1:0] found_count,
    input  wire  [          31:0] found_sum,
    output wire  [      Ways-1:0] way_idle,
    output wire  [      Ways-1:0] way_accepts_read,
    output wire  [      Ways-1:0] way_accepts_program,
    output wire  [      Ways-1:0] way_accepts_erase,
    output wire  [      Ways-1:0] nand_ce_n,
    input  wire  [      Ways-1:0] nand_rb_n,
    output wire                   nand_cle,
    output wire                   nand_ale,
    output wire                   nand_we_n,
    output wire                   nand_re_n,
    output wire                   nand_wp_n,
    output wire  [           7:0] nand_dq_o,
    output wire                   nand_dq_oe,
    input  wire  [           7:0] nand_dq_i
);
  import "DPI-C" function int otx_page_die(
    input string path,
    input int clk_ps
  );
  import "DPI-C" function int otx_page_begin(
    input int die,
    input int op,
    input int row,
    input int kind,
    input int generation,
    input int lpn,
    input longint sequence_number
  );
  import "DPI-C" function void otx_page_put(
    input int die,
    input int beat,
    input longint data
  );
  import "DPI-C" function int otx_page_array(input int die);
  import "DPI-C" function int otx_page_end(input int die);
  import "DPI-C" function int otx_page_field(
    input int die,
    input int number
  );
  import "DPI-C" function longint otx_page_get(
    input int die,
    input int beat
  );

  localparam logic [3:0] OpParam = otx_facts_pkg::OpParam,
      OpRead = otx_facts_pkg::OpRead, OpProgram = otx_facts_pkg::OpProgram;

  typedef enum logic [2:0] {
    StIdle,
    StAsk,    // for the page of a PROGRAM
    StFill,
    StArray,  // or whatever else the die is busy with
    StSend,
    StEnd
  } state_e;

  state_e state_q = StIdle;
  logic [3:0] op_q;
  logic [8:0] beat_q;
  logic [31:0] wait_q;

  int die;
  initial begin
    if (Ways != 1) $fatal(1, "page_channel: one way of a channel, not %0d", Ways);
    if (Cache || Planes != 1 || TSuspNs != 0 || T != 8)
      $fatal(1, "page_channel: a part that does one thing at a time, with ecc_t 8");
    die = otx_page_die($sformatf("%m"), ClkPs);
  end

  assign {cmd_slot, wreq_way, wreq_slot, rdata_way, rdata_slot, cpl_way, cpl_slot} = '0;
  assign {fix_valid, fix_way, fix_slot, fix_byte, fix_mask, ask_valid, ask_chunk, ask_byte, way_accepts_read,
          way_accepts_program, way_accepts_erase} = '0;
  assign {nand_cle, nand_ale, nand_dq_o, nand_dq_oe} = '0;
  assign {nand_ce_n, nand_we_n, nand_re_n, nand_wp_n, found_ready} = '1;
  assign way_idle = state_q == StIdle;
  assign cmd_ready = state_q == StIdle && cmd_way == 0;
  assign wreq_valid = state_q == StAsk;
  assign wdata_ready = state_q == StFill;
  assign rdata_valid = state_q == StSend;
  assign rdata_last = beat_q == '1;
  assign cpl_valid = state_q == StEnd;

  always_ff @(posedge clk) begin
    case (state_q)
      StIdle:
      if (cmd_valid && cmd_ready) begin
        op_q <= cmd_op;
        beat_q <= '0;
        wait_q <= otx_page_begin(
            die, int'(cmd_op), int'(cmd_row), int'(cmd_kind), int'(cmd_generation), int'(cmd_lpn), 64'(cmd_sequence)
        );
        state_q <= cmd_op == OpProgram ? StAsk : StArray;
      end
      StAsk:   if (wreq_ready) state_q <= StFill;
      StFill:
      if (wdata_valid) begin
        otx_page_put(die, int'(beat_q), wdata_data);
        beat_q <= beat_q + 1'b1;
        if (beat_q == '1) begin
          wait_q  <= otx_page_array(die);
          state_q <= StArray;
        end
      end
      StArray: begin
        wait_q <= wait_q - 1;
        if (wait_q == 0) begin
          cpl_status <= 3'(otx_page_end(die));
          cpl_kind <= 8'(otx_page_field(die, 0));
          cpl_generation <= otx_page_field(die, 1);
          cpl_lpn <= otx_page_field(die, 2);
          cpl_sequence <= {16'(otx_page_field(die, 4)), otx_page_field(die, 3)};
          cpl_corrected <= CountBits'(otx_page_field(die, 5));
          rdata_data <= otx_page_get(die, 0);
          state_q <= op_q == OpRead || op_q == OpParam ? StSend : StEnd;
        end
      end
      StSend:
      if (rdata_ready) begin
        beat_q <= beat_q + 1'b1;
        rdata_data <= otx_page_get(die, int'(beat_q) + 1);
        if (rdata_last) state_q <= StEnd;
      end
      default: if (cpl_ready) state_q <= StIdle;
    endcase
    if (reset) state_q <= StIdle;
  end

  wire unused = &{1'b0, tick, mode, capabilities, cmd_allow_cache, wdata_last, fix_ready, ask_ready, found_valid,
                  found_byte, found_mask, found_last, found_failed, found_count, found_sum, nand_rb_n, nand_dq_i};
endmodule

// Nobody asks it.
module otx_nand_corrector #(
    parameter int Users = 2,
    parameter int T = 8,
    localparam int ChunkBits = $clog2(otx_page_pkg::chunks(T)),
    localparam int LengthBits = otx_page_pkg::field(T) - 3,
    localparam int CountBits = $clog2(2 * T)
) (
    input  wire                       clk,
    input  wire                       reset,
    input  wire [          Users-1:0] ask_valid,
    output wire [          Users-1:0] ask_ready,
    input  wire [ChunkBits*Users-1:0] ask_chunk,
    input  wire [        8*Users-1:0] ask_byte,
    output wire [          Users-1:0] fix_valid,
    input  wire [          Users-1:0] fix_ready,
    output wire [     LengthBits-1:0] fix_byte,
    output wire [                7:0] fix_mask,
    output wire                       fix_last,
    output wire                       fix_failed,
    output wire [      CountBits-1:0] fix_count,
    output wire [               31:0] fix_sum
);
  assign {ask_ready, fix_valid, fix_byte, fix_mask, fix_last, fix_failed, fix_count, fix_sum} = '0;
  wire unused = &{1'b0, clk, reset, ask_valid, ask_chunk, ask_byte, fix_ready};
endmodule
`default_nettype wire
