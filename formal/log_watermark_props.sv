// SPDX-License-Identifier: Apache-2.0
// Proof of the completeness watermark with a ring of 4 entries: it never passes an entry that is not complete, and
// moves on when all are.
// One entry, chosen freely (`which`), is followed through its life; what holds for it holds for all. Data pages finish
// in any order and may do so twice.
`default_nettype none

module log_watermark_props (
    input wire clk,
    input wire push,
    input wire complete,
    input wire done_valid,
    input wire [47:0] done_index
);
  (* anyconst *) wire [47:0] which;
  reg reset = 1'b1;
  always @(posedge clk) reset <= 1'b0;

  reg [47:0] head = 0;
  wire [47:0] mark;
  wire room;
  otx_log_watermark_4 dut (
      .clk(clk),
      .reset(reset),
      .head(head),
      .push(push),
      .complete(complete),
      .done_valid(done_valid),
      .done_payload(done_index[1:0]),
      .mark(mark),
      .room(room)
  );

  reg there = 1'b0;  // entry `which` is appended
  reg finished = 1'b0;  // and complete

  // who drives it keeps these
  always @(*) begin
    if (reset) assume (!push && !done_valid);
    if (push) assume (room && !done_valid);
    if (done_valid) assume (done_index < head && done_index >= mark);
  end

  always @(posedge clk)
    if (!reset) begin
      if (push) head <= head + 1;
      if (push && head == which) begin
        there <= 1'b1;
        finished <= complete;
      end
      if (done_valid && done_index == which) finished <= 1'b1;

      assert (mark <= head);
      assert (head - mark <= 3);
      assert (!(there && !finished) || mark <= which);
      assert (room == (head - mark != 3));
      cover (there && finished && which == 9 && mark == 10);
      cover (mark == 6 && head == 9 && !room);
    end

  // an entry that is the next to pass and is complete is passed in at most 6 clocks
  reg [2:0] held = 0;
  always @(posedge clk)
    if (!reset) begin
      held <= there && finished && mark == which ? held + 1 : 0;
      assert (held != 6);
    end
endmodule

`default_nettype wire
