// SPDX-License-Identifier: Apache-2.0
// Where the one operation of one NAND way is: waiting for the bus, on the bus, in the array, waiting for the bus to collect.
//
// `take` gives it an operation while `idle`. `request` asks the arbiter for the bus (`brief`: this turn carries no page of data); `start` answers. The turn ends with `issued` (the array is
// now at work) or `done` (the operation is over). In a turn `collect` tells which one it is and `late` that ready/busy did not come back within twice its longest time.
// R/B# is seen three clocks late, and not before tWB has passed. All but RESET and STATUS also wait for a high R/B# before their first turn, with a time limit.
// Reset forgets the operation; the chip may still be busy with it.

`default_nettype none

module otx_nand_way #(
    parameter int Bits       = 6,        // of `wb`
    parameter int TRstMaxNs  = 500000,
    parameter int TProgMaxNs = 700000,
    parameter int TBersMaxNs = 2000000,
    parameter int TRMaxNs    = 25000
) (
    input  logic       clk,
    input  logic       reset,
    input  logic       tick,     // one clock in about a microsecond
    input  logic [Bits-1:0] wb,  // tWB in clocks
    input  logic       take,
    input  logic [3:0] take_op,
    output logic       idle,
    output logic [3:0] op,
    output logic       request,
    output logic       brief,
    input  logic       start,
    input  logic       issued,
    input  logic       done,
    output logic       collect,
    output logic       late,
    input  logic       nand_rb_n
);
  localparam logic [3:0] OpReset = 4'd0, OpProgram = 4'd6, OpErase = 4'd7, OpStatus = 4'd8, OpReadMark = 4'd9, OpSetFeatures = 4'd10, OpGetFeatures = 4'd11;

  function automatic int microseconds(input int ns);
    microseconds = 2 * ((ns + 999) / 1000) + 2;
  endfunction

  localparam int Longest = microseconds(TBersMaxNs);
  localparam int TimeBits = $clog2(Longest + 1);

  if (TBersMaxNs < TProgMaxNs || TBersMaxNs < TRstMaxNs || TBersMaxNs < TRMaxNs) begin : g_check_times
    $fatal(1, "otx_nand_way: TBersMaxNs must be the longest of the busy times, it sizes the timer");
  end

  typedef enum logic [2:0] {
    StIdle,     // an operation
    StWant,     // the bus, and before that R/B# high
    StIssue,    // the end of the first turn
    StSettle,   // tWB to pass
    StBusy,     // R/B# to come back, or the time limit
    StReturn,   // the bus again
    StCollect   // the end of the second turn
  } state_e;

  state_e state_q;
  logic [3:0] op_q;
  logic [Bits:0] settle_q;
  logic [TimeBits-1:0] time_q, limit;
  logic late_q, ready, over;
  logic [1:0] rb_q;

  always_comb begin
    case (op_q)
      OpReset: limit = TimeBits'(microseconds(TRstMaxNs));
      OpProgram: limit = TimeBits'(microseconds(TProgMaxNs));
      OpErase: limit = TimeBits'(microseconds(TBersMaxNs));
      default: limit = TimeBits'(microseconds(TRMaxNs));
    endcase
    if (state_q == StWant) limit = TimeBits'(Longest);
  end

  assign ready = rb_q[1];
  assign over = tick && time_q == limit;
  assign idle = state_q == StIdle;
  assign op = op_q;
  assign request = state_q == StReturn || (state_q == StWant && (ready || late_q || op_q == OpReset || op_q == OpStatus));
  assign collect = state_q == StReturn || state_q == StCollect;
  assign late = late_q;
  assign brief = state_q == StReturn ? late_q || op_q == OpReset || op_q == OpProgram || op_q == OpErase || op_q == OpReadMark || op_q == OpSetFeatures || op_q == OpGetFeatures : op_q != OpProgram;

  always_ff @(posedge clk) begin
    rb_q <= {rb_q[0], nand_rb_n};
    case (state_q)
      StIdle: begin
        op_q <= take_op;
        time_q <= '0;
        late_q <= 1'b0;
        if (take) state_q <= StWant;
      end
      StWant: begin
        if (tick && !ready && !late_q) time_q <= time_q + 1'b1;
        if (over) late_q <= 1'b1;
        if (start) state_q <= StIssue;
      end
      StIssue: begin
        settle_q <= {1'b0, wb} + (Bits + 1)'(3);  // three clocks of synchroniser
        time_q   <= '0;
        if (issued) state_q <= StSettle;
        if (done) state_q <= StIdle;
      end
      StSettle: begin
        settle_q <= settle_q - 1'b1;
        if (settle_q == 1) state_q <= StBusy;
      end
      StBusy: begin
        if (tick) time_q <= time_q + 1'b1;
        if (over) late_q <= 1'b1;
        if (ready || over) state_q <= StReturn;
      end
      StReturn: if (start) state_q <= StCollect;
      StCollect: if (done) state_q <= StIdle;
      default: state_q <= StIdle;
    endcase
    if (reset) begin
      state_q <= StIdle;
      rb_q <= 2'b00;
    end
  end
endmodule

`default_nettype wire
