// SPDX-License-Identifier: Apache-2.0
// Runs one turn of one way on the bus, from CE# low to CE# high, and reports the operation's end.
//
// With `pause` the turn is a command that suspends, or with `resumes` resumes, the array; one with `check_suspended`
// ends with `goes_on` and no completion if its status byte has bit `SuspendedBit` (of the vendor), one with
// `check_array_ready` if bit 5 (ARDY) says that the array is at work. With `use_failc` bit 1 (FAILC) tells whether the
// program failed, the one before the last, else bit 0 (FAIL). `chained`, `paired`, `status_enhanced`: see
// otx_nand_script; the first two count as they are when the last byte before the second command goes out, and stand in
// `went_chained` and `went_paired` from then on.
// `pick` offers a way that wants the bus; `start` takes it (one clock). Then `way` is stable and `op`, `collect`,
// `timed_out` and the command's fields are that way's. The turn ends with one clock of `issued` (the array works) or,
// after `cpl` has been taken, of `done`. A page to program is asked for with `wreq` as the turn begins. All beats of
// `rdata` are taken before `cpl` is offered.
// Late `wdata` and slow `rdata` pause the strobes; they, and a `cpl` that is not taken, hold the bus. A turn of a way
// that timed out touches no pin: TIMEOUT. An unknown operation: FAIL, no pin moves.
// Reset raises CE# at once and forgets the turn.

