// SPDX-License-Identifier: Apache-2.0
// otx_nand_way with any bus, any ready/busy and any operations: every operation taken ends once, in its slot; what goes
// beside another one may, and what a chip was told beforehand is what it is asked for.
//
// The bus is otx_nand_turn's contract: a turn begins when it is asked for and ends with what the way's outputs say;
// `chained` and `paired` count as they are at some time in the turn.

`default_nettype none

module check_nand_way #(
    parameter int TSuspNs = 1,
    parameter bit Cache   = 1'b0,
    parameter int Planes  = 1
) (
    input logic       clk,
    input logic       tick,
    input logic       wants_start,
    input logic       wants_end,
    input logic       was_over,             // a turn with `check_suspended` or `check_array_ready` ends with `done`
    input logic       freezes,
    input logic       offers,
    input logic [3:0] offered_op,
    input logic [2:0] offered_row,          // a page of two, a plane of two, a block of two in each
    input logic       offered_allow_cache,
    input logic       nand_rb_n
);
  localparam logic [3:0] OpRead = otx_facts_pkg::OpRead,
      OpProgram = otx_facts_pkg::OpProgram, OpErase = otx_facts_pkg::OpErase, OpStatus = otx_facts_pkg::OpStatus;
  localparam int Most = 2;

  (* anyconst *) logic [2:0] capabilities;
  logic started_q = 1'b0, turn_q = 1'b0, suspended_q = 1'b0, frozen_q = 1'b0, chained_q = 1'b0, paired_q = 1'b0;
  // A cache program was the last that went to the chip (STATUS, which is done in its first turn, does not count); the
  // own one belongs to a sequence, or to one of two planes, that was begun before it.
  logic open_q = 1'b0, after_q = 1'b0;
  // The own operation and the one beside it: here, given to the chip; the own one as a cache program, as the first of
  // two planes, a READ of which the page is still to come to the cache register.
  logic
      own_q = 1'b0,
      next_q = 1'b0,
      own_gone_q = 1'b0,
      next_gone_q = 1'b0,
      slot_q = 1'b0,
      cached_q = 1'b0,
      two_q = 1'b0,
      ahead_q = 1'b0,
      next_cached_q = 1'b0;
  logic [3:0] own_op_q = 4'd0, next_op_q = 4'd0;
  logic [2:0] own_row_q = 3'd0, next_row_q = 3'd0;
  logic [1:0] reads_q = 2'd0;
  logic
      idle,
      request,
      brief,
      urgent,
      start,
      issued,
      done,
      collect,
      timed_out,
      accepts_read,
      accepts_program,
      accepts_erase,
      pause,
      resumes,
      check_suspended,
      chained,
      paired,
      check_array_ready,
      use_failc,
      goes_on,
      take,
      reset,
      ends,
      inner,
      first,
      slot,
      take_slot,
      own_done;
  logic [3:0] op;

  assign reset = !started_q;
  assign start = started_q && request && !turn_q && wants_start;
  assign ends = turn_q && wants_end;
  assign take = started_q && offers &&
      (idle || (accepts_read && offered_op == OpRead) || (accepts_program && offered_op == OpProgram) ||
       (accepts_erase && offered_op == OpErase));
  assign goes_on = ends && !timed_out && (check_suspended || check_array_ready) && collect && !was_over;
  assign done = ends && !goes_on && (timed_out || collect || op == OpStatus);
  assign issued = ends && !done && !goes_on;
  assign inner = own_q && slot != slot_q;  // the turn is that of the one beside
  assign first = !collect && !pause;
  assign own_done = done && !inner;

  otx_nand_way #(
      .Bits(3),
      .TRstMaxNs(1),
      .TProgMaxNs(1500),
      .TBersMaxNs(1500),
      .TRMaxNs(1),
      .TSuspNs(TSuspNs),
      .SuspendReads(Most),
      .Cache(Cache),
      .Planes(Planes),
      .PageBits(1)
  ) dut (
      .clk,
      .reset,
      .tick,
      .wb(3'd1),
      .capabilities,
      .take,
      .take_op(offered_op),
      .take_row({21'd0, offered_row}),
      .take_allow_cache(offered_allow_cache),
      .take_slot,
      .idle,
      .op,
      .slot,
      .request,
      .brief,
      .urgent,
      .start,
      .issued,
      .done,
      .collect,
      .timed_out,
      .accepts_read,
      .accepts_program,
      .accepts_erase,
      .pause,
      .resumes,
      .check_suspended,
      .chained,
      .paired,
      .went_chained(chained_q),
      .went_paired(paired_q),
      .check_array_ready,
      .use_failc,
      .goes_on,
      .nand_rb_n
  );

  always_ff @(posedge clk) begin
    started_q <= 1'b1;
    if (start) {turn_q, frozen_q} <= 2'b10;
    if (turn_q && freezes) frozen_q <= 1'b1;
    if (!frozen_q) {chained_q, paired_q} <= {chained, paired};
    if (ends) turn_q <= 1'b0;
    if (goes_on && check_suspended) suspended_q <= 1'b1;
    if (issued && pause && resumes) suspended_q <= 1'b0;
    if (issued && pause && op == OpRead) ahead_q <= 1'b0;
    if (issued) open_q <= op == OpProgram && first && chained_q && !paired_q;
    if (issued && first && !inner) after_q <= op == OpProgram && open_q;
    if (issued && first && !inner) {own_gone_q, cached_q, two_q} <= {1'b1, chained_q && !paired_q, paired_q};
    if (issued && first && inner && own_op_q == next_op_q)
      {next_gone_q, next_cached_q, ahead_q} <= {1'b1, chained_q && op == OpProgram, 1'b0};
    if (take && idle) begin
      {own_q, own_gone_q} <= 2'b10;
      slot_q <= take_slot;
      {own_op_q, own_row_q} <= {offered_op, offered_row};
      reads_q <= '0;
    end
    if (take && !idle) begin
      {next_q, next_gone_q}   <= 2'b10;
      {next_op_q, next_row_q} <= {offered_op, offered_row};
      if (own_op_q != OpRead) reads_q <= reads_q + 2'(offered_op == OpRead);
    end
    if (done && inner) next_q <= 1'b0;
    if (own_done) begin
      own_q <= next_q || (take && !idle);
      next_q <= 1'b0;
      slot_q <= !slot_q;
      {own_op_q, own_row_q} <= next_q ? {next_op_q, next_row_q} : {offered_op, offered_row};
      {own_gone_q, cached_q, two_q} <= next_q && next_gone_q ? {1'b1, next_cached_q, 1'b0} : 3'd0;
      ahead_q <= next_q && next_gone_q && next_op_q == OpRead;
      if (next_q && next_gone_q) after_q <= 1'b1;
      next_gone_q <= 1'b0;
      suspended_q <= 1'b0;
      reads_q <= '0;
    end
  end

  always_comb begin
    assume (offered_op <= 4'd11);
    if (turn_q && wants_end) assume (frozen_q || collect || pause);
    if (started_q) begin
      assert (idle == !own_q);
      assert (!((accepts_read || accepts_program || accepts_erase) && next_q));
      if (take && !idle) assert (take_slot != slot_q);
      if (accepts_read)
        assert (own_op_q == OpProgram || own_op_q == OpErase || (Cache && capabilities[1] && own_op_q == OpRead));
      if (accepts_program)
        assert (own_op_q == OpProgram && ((Cache && capabilities[0]) || (Planes > 1 && capabilities[2])));
      if (accepts_erase) assert (own_op_q == OpErase && Planes > 1 && capabilities[2]);
      assert (reads_q <= 2'(Most));
      if (request || turn_q) begin
        assert (own_q);
        assert (op == (inner ? next_op_q : own_op_q));
        if (inner) assert (next_q && own_gone_q);
        if (first && !timed_out) assert (!(inner ? next_gone_q : own_gone_q));
        if (collect && !timed_out) assert (inner ? !next_gone_q : own_gone_q);
        // Suspension
        if (pause && op != OpRead)
          assert ((own_op_q == OpProgram || own_op_q == OpErase) && !inner && resumes == suspended_q && own_gone_q &&
                  !cached_q && !two_q && !after_q);
        if (inner && op == OpRead && own_op_q != OpRead) assert (suspended_q && !pause);
        if (!inner && !pause && own_op_q != OpRead) assert (!suspended_q);
        if (pause && !timed_out) assert (brief);
        if (check_suspended) assert (collect && next_q && next_op_q == OpRead);
        // Cache read: the page of the own one is in the cache register when it is collected
        if (pause && op == OpRead) assert (Cache && ahead_q && !inner && !next_gone_q);
        if (collect && op == OpRead && !inner && !timed_out) assert (!ahead_q);
        if (first && inner && op == OpRead && own_op_q == OpRead) assert (Cache && capabilities[1] && chained);
        // Cache program: only the next page of the block goes out behind one; whose status it is that is collected
        if (first && inner && op == OpProgram && !two_q) assert (cached_q && next_row_q[2:1] == own_row_q[2:1]);
        if (collect && !timed_out && !inner && op == OpProgram)
          assert (check_array_ready == (cached_q && !next_gone_q) && use_failc == (cached_q && next_gone_q));
        // Planes: the second one follows, and nothing is asked before
        if (two_q && !next_gone_q && !timed_out)
          assert (first && inner && !chained && !paired && next_op_q == own_op_q && next_row_q[1] != own_row_q[1] &&
                  (own_op_q == OpErase || next_row_q[0] == own_row_q[0]));
      end
      if (issued && first && op == OpProgram && chained_q && !paired_q)
        assert (Cache && capabilities[0] && !(inner ? next_row_q[0] : own_row_q[0]));
      if (issued && first && !inner && (op == OpProgram || op == OpErase) && paired_q)
        assert (Planes > 1 && capabilities[2] && next_q && next_op_q == op);
      if (goes_on && check_suspended) assert (next_q && !suspended_q);
      if (own_done) assert (!suspended_q || timed_out);
    end
  end

`ifdef SEEN
  // Refuted by a suspension whose operation goes on to its end: the assumptions leave room for one.
  logic was_read_q = 1'b0;
  always_ff @(posedge clk) begin
    if (take && idle) was_read_q <= 1'b0;
    if (done && inner && !timed_out) was_read_q <= 1'b1;
  end
  always_comb if (started_q) assert (!(own_done && was_read_q && !timed_out));
`endif
endmodule

`default_nettype wire
