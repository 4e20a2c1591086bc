// SPDX-License-Identifier: Apache-2.0
// otx_nand_way of a part that suspends, with any bus, any ready/busy and any operations: every operation taken ends once, a READ runs only where it may, and what was suspended is resumed before it ends.
//
// The bus is the sequencer's contract: a turn begins when it is asked for and ends with what the way's outputs say.

`default_nettype none

module check_nand_way (
    input logic       clk,
    input logic       tick,
    input logic       wants_start,
    input logic       wants_end,
    input logic       was_over,     // a turn that looks ends with `done`
    input logic       offers,
    input logic [3:0] offered_op,
    input logic       nand_rb_n
);
  localparam logic [3:0] OpReset = 4'd0, OpRead = 4'd3, OpProgram = 4'd6, OpErase = 4'd7, OpStatus = 4'd8;
  localparam int Most = 2;

  logic started_q = 1'b0, turn_q = 1'b0, beside_q = 1'b0, suspended_q = 1'b0, own_q = 1'b0;
  logic [3:0] own_op_q = 4'd0;
  logic [1:0] reads_q = 2'd0;
  logic idle, request, brief, urgent, start, issued, done, collect, late, reads, pause, resumes, looks, suspended, take, reset, ends, inner;
  logic [3:0] op;

  assign reset = !started_q;
  assign start = started_q && request && !turn_q && wants_start;
  assign ends = turn_q && wants_end;
  assign take = started_q && offers && (idle || (reads && offered_op == OpRead));
  assign suspended = ends && !late && looks && !was_over;
  assign done = ends && !suspended && (late || collect || op == OpStatus);
  assign issued = ends && !done && !suspended;
  assign inner = own_q && own_op_q != OpRead && op == OpRead;

  otx_nand_way #(
      .Bits(3), .TRstMaxNs(1), .TProgMaxNs(1500), .TBersMaxNs(1500), .TRMaxNs(1), .TSuspNs(1), .SuspendReads(Most)
  ) dut (
      .clk, .reset, .tick, .wb(3'd1), .take, .take_op(offered_op), .idle, .op, .request, .brief, .urgent, .start, .issued, .done, .collect, .late, .reads, .pause, .resumes, .looks, .suspended, .nand_rb_n
  );

  always_ff @(posedge clk) begin
    started_q <= 1'b1;
    if (start) turn_q <= 1'b1;
    if (ends) turn_q <= 1'b0;
    if (suspended) suspended_q <= 1'b1;
    if (issued && pause && resumes) suspended_q <= 1'b0;
    if (take && idle) begin
      own_q <= 1'b1;
      own_op_q <= offered_op;
      reads_q <= '0;
    end
    if (take && !idle) begin
      beside_q <= 1'b1;
      reads_q <= reads_q + 1'b1;
    end
    if (done && inner) beside_q <= 1'b0;
    if (done && !inner) begin
      own_q <= beside_q || (take && !idle);
      own_op_q <= OpRead;
      beside_q <= 1'b0;
      suspended_q <= 1'b0;
    end
  end

  always_comb begin
    assume (offered_op <= 4'd11);
    if (started_q) begin
      assert (idle == !own_q);
      assert (!(reads && beside_q));
      assert (!(reads && own_op_q != OpProgram && own_op_q != OpErase));
      assert (reads_q <= 2'(Most));
      if (own_q) assert (op == own_op_q || (beside_q && op == OpRead));
      if (request || turn_q) begin
        assert (own_q);
        if (pause) assert (own_op_q == OpProgram || own_op_q == OpErase);
        if (pause) assert (op == own_op_q && resumes == suspended_q);
        if (inner) assert (suspended_q && !pause);
        if (!inner && !pause) assert (!suspended_q);
        if (pause && !late) assert (brief);
        if (looks) assert (collect && beside_q);
      end
      if (suspended) assert (beside_q && !suspended_q);
      if (done && !inner) assert (!suspended_q || late);
    end
  end

  always_ff @(posedge clk) begin
    cover (started_q && done && inner);
    cover (started_q && done && own_op_q == OpErase && reads_q == 2'd1 && !late);
    cover (started_q && done && looks && !late);
  end
endmodule

`default_nettype wire
