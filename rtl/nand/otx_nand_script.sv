// SPDX-License-Identifier: Apache-2.0
// What one turn on the bus consists of: ten steps that are the same for every operation, of which each operation leaves
// some out.
//
// Steps: 0 command, 1-2 column, 3-5 row (lowest byte first), 6 data in, 7 second command, 8 data out, 9 end.
// Combinational.
// With `collect` the status of a PROGRAM or ERASE is asked for with 70h, or, `status_enhanced`, with 78h (READ STATUS
// ENHANCED) and its row. `chained`: PROGRAM ends with 15h, READ with 31h; `paired`, which goes first: 11h and D1h (ONFI
// 4.0 sections 5.9 to 5.18).
// `busy` tells that the array is at work after this turn. `first` is the first step that does something.

`default_nettype none

module otx_nand_script #(
    parameter int RowBytes   = 3,     // 2 or 3 row address cycles
    parameter int PageBytes  = 4096,
    parameter int OobBytes   = 128,   // spare bytes that are read back
    // data bytes that READ_OOB reads too: parity covers them together with the spare bytes
    parameter int LastChunk  = 512,
    parameter int ParamBytes = 768,
    parameter int FeatureBytes = 4,
    // Of the vendor, ONFI has none: program suspend, program resume, erase suspend, erase resume.
    parameter logic [31:0] SuspendCommands = 32'h84_13_61_D2
) (
    input logic [3:0] op,
    input logic collect,
    input logic pause,  // the turn suspends or resumes the PROGRAM or ERASE `op`, or ends a cache read
    input logic resumes,
    input logic chained,
    input logic paired,
    input logic status_enhanced,
    input logic [23:0] row,
    input logic [7:0] kind,  // address of READ_ID and of a feature
    input logic [3:0] step,
    output logic [2:0] item,  // 0 command, 1 address, 2 data in, 3 data out, 4 nothing, 5 end
    output logic [7:0] item_byte,
    output logic [3:0] first,
    output logic [12:0] out_from,  // number of the first byte read, or sent by SET_FEATURES
    output logic [12:0] out_to,  // and one past the last read
    output logic busy
);
  localparam logic [3:0] OpReset = otx_facts_pkg::OpReset,
      OpReadId = otx_facts_pkg::OpReadId, OpParam = otx_facts_pkg::OpParam, OpRead = otx_facts_pkg::OpRead,
      OpReadOob = otx_facts_pkg::OpReadOob, OpVerify = otx_facts_pkg::OpVerify, OpProgram = otx_facts_pkg::OpProgram,
      OpErase = otx_facts_pkg::OpErase, OpReadMark = otx_facts_pkg::OpReadMark,
      OpSetFeatures = otx_facts_pkg::OpSetFeatures, OpGetFeatures = otx_facts_pkg::OpGetFeatures;
  localparam logic [2:0] Command = 3'd0, Address = 3'd1, DataIn = 3'd2, DataOut = 3'd3, Nothing = 3'd4, End = 3'd5;

  logic reads_page, has_row, has_column, feature, asks_status, asks_row;
  logic [7:0] first_command, second_command;

  assign reads_page = op == OpRead || op == OpReadOob || op == OpVerify || op == OpReadMark;
  assign has_row = reads_page || op == OpProgram || op == OpErase;
  assign has_column = reads_page || op == OpProgram;
  assign feature = op == OpSetFeatures || op == OpGetFeatures;
  assign asks_status = collect || !(has_row || feature || op == OpReset || op == OpReadId || op == OpParam);
  assign first = collect && (reads_page || op == OpParam || op == OpGetFeatures) ? 4'd8 : 4'd0;
  assign asks_row = collect && status_enhanced && (op == OpProgram || op == OpErase);
  assign busy = !collect && (has_row || feature || op == OpReset || op == OpParam);

  always_comb begin
    case (op)
      OpReset: first_command = 8'hFF;
      OpReadId: first_command = 8'h90;
      OpParam: first_command = 8'hEC;
      OpRead, OpReadOob, OpVerify, OpReadMark: first_command = 8'h00;
      OpProgram: first_command = 8'h80;
      OpErase: first_command = 8'h60;
      OpSetFeatures: first_command = 8'hEF;
      OpGetFeatures: first_command = 8'hEE;
      default: first_command = 8'h70;
    endcase
    if (asks_status) first_command = asks_row ? 8'h78 : 8'h70;
    if (pause) first_command = op == OpRead ? 8'h3F : SuspendCommands[{op==OpProgram, !resumes, 3'd0}+:8];
    if (reads_page) second_command = chained ? 8'h31 : 8'h30;
    else if (op == OpProgram) second_command = paired ? 8'h11 : chained ? 8'h15 : 8'h10;
    else second_command = paired ? 8'hD1 : 8'hD0;

    if (op == OpReadOob) out_from = 13'(PageBytes - LastChunk);
    else if (op == OpReadMark) out_from = 13'(PageBytes);
    else out_from = op == OpSetFeatures ? 13'(PageBytes + OobBytes - FeatureBytes) : '0;
    if (op == OpReadMark) out_to = 13'(PageBytes + 1);
    else if (reads_page) out_to = 13'(PageBytes + OobBytes);
    else if (op == OpParam) out_to = 13'(ParamBytes);
    else if (op == OpReadId) out_to = 13'd5;
    else if (op == OpGetFeatures) out_to = 13'(FeatureBytes);
    else out_to = 13'd1;
  end

  always_comb begin
    item = Nothing;
    item_byte = 8'h00;
    case (step)
      4'd0: begin
        item = Command;
        item_byte = first_command;
      end
      4'd1:
      if (!asks_status && (has_column || feature || op == OpReadId || op == OpParam)) begin
        item = Address;
        item_byte = feature || op == OpReadId ? kind : 8'h00;
      end
      4'd2:
      if (!asks_status && has_column) begin
        item = Address;
        item_byte = {3'd0, out_from[12:8]};
      end
      4'd3, 4'd4:
      if (asks_row || (!asks_status && has_row)) begin
        item = Address;
        item_byte = step[0] ? row[7:0] : row[15:8];
      end
      4'd5:
      if ((asks_row || (!asks_status && has_row)) && RowBytes == 3) begin
        item = Address;
        item_byte = row[23:16];
      end
      4'd6: if (!asks_status && (op == OpProgram || op == OpSetFeatures)) item = DataIn;
      4'd7:
      if (!asks_status && has_row) begin
        item = Command;
        item_byte = second_command;
      end
      4'd8: if (!busy) item = DataOut;
      default: item = End;
    endcase
    if (pause && step != 4'd0) item = step == 4'd9 ? End : Nothing;
  end
endmodule

`default_nettype wire
