// SPDX-License-Identifier: Apache-2.0
// Where the one operation of one NAND way is: waiting for the bus, on the bus, in the array, waiting for the bus to collect.
//
// `take` gives it an operation while `idle`. `request` asks the arbiter for the bus (`brief`: this turn carries no page of data, `urgent`: that of a READ); `start` answers. The turn ends with `issued` (the array is
// now at work) or `done` (the operation is over). In a turn `collect` tells which one it is and `late` that ready/busy did not come back within twice its longest time.
// Parts that can suspend (TSuspNs not 0): `reads` offers to take a READ, too, while a program or erase is in the array, at most `SuspendReads` for each; the offer stays until it is taken or the way is idle. A brief turn with
// `pause` suspends the array once it has run for TSuspNs; the turn that collects then (`looks`) ends with `suspended`, or with `done` when the array was ready before. The READ follows, then, after `Gap` clocks in which the
// next may come, another turn with `pause` and `resumes`. `op` is READ in its turns. A READ whose program or erase has ended goes on as the way's one operation.
// R/B# is seen three clocks late, and not before tWB has passed. All but RESET and STATUS also wait for a high R/B# before their first turn, with a time limit.
// Reset forgets the operation; the chip may still be busy with it.

`default_nettype none

module otx_nand_way #(
    parameter int Bits       = 6,        // of `wb`
    parameter int TRstMaxNs  = 500000,
    parameter int TProgMaxNs = 700000,
    parameter int TBersMaxNs = 2000000,
    parameter int TRMaxNs    = 25000,
    parameter int TSuspNs    = 0,        // longest time to suspend, 0: the part cannot
    parameter int SuspendReads = 4
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
    output logic       urgent,
    input  logic       start,
    input  logic       issued,
    input  logic       done,
    output logic       collect,
    output logic       late,
    output logic       reads,
    output logic       pause,
    output logic       resumes,
    output logic       looks,
    input  logic       suspended,
    input  logic       nand_rb_n
);
  localparam logic [3:0] OpReset = 4'd0, OpRead = 4'd3, OpProgram = 4'd6, OpErase = 4'd7, OpStatus = 4'd8, OpReadMark = 4'd9, OpSetFeatures = 4'd10, OpGetFeatures = 4'd11;

  function automatic int microseconds(input int ns);
    microseconds = 2 * ((ns + 999) / 1000) + 2;
  endfunction

  localparam bit Suspend = TSuspNs != 0;
  localparam int Gap = 12;
  localparam int AfterUs = (TSuspNs + 999) / 1000 + 1;
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

  typedef enum logic [1:0] {
    PhOwn,      // `op_q`
    PhSuspend,  // its array to be suspended
    PhRead,     // a READ while it is
    PhResume    // its array to go on
  } phase_e;

  state_e state_q;
  phase_e phase_q;
  logic waits_q, ends;  // a READ waits for its turn; the way's own operation is over
  logic [$clog2(SuspendReads+1)-1:0] reads_q;  // taken beside it
  logic [3:0] op_q;
  logic [Bits:0] settle_q;
  logic [TimeBits-1:0] time_q, limit;
  logic late_q, ready, over;
  logic [1:0] rb_q;

  always_comb begin
    case (op)
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
  assign op = phase_q == PhRead ? OpRead : op_q;
  assign pause = (phase_q == PhSuspend || phase_q == PhResume) && !collect;
  assign resumes = phase_q == PhResume;
  assign looks = phase_q == PhSuspend && collect;
  assign reads = Suspend && (op_q == OpProgram || op_q == OpErase) && !waits_q && reads_q != SuspendReads[$bits(reads_q)-1:0] && (phase_q == PhResume || (phase_q == PhOwn && state_q >= StSettle));
  assign ends = done && phase_q != PhRead;

  always_comb begin
    request = state_q == StReturn;
    if (state_q == StWant)
      case (phase_q)
        PhOwn: request = ready || late_q || op_q == OpReset || op_q == OpStatus;
        PhSuspend: request = 1'b1;
        PhRead: request = ready || late_q;
        PhResume: request = (ready || late_q) && settle_q == 0;
        default: ;
      endcase
  end
  assign collect = state_q == StReturn || state_q == StCollect;
  assign late = late_q;
  assign urgent = state_q == StReturn && op == OpRead;
  assign brief = state_q == StReturn ? late_q || op == OpReset || op == OpProgram || op == OpErase || op == OpReadMark || op == OpSetFeatures || op == OpGetFeatures : op != OpProgram || pause;

  always_ff @(posedge clk) begin
    rb_q <= {rb_q[0], nand_rb_n};
    case (state_q)
      StIdle: begin
        op_q <= take_op;
        time_q <= '0;
        late_q <= 1'b0;
        reads_q <= '0;
        if (take) state_q <= StWant;
      end
      StWant: begin
        if (tick && !ready && !late_q && phase_q != PhSuspend) time_q <= time_q + 1'b1;
        if (over && phase_q != PhSuspend) late_q <= 1'b1;
        if (settle_q != 0) settle_q <= settle_q - 1'b1;
        if (start) state_q <= StIssue;
        else if (phase_q == PhSuspend && ready) state_q <= StReturn;  // it is over
        else if (Suspend && phase_q == PhResume && waits_q) begin
          phase_q <= PhRead;
          waits_q <= 1'b0;
        end
      end
      StIssue: begin
        settle_q <= {1'b0, wb} + (Bits + 1)'(3);  // three clocks of synchroniser
        time_q   <= '0;
        if (issued) state_q <= StSettle;
        if (Suspend && issued && phase_q == PhResume) phase_q <= PhOwn;
      end
      StSettle: begin
        settle_q <= settle_q - 1'b1;
        if (settle_q == 1) state_q <= StBusy;
      end
      StBusy: begin
        if (tick) time_q <= time_q + 1'b1;
        if (over) late_q <= 1'b1;
        if (ready || over) state_q <= StReturn;
        else if (Suspend && phase_q == PhOwn && waits_q && time_q >= TimeBits'(AfterUs)) begin
          phase_q <= PhSuspend;
          state_q <= StWant;
        end
      end
      StReturn: if (start) state_q <= StCollect;
      StCollect:
      if (Suspend && suspended) begin
        phase_q <= PhRead;
        waits_q <= 1'b0;
        time_q  <= '0;
        state_q <= StWant;
      end
      default: state_q <= StIdle;
    endcase
    if (Suspend && done && phase_q == PhRead) begin
      phase_q  <= PhResume;
      settle_q <= (Bits + 1)'(Gap);
      time_q   <= '0;
      late_q   <= 1'b0;
      state_q  <= StWant;
    end
    if (Suspend && take && !idle) begin
      waits_q <= 1'b1;
      reads_q <= reads_q + 1'b1;
    end
    if (ends) begin
      phase_q <= PhOwn;
      waits_q <= 1'b0;
      time_q  <= '0;
      late_q  <= 1'b0;
      state_q <= StIdle;
      if (Suspend && (waits_q || take)) begin
        op_q <= OpRead;
        state_q <= StWant;
      end
    end
    if (reset) begin
      phase_q <= PhOwn;
      waits_q <= 1'b0;
      state_q <= StIdle;
      rb_q <= 2'b00;
    end
  end
endmodule

`default_nettype wire
