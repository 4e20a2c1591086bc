// SPDX-License-Identifier: Apache-2.0
// What otx_append_turn promises: see formal/append_turn.sby for how it is run.
//
// Two users that offer entries and take them back as they like, groups of any length, a log that takes what it likes.
// `waits`: how often the other user has ended a group while user `u` offered in each clock.
`default_nettype none

module append_turn_props (
    input wire clk,
    input wire [1:0] offers,
    input wire [1:0] last,
    input wire [63:0] lpns,
    input wire ready
);
  (* anyconst *)wire u;
  reg  reset = 1'b1;
  always @(posedge clk) reset <= 1'b0;

  wire [1:0] taken;
  wire out_valid, out_last;
  wire [31:0] out_lpn;
  otx_append_turn dut (
      .clk(clk),
      .reset(reset),
      .users_0_valid(offers[0]),
      .users_0_ready(taken[0]),
      .users_0_payload_lpn(lpns[31:0]),
      .users_0_payload_last(last[0]),
      .users_1_valid(offers[1]),
      .users_1_ready(taken[1]),
      .users_1_payload_lpn(lpns[63:32]),
      .users_1_payload_last(last[1]),
      .out_valid(out_valid),
      .out_ready(ready),
      .out_payload_lpn(out_lpn),
      .out_payload_last(out_last),
      .fault(1'b0)
  );

  // an LPN says whose entry it is
  always @(*) assume (!lpns[0] && lpns[32]);
  wire shown = out_lpn[0];

  (* hierconn *) wire \dut.turn ;
  (* hierconn *) wire \dut.groupOpen ;

  wire [1:0] fires = offers & taken;
  reg [1:0] open = 0;  // users with an open group
  reg was_shown = 0;  // in the clock before, and not taken
  reg who = 0;
  reg [1:0] waits = 0;
  reg alone = 0;  // in the clock before u alone offered, and nobody had a group
  always @(posedge clk)
    if (!reset) begin
      open <= open & ~fires | fires & ~last;
      was_shown <= out_valid && !ready;
      who <= shown;
      waits <= !offers[u] || fires[u] ? 2'd0 : waits + (fires[!u] && last[!u]);
      alone <= offers[u] && !offers[!u] && open == 0 && fires == 0;
      a_one : assert (fires != 2'b11 && (fires != 0) == (out_valid && ready));
      if (out_valid) a_same : assert (offers[shown] && out_last == last[shown] && out_lpn == lpns[32*shown+:32]);
      if (fires != 0) a_whose : assert (fires[shown]);
      a_group : assert (open != 2'b11 && !(fires[0] && open[1]) && !(fires[1] && open[0]));
      a_open : assert (\dut.groupOpen == (open != 0) && (open == 0 || \dut.turn == open[1]));
      if (was_shown && offers[who]) a_stays : assert (out_valid && shown == who);
      a_turns : assert (waits == 0 || waits == 1 && \dut.turn == u);
      if (alone && offers[u]) a_soon : assert (out_valid && shown == u);
      c_other : cover (offers[u] && fires[!u] && open[!u] && last[!u]);
      c_back : cover (fires[u] && last[u] && waits == 1);
    end
endmodule

`default_nettype wire