`default_nettype none

module otx_nand_turn #(
    parameter  int Ways         = 2,
    parameter  int RowBytes     = 3,
    parameter  int Bits         = 6,                                // of `cs`
    parameter  int PageBytes    = 4096,
    parameter  bit Scramble     = 1'b0,
    parameter  int T            = 8,                                // of otx_nand_ecc
    parameter  int SuspendedBit = 2,
    localparam int ChunkBits    = $clog2(otx_page_pkg::chunks(T)),
    localparam int LengthBits   = otx_page_pkg::field(T) - 3,
    localparam int CountBits    = $clog2(2 * T)
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic [      Bits-1:0] cs,                 // clocks from CE# low to the first strobe
    output logic                  resting,            // no turn
    input  logic                  pick_valid,
    input  logic [           3:0] pick_way,
    output logic                  start,
    output logic [           3:0] way,
    input  logic [           3:0] op,
    input  logic                  collect,
    input  logic                  timed_out,
    input  logic                  pause,
    input  logic                  resumes,
    input  logic                  check_suspended,
    input  logic                  chained,
    input  logic                  paired,
    input  logic                  check_array_ready,
    input  logic                  use_failc,
    input  logic                  status_enhanced,
    output logic                  went_chained,
    output logic                  went_paired,
    output logic                  goes_on,
    input  logic [          23:0] row,
    input  logic [           7:0] kind,
    input  logic [          31:0] generation,
    input  logic [          31:0] lpn,
    input  logic [          47:0] sequence_number,
    output logic                  issued,
    output logic                  done,
    output logic                  wreq_valid,
    input  logic                  wreq_ready,
    input  logic                  wdata_valid,
    output logic                  wdata_ready,
    input  logic [          63:0] wdata_data,
    output logic                  rdata_valid,
    input  logic                  rdata_ready,
    output logic [          63:0] rdata_data,
    output logic                  rdata_last,
    output logic                  cpl_valid,
    input  logic                  cpl_ready,
    output logic [           2:0] cpl_status,
    output logic [           7:0] cpl_kind,
    output logic [          31:0] cpl_generation,
    output logic [          31:0] cpl_lpn,
    output logic [          47:0] cpl_sequence,
    output logic [ CountBits-1:0] cpl_corrected,
    output logic                  fix_valid,
    input  logic                  fix_ready,
    output logic [          11:0] fix_byte,
    output logic [           7:0] fix_mask,
    output logic                  ask_valid,
    input  logic                  ask_ready,
    output logic [ ChunkBits-1:0] ask_chunk,
    output logic [           7:0] ask_byte,
    input  logic                  found_valid,
    output logic                  found_ready,
    input  logic [LengthBits-1:0] found_byte,
    input  logic [           7:0] found_mask,
    input  logic                  found_last,
    input  logic                  found_failed,
    input  logic [ CountBits-1:0] found_count,
    input  logic [          31:0] found_sum,
    output logic                  bus_valid,
    input  logic                  bus_ready,
    output logic [           1:0] bus_kind,
    output logic [           7:0] bus_byte,
    input  logic                  back_valid,
    input  logic [           7:0] back_byte,
    input  logic                  bus_quiet,
    output logic [      Ways-1:0] nand_ce_n
);
  localparam logic [3:0] OpReset = otx_facts_pkg::OpReset,
      OpReadId = otx_facts_pkg::OpReadId, OpParam = otx_facts_pkg::OpParam, OpRead = otx_facts_pkg::OpRead,
      OpReadOob = otx_facts_pkg::OpReadOob, OpVerify = otx_facts_pkg::OpVerify, OpProgram = otx_facts_pkg::OpProgram,
      OpErase = otx_facts_pkg::OpErase, OpStatus = otx_facts_pkg::OpStatus, OpReadMark = otx_facts_pkg::OpReadMark,
      OpSetFeatures = otx_facts_pkg::OpSetFeatures, OpGetFeatures = otx_facts_pkg::OpGetFeatures;
  localparam logic [2:0] Ok = otx_facts_pkg::PageOk, Fail = otx_facts_pkg::PageFail, BadCrc = otx_facts_pkg::PageCrc,
      Blank = otx_facts_pkg::PageBlank, Timeout = otx_facts_pkg::PageTimeout;
  localparam logic [2:0] ItemDataIn = 3'd2, ItemDataOut = 3'd3, ItemNothing = 3'd4, ItemEnd = 3'd5;
  localparam int ArrayReadyBit = 5;
  localparam logic [3:0] SecondCommand = 4'd7;  // step of otx_nand_script
  localparam logic [1:0] BusIn = 2'd2, BusOut = 2'd3;
  localparam logic [12:0] Spare = 13'(PageBytes), PageEnd = 13'(PageBytes + otx_page_pkg::spare_bytes(T));

  typedef enum logic [3:0] {
    StIdle,     // a way that wants the bus
    StTurn,     // nothing: the way's command comes
    StDecide,   // nothing: decides whether the pins are needed
    StSelect,   // the set-up time of CE#
    StStep,     // the item of this step, then the bus, to take its command or address
    StIn,       // the last byte of the page to be taken by the bus
    StOut,      // the last byte of the page to come back
    StPad,      // room for beats of zeroes up to a whole page
    StRelease,  // hold times, then CE# rises
    StDrain,    // the last beat to be taken
    StRepair,   // the wrong bits of the page to be found and corrected
    StComplete  // the completion to be taken
  } state_e;

  state_e state_q;
  logic [3:0] way_q, step_q;
  logic [Bits-1:0] select_q;
  logic [12:0] asked_q, came_q;  // number of the next byte to send or ask for, and to come
  logic wreq_q, collect_q, timed_out_q, pause_q, resumes_q, check_suspended_q, check_array_ready_q, use_failc_q;
  logic [ 3:0] op_q;
  logic [23:0] row_q;
  logic [7:0] kind_in_q, feature_q;  // the command's kind; byte of a feature to send

  logic [2:0] item, item_q;
  logic [7:0] item_byte, item_byte_q, oob_byte, page_byte, in_byte, oob_kind, key, read_byte;
  // `item_q` is that of `step_q`; StIn, StOut for a clock: `kind_q` is theirs; this step is done
  logic item_valid_q, in_q, out_q, step_on;
  logic [1:0] kind_q;
  logic [3:0] first;
  logic [12:0] out_from, out_to;
  logic busy, known, streams, reads_oob, in_take, in_offer, out_take, out_offer, page_last;
  logic unpack_valid, room, empty, full, sum_valid, residue;
  logic dirty, erased, repaired, failed, found_fix_valid, rotate, sum_fix_valid;
  logic [7:0] rotate_mask, plain_byte;
  logic [7:0] unpack_byte;
  logic [31:0] sum, oob_generation, oob_lpn;
  logic [47:0] oob_sequence;
  logic [39:0] last_bytes;

  assign known = op_q <= OpGetFeatures;
  assign streams = op_q == OpRead || op_q == OpParam;  // bytes go to rdata
  assign reads_oob = op_q == OpRead || op_q == OpReadOob || op_q == OpVerify;
  assign way = way_q;
  assign start = state_q == StIdle && pick_valid;
  assign resting = state_q == StIdle;

  otx_nand_script #(
      .RowBytes (RowBytes),
      .PageBytes(PageBytes),
      .OobBytes (otx_page_pkg::spare_bytes(T)),
      .LastChunk(otx_page_pkg::chunk_bytes(T))
  ) script (
      .op(op_q),
      .collect(collect_q),
      .pause(pause_q),
      .resumes(resumes_q),
      .chained(went_chained),
      .paired(went_paired),
      .status_enhanced,
      .row(row_q),
      .kind(kind_in_q),
      .step(step_q),
      .item,
      .item_byte,
      .first,
      .out_from,
      .out_to,
      .busy
  );

  // Page to the bus: data, then the spare bytes with the checksum and the parity in their places.
  assign in_offer  = state_q == StIn && in_q && (asked_q >= Spare || unpack_valid);
  assign in_take   = in_offer && bus_ready;
  assign page_byte = asked_q < Spare ? unpack_byte : oob_byte;
  always_comb begin
    plain_byte = asked_q < Spare ? page_byte ^ key : page_byte;
    case (asked_q)
      Spare + 13'd16: plain_byte = sum[7:0];
      Spare + 13'd17: plain_byte = sum[15:8];
      Spare + 13'd18: plain_byte = sum[23:16];
      Spare + 13'd19: plain_byte = sum[31:24];
      default: ;
    endcase
  end

  otx_nand_scrambler #(
      .On(Scramble)
  ) scrambler (
      .clk,
      .row (row_q),
      .load(state_q == StSelect),
      .take((in_take && asked_q < Spare) || (back_valid && came_q < Spare)),
      .key
  );

  otx_nand_unpack #(
      .Words(PageBytes / 8)
  ) unpack (
      .clk,
      .reset,
      .start(state_q == StDecide && op_q == OpProgram && !collect_q && !pause_q && !timed_out_q),
      .wdata_valid,
      .wdata_ready,
      .wdata_data,
      .byte_valid(unpack_valid),
      .byte_data(unpack_byte),
      .byte_take(in_take && asked_q < Spare)
  );

  // Page from the bus. Every eighth byte of a beat is asked for only when the beat has a place.
  assign page_last = asked_q[2:0] == 3'd7 && asked_q < Spare && streams;
  assign read_byte = reads_oob && came_q < Spare ? back_byte ^ key : back_byte;
  assign out_offer = state_q == StOut && out_q && asked_q != out_to && (!page_last || room);
  assign out_take  = out_offer && bus_ready;

  otx_nand_pack #(
      .Words(PageBytes / 8)
  ) pack (
      .clk,
      .reset,
      .start(state_q == StDecide),
      .byte_valid(back_valid && streams && came_q < Spare),
      .byte_data(read_byte),
      .zero(state_q == StPad && room && !full),
      .room,
      .empty,
      .full,
      .rdata_valid,
      .rdata_ready,
      .rdata_data,
      .rdata_last
  );

  otx_nand_oob oob (
      .clk,
      .load(state_q == StDecide),
      .load_kind(kind),
      .load_generation(generation),
      .load_lpn(lpn),
      .load_sequence(sequence_number),
      .out_take(in_take && asked_q >= Spare),
      .out_byte(oob_byte),
      .in_valid(back_valid && (!reads_oob || (came_q >= Spare && came_q < Spare + 13'd20))),
      .in_byte(back_byte),
      .rotate,
      .rotate_mask,
      .kind(oob_kind),
      .generation(oob_generation),
      .lpn(oob_lpn),
      .sequence_number(oob_sequence),
      .last_bytes
  );

  // The checksum covers the data and spare bytes 1 to 15; on reading also its own four bytes. To program, bytes past 15
  // do not disturb it before it is sent.
  assign sum_valid = state_q == StIn ? in_take && asked_q != Spare && asked_q < Spare + 13'd16 :
      back_valid && came_q != Spare && came_q < Spare + 13'd20;
  otx_crc32 crc (
      .clk,
      .start(state_q == StDecide),
      .byte_valid(sum_valid),
      .byte_data(state_q == StIn ? page_byte : read_byte),
      .fix_valid(sum_fix_valid),
      .fix(found_sum),
      .sum,
      .residue
  );

  // Corrections of data that stays here (VERIFY, READ_OOB) are dropped.
  assign fix_valid = found_fix_valid && streams;
  otx_nand_ecc #(
      .T(T)
  ) ecc (
      .clk,
      .reset,
      .start(state_q == StDecide),
      .from_last(op_q == OpReadOob),
      .byte_valid(state_q == StIn ? in_take : back_valid && reads_oob),
      .check(state_q != StIn),
      .page_byte(state_q == StIn ? plain_byte : back_byte),
      .sent_byte(in_byte),
      .dirty,
      .erased,
      .repair(state_q == StRepair),
      .repaired,
      .failed,
      .most(cpl_corrected),
      .fix_valid(found_fix_valid),
      .fix_ready(fix_ready || !streams),
      .fix_byte,
      .fix_mask,
      .rotate,
      .rotate_mask,
      .sum_valid(sum_fix_valid),
      .ask_valid,
      .ask_ready,
      .ask_chunk,
      .ask_byte,
      .found_valid,
      .found_ready,
      .found_byte,
      .found_mask,
      .found_last,
      .found_failed,
      .found_count
  );

  always_comb begin
    bus_valid = 1'b0;
    bus_kind  = kind_q;
    bus_byte  = item_byte_q;
    case (state_q)
      StStep:  bus_valid = item_valid_q && item_q < ItemDataIn;
      StIn: begin
        bus_valid = in_offer;
        bus_byte  = op_q == OpSetFeatures ? feature_q : in_byte;
      end
      StOut:   bus_valid = out_offer;
      default: ;
    endcase
  end

  assign step_on = state_q == StStep && item_valid_q && (item_q == ItemNothing || (item_q < ItemDataIn && bus_ready));
  assign wreq_valid = wreq_q;
  assign issued = state_q == StRelease && bus_quiet && busy;
  assign goes_on = state_q == StDrain && empty &&
      ((check_suspended_q && last_bytes[32+SuspendedBit]) || (check_array_ready_q && !last_bytes[32+ArrayReadyBit]));
  assign cpl_valid = state_q == StComplete;
  assign done = cpl_valid && cpl_ready;

  always_comb begin
    cpl_status = Ok;
    cpl_kind = kind;
    cpl_generation = generation;
    cpl_lpn = lpn;
    cpl_sequence = sequence_number;
    if (timed_out_q) cpl_status = Timeout;
    else if (!known) cpl_status = Fail;
    else if (reads_oob) begin
      cpl_kind = oob_kind;
      cpl_generation = oob_generation;
      cpl_lpn = oob_lpn;
      cpl_sequence = oob_sequence;
      if (erased) cpl_status = Blank;
      else if (failed || (op_q != OpReadOob && !residue)) cpl_status = BadCrc;
    end else if (op_q == OpReadId) cpl_sequence = {8'd0, last_bytes};
    else if (op_q == OpStatus || op_q == OpReadMark) cpl_kind = last_bytes[39:32];
    else if (op_q == OpGetFeatures) cpl_lpn = last_bytes[39:8];
    else if ((op_q == OpProgram || op_q == OpErase) && last_bytes[32+32'(use_failc_q)]) cpl_status = Fail;
  end

  // The way's command out of registers: from StDecide to the end of the turn it does not change.
  always_ff @(posedge clk)
    {op_q, collect_q, timed_out_q, pause_q, resumes_q, check_suspended_q, check_array_ready_q, use_failc_q, row_q,
     kind_in_q} <= {
      op, collect, timed_out, pause, resumes, check_suspended, check_array_ready, use_failc, row, kind
    };
  always_ff @(posedge clk) if (step_q < SecondCommand) {went_chained, went_paired} <= {chained, paired};
  always_ff @(posedge clk) feature_q <= lpn[{asked_q[1:0], 3'd0}+:8];  // of the last four numbers of a page

  always_ff @(posedge clk) begin
    item_q <= item;
    item_byte_q <= item_byte;
    item_valid_q <= state_q == StStep && !step_on;
    in_q <= state_q == StIn;
    out_q <= state_q == StOut;
    kind_q <= state_q == StIn ? BusIn : state_q == StOut ? BusOut : item[1:0];
    if (step_on) step_q <= step_q + 1'b1;
    if (wreq_ready) wreq_q <= 1'b0;
    if (in_take || out_take) asked_q <= asked_q + 1'b1;
    if (back_valid) came_q <= came_q + 1'b1;
    case (state_q)
      StIdle: begin
        way_q <= pick_way;
        if (pick_valid) state_q <= StTurn;
      end
      StTurn: state_q <= StDecide;
      StDecide: begin
        asked_q  <= out_from;
        came_q   <= out_from;
        step_q   <= first;
        select_q <= cs;
        if (timed_out_q || !known || (collect_q && (op_q == OpReset || op_q == OpSetFeatures))) state_q <= StComplete;
        else begin
          state_q <= StSelect;
          nand_ce_n[way_q[$clog2(Ways>1?Ways : 2)-1:0]] <= 1'b0;
          wreq_q <= op_q == OpProgram && !collect_q && !pause_q;
        end
      end
      StSelect: begin
        select_q <= select_q - 1'b1;
        if (select_q == 1) state_q <= StStep;
      end
      StStep:
      if (item_valid_q) begin
        if (item_q == ItemDataIn) state_q <= StIn;
        else if (item_q == ItemDataOut) state_q <= StOut;
        else if (item_q == ItemEnd) state_q <= StRelease;
      end
      StIn:
      if (in_take && asked_q == PageEnd - 1'b1) begin
        step_q  <= step_q + 1'b1;
        state_q <= StStep;
      end
      StOut:
      if (came_q == out_to) begin
        step_q  <= step_q + 1'b1;
        state_q <= op_q == OpParam ? StPad : StRelease;
      end
      StPad: if (full) state_q <= StRelease;
      StRelease:
      if (bus_quiet) begin
        nand_ce_n <= '1;
        state_q   <= busy ? StIdle : StDrain;
      end
      StDrain: if (empty) state_q <= goes_on ? StIdle : dirty ? StRepair : StComplete;
      StRepair: if (repaired) state_q <= StComplete;
      StComplete: if (cpl_ready) state_q <= StIdle;
      default: state_q <= StIdle;
    endcase
    if (reset) begin
      state_q   <= StIdle;
      wreq_q    <= 1'b0;
      nand_ce_n <= '1;
    end
  end
endmodule

`default_nettype wire
