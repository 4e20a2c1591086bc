// SPDX-License-Identifier: Apache-2.0
// Where the operation of one NAND way is: waiting for the bus, on the bus, in the array, waiting for the bus to
// collect; and, on parts that can do more than one thing, a second one beside it.
//
// `take` gives it an operation while `idle`. `request` asks the arbiter for the bus (`brief`: this turn carries no page
// of data, `urgent`: that of a READ); `start` answers. The turn ends with `issued` (the array is now at work), `done`
// (the operation is over) or `goes_on` (it is not over). In a turn `collect` tells which one it is and `timed_out` that
// ready/busy did not come back within twice its longest time.
// A way has two slots for commands: its own operation has one, the next one the other; `slot` is that of this turn,
// `take_slot` where the command that is offered would go. The next one is taken when `accepts_read`, `accepts_program`
// or `accepts_erase` offers it (a READ, PROGRAM, ERASE); an offer stays until some command is taken or the way is idle.
// When the own one ends the next becomes it.
// Suspension (TSuspNs not 0): a READ beside a program or erase in the array, at most `SuspendReads` for each. A brief
// turn with `pause` suspends the array once it has run for TSuspNs; the turn that collects then (`check_suspended`:
// status bit of the vendor) `goes_on`, or is `done` when the array was ready before. The READ follows, then, after
// `Gap` clocks in which the next may come, another turn with `pause` and `resumes`. What is one of two planes or of a
// cache sequence is not suspended, nor a PROGRAM that follows a cache program without another command (but STATUS)
// between them, which to the chip is the end of a sequence.
// Cache read (`capabilities[1]`): a READ beside a READ. Once the array has the first page, a turn with `chained` gives
// the next one's address; the first is collected while the array reads on; `Gap` clocks without another READ, and a
// turn with `pause` ends it. Cache program (`capabilities[0]`): a PROGRAM with `take_allow_cache` goes `chained`; then
// the array is at work and R/B# high. The next one goes out when it is of the same block; the way collects after it
// with `use_failc` (status bit FAILC, of the one before). Without one it asks every `PollUs` microseconds whether the
// array is ready (`check_array_ready`, status bit ARDY). Several planes (`capabilities[2]`): a PROGRAM whose next one
// comes before its last byte has gone, or an ERASE (it waits `Gap` clocks for its next), goes `paired` when the next
// one is of another plane (and, PROGRAM, of the same page of its block); that follows once the chip is ready again, and
// both end one after the other.
// `chained` and `paired` may change in a turn: `went_chained` and `went_paired` tell, with `issued`, what became of it.
// R/B# is seen three clocks late, and not before tWB has passed. All but RESET and STATUS also wait for a high R/B#
// before their first turn, with a time limit.
// Reset forgets all operations; the chip may still be busy with them.

`default_nettype none

module otx_nand_way #(
    parameter int Bits         = 6,        // of `wb`
    parameter int TRstMaxNs    = 500000,
    parameter int TProgMaxNs   = 700000,
    parameter int TBersMaxNs   = 2000000,
    parameter int TRMaxNs      = 25000,
    parameter int TSuspNs      = 0,        // longest time to suspend, 0: the part cannot
    parameter int SuspendReads = 4,
    parameter bit Cache        = 1'b0,     // the part may have cache operations
    parameter int Planes       = 1,        // of the part: 1, 2 or 4, by the lowest bits of the block
    parameter int PageBits     = 6         // of a page in its block, the lowest of a row
) (
    input logic clk,
    input logic reset,
    input logic tick,  // one clock in about a microsecond
    input logic [Bits-1:0] wb,  // tWB in clocks
    input logic [2:0] capabilities,  // what may be used of the part: 0 cache program, 1 cache read, 2 several planes
    input logic take,
    input logic [3:0] take_op,
    input logic [23:0] take_row,
    input logic take_allow_cache,
    output logic take_slot,
    output logic idle,
    output logic [3:0] op,
    output logic slot,
    output logic request,
    output logic brief,
    output logic urgent,
    input logic start,
    input logic issued,
    input logic done,
    output logic collect,
    output logic timed_out,
    output logic accepts_read,
    output logic accepts_program,
    output logic accepts_erase,
    output logic pause,
    output logic resumes,
    output logic check_suspended,
    output logic chained,
    output logic paired,
    input logic went_chained,
    input logic went_paired,
    output logic check_array_ready,
    output logic use_failc,
    input logic goes_on,
    input logic nand_rb_n
);
  localparam logic [3:0] OpReset = otx_facts_pkg::OpReset,
      OpRead = otx_facts_pkg::OpRead, OpProgram = otx_facts_pkg::OpProgram, OpErase = otx_facts_pkg::OpErase,
      OpStatus = otx_facts_pkg::OpStatus, OpReadMark = otx_facts_pkg::OpReadMark,
      OpSetFeatures = otx_facts_pkg::OpSetFeatures, OpGetFeatures = otx_facts_pkg::OpGetFeatures;

  function automatic int microseconds(input int ns);
    microseconds = 2 * ((ns + 999) / 1000) + 2;
  endfunction

  localparam bit Suspend = TSuspNs != 0, Pairs = Planes > 1, Second = Suspend || Cache || Pairs;
  localparam int PollUs = 8;  // power of two
  localparam int PlaneBits = Pairs ? $clog2(Planes) : 1;
  localparam int Gap = 12;
  localparam int AfterUs = (TSuspNs + 999) / 1000 + 1;
  localparam int Longest = microseconds(TBersMaxNs);
  localparam int TimeBits = $clog2(Longest + 1);

  if (TBersMaxNs < TProgMaxNs || TBersMaxNs < TRstMaxNs || TBersMaxNs < TRMaxNs) begin : g_check_times
    $fatal(1, "otx_nand_way: TBersMaxNs must be the longest of the busy times, it sizes the timer");
  end
  if (Planes != 1 && Planes != 2 && Planes != 4) begin : g_check_planes
    $fatal(1, "otx_nand_way: Planes must be 1, 2 or 4");
  end

  typedef enum logic [3:0] {
    StIdle,    // an operation
    StWant,    // the bus, and before that R/B# high
    StIssue,   // the end of the first turn
    StSettle,  // tWB to pass
    StBusy,    // R/B# to come back, or the time limit
    StArray,   // the next PROGRAM, or the time to ask for ARDY again
    StGap,     // the next READ, or the end of the gap
    StReturn,  // the bus again
    StCollect  // the end of the second turn
  } state_e;

  typedef enum logic [2:0] {
    PhOwn,      // `op_q`
    PhSuspend,  // its array to be suspended
    PhRead,     // a READ while it is
    PhResume,   // its array to go on
    PhNext,     // the next one's command, then the end of `op_q`
    PhEnd       // a READ that nothing follows
  } phase_e;

  state_e state_q;
  phase_e phase_q;
  // slot of the own one; the next one is here; either may go as a cache program; the next one is of the same block, of
  // a page beside
  logic own_q, next_q, cacheable_q, next_cacheable_q, same_q, pairs_q;
  // the own one went out as a cache program, as the first of two planes
  logic array_q, paired_q;
  // the last command out was a cache program; was one when the own one went out
  logic sequence_q, ending_q;
  logic [23:0] row_q;  // of the one that came last
  logic ends, of_next, follows, last_page;
  logic [$clog2(SuspendReads+1)-1:0] reads_q;  // taken beside it
  logic [3:0] op_q, next_op_q;
  logic [Bits:0] settle_q;
  logic [TimeBits-1:0] time_q, limit;
  logic timed_out_q, ready, over;
  logic [1:0] rb_q;

  always_comb begin
    case (op)
      OpReset:   limit = TimeBits'(microseconds(TRstMaxNs));
      OpProgram: limit = TimeBits'(microseconds(TProgMaxNs));
      OpErase:   limit = TimeBits'(microseconds(TBersMaxNs));
      default:   limit = TimeBits'(microseconds(TRMaxNs));
    endcase
    if (state_q == StWant) limit = TimeBits'(Longest);
  end

  assign ready = rb_q[1];
  assign over = tick && time_q == limit;
  assign idle = state_q == StIdle;
  assign of_next = Second && (phase_q == PhRead || (phase_q == PhNext && !collect));
  assign op = of_next ? next_op_q : op_q;
  assign slot = own_q ^ of_next;
  assign take_slot = own_q ^ (Second && !idle);
  assign pause = (phase_q == PhSuspend || phase_q == PhResume || phase_q == PhEnd) && !collect;
  assign resumes = phase_q == PhResume;
  assign check_suspended = phase_q == PhSuspend && collect;
  assign paired = Pairs && capabilities[2] && phase_q == PhOwn && next_q && pairs_q;
  assign chained = Cache &&
      (phase_q == PhNext ? next_op_q == OpRead || (next_cacheable_q && !paired_q) : phase_q == PhOwn && cacheable_q);
  assign check_array_ready = array_q && phase_q == PhOwn;
  assign use_failc = Cache && phase_q == PhNext && op_q == OpProgram && !paired_q;
  assign ends = done && phase_q != PhRead;
  assign follows = next_q || (Second && take);
  assign last_page = take_row[PageBits-1:0] == '1;

  // What may come beside the own operation.
  always_comb begin
    accepts_read = Suspend && (op_q == OpProgram || op_q == OpErase) && !array_q && !paired_q && !(Cache && ending_q) &&
        reads_q != SuspendReads[$bits(reads_q)-1:0] &&
        (phase_q == PhResume || (phase_q == PhOwn && state_q >= StSettle));
    if (Cache && capabilities[1] && op_q == OpRead && !idle) accepts_read = 1'b1;
    accepts_program = op_q == OpProgram && phase_q == PhOwn && !idle && (cacheable_q || (Pairs && capabilities[2]));
    accepts_erase   = Pairs && capabilities[2] && op_q == OpErase && phase_q == PhOwn && !idle;
    if (next_q) {accepts_read, accepts_program, accepts_erase} = '0;
  end

  always_comb begin
    request = state_q == StReturn;
    if (state_q == StWant)
      case (phase_q)
        PhOwn:
        request = (ready && (!Pairs || settle_q == 0 || next_q || op_q != OpErase)) || timed_out_q || op_q == OpReset ||
            op_q == OpStatus;
        PhSuspend: request = 1'b1;
        PhResume: request = (ready || timed_out_q) && settle_q == 0;
        PhNext: request = ready && !timed_out_q;
        default: request = ready || timed_out_q;
      endcase
  end
  assign collect = state_q == StReturn || state_q == StCollect;
  assign timed_out = timed_out_q;
  assign urgent = state_q == StReturn && op == OpRead;
  assign brief = state_q == StReturn ? timed_out_q || op == OpReset || op == OpProgram || op == OpErase ||
      op == OpReadMark || op == OpSetFeatures || op == OpGetFeatures : op != OpProgram || pause;

  always_ff @(posedge clk) begin
    rb_q <= {rb_q[0], nand_rb_n};
    case (state_q)
      StIdle: begin
        op_q <= take_op;
        cacheable_q <= Cache && capabilities[0] && take_allow_cache && take_op == OpProgram && !last_page;
        time_q <= '0;
        timed_out_q <= 1'b0;
        reads_q <= '0;
        settle_q <= (Bits + 1)'(Pairs && capabilities[2] && take_op == OpErase ? Gap : 0);
        if (take) state_q <= StWant;
      end
      StWant: begin
        if (tick && !ready && !timed_out_q && phase_q != PhSuspend) time_q <= time_q + 1'b1;
        if (over && phase_q != PhSuspend && !start) timed_out_q <= 1'b1;
        if (settle_q != 0) settle_q <= settle_q - 1'b1;
        if (start) state_q <= StIssue;
        else if (phase_q == PhSuspend && ready) state_q <= StReturn;  // it is over
        else if (Second && phase_q == PhNext && timed_out_q) state_q <= StReturn;
        else if (Suspend && phase_q == PhResume && next_q) phase_q <= PhRead;
      end
      StIssue: begin
        settle_q <= {1'b0, wb} + (Bits + 1)'(3);  // three clocks of synchroniser
        time_q   <= '0;
        if (Second && issued && phase_q == PhOwn) begin
          array_q  <= went_chained && !went_paired;
          paired_q <= went_paired;
        end
        if (Suspend && Cache && issued) begin
          sequence_q <= op == OpProgram && !pause && went_chained && !went_paired;
          if (phase_q == PhOwn) ending_q <= op == OpProgram && sequence_q;
        end
        if (issued) state_q <= StSettle;
        if (Suspend && issued && phase_q == PhResume) phase_q <= PhOwn;
      end
      StSettle: begin
        settle_q <= settle_q - 1'b1;
        if (settle_q == 1) state_q <= StBusy;
      end
      StBusy: begin
        if (tick) time_q <= time_q + 1'b1;
        if (over) timed_out_q <= 1'b1;
        if (ready || over) state_q <= StReturn;
        else if (Suspend && phase_q == PhOwn && next_q && next_op_q == OpRead && !(Cache && op_q == OpRead) &&
                 time_q >= TimeBits'(AfterUs)) begin
          phase_q <= PhSuspend;
          state_q <= StWant;
        end
        if (Second && ready && !over && phase_q == PhOwn) begin
          if (array_q) begin
            time_q  <= '0;
            state_q <= StArray;
          end else if (paired_q || (Cache && capabilities[1] && op_q == OpRead && next_q)) begin
            phase_q <= PhNext;
            state_q <= StWant;
          end
        end
      end
      StArray: begin
        if (tick) time_q <= time_q + 1'b1;
        if (over) timed_out_q <= 1'b1;
        if (over || (tick && &time_q[$clog2(PollUs)-1:0])) state_q <= StReturn;
        else if (next_q && same_q) begin
          phase_q <= PhNext;
          state_q <= StWant;
        end
      end
      StGap: begin
        settle_q <= settle_q - 1'b1;
        if (next_q || settle_q == 0) begin
          phase_q <= next_q ? PhNext : PhEnd;
          state_q <= StWant;
        end
      end
      StReturn: if (start) state_q <= StCollect;
      StCollect:
      if (Second && goes_on) begin
        state_q <= Cache && check_array_ready ? StArray : StWant;
        if (!check_array_ready) begin
          phase_q <= PhRead;
          time_q  <= '0;
        end
      end
      default:  state_q <= StIdle;
    endcase
    if (Suspend && done && phase_q == PhRead) begin
      phase_q <= PhResume;
      next_q <= 1'b0;
      settle_q <= (Bits + 1)'(Gap);
      time_q <= '0;
      timed_out_q <= 1'b0;
      state_q <= StWant;
    end
    if (take) row_q <= take_row;
    if (Second && take && !idle) begin
      next_q <= 1'b1;
      next_op_q <= take_op;
      next_cacheable_q <= Cache && capabilities[0] && take_allow_cache && !last_page;
      same_q <= take_op == OpProgram && take_row[23:PageBits] == row_q[23:PageBits];
      pairs_q <= take_op != OpRead && take_row[PageBits+:PlaneBits] != row_q[PageBits+:PlaneBits] &&
          (take_op == OpErase || take_row[PageBits-1:0] == row_q[PageBits-1:0]);
      reads_q <= reads_q + 1'b1;
    end
    if (ends) begin
      phase_q <= PhOwn;
      next_q <= 1'b0;
      array_q <= 1'b0;
      paired_q <= 1'b0;
      time_q <= '0;
      timed_out_q <= 1'b0;
      state_q <= StIdle;
      if (follows) begin
        own_q <= !own_q;
        op_q <= next_q ? next_op_q : take_op;
        cacheable_q <= next_q ? next_cacheable_q :
            Cache && capabilities[0] && take_allow_cache && take_op == OpProgram && !last_page;
        reads_q <= '0;
        settle_q <= (Bits + 1)'(Gap);  // of a READ whose page is read already, or an ERASE
        state_q <= StWant;
        if (phase_q == PhNext) begin  // its command has gone out
          timed_out_q <= timed_out_q;
          array_q <= next_cacheable_q && op_q == OpProgram && !paired_q;
          state_q <= timed_out_q ? StReturn :
              op_q == OpRead ? StGap : next_cacheable_q && !paired_q ? StArray : StReturn;
        end
      end
    end
    if (reset) begin
      phase_q <= PhOwn;
      next_q <= 1'b0;
      own_q <= 1'b0;
      array_q <= 1'b0;
      paired_q <= 1'b0;
      sequence_q <= 1'b0;
      ending_q <= 1'b0;
      state_q <= StIdle;
      rb_q <= 2'b00;
    end
  end
endmodule

`default_nettype wire
