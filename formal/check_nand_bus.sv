// SPDX-License-Identifier: Apache-2.0
// What the pins of otx_nand_bus, with the counts of otx_nand_times, never do, whatever cycles are asked for and when,
// in whatever timing modes.
//
// Checked for every sequence of clocks from reset up to the depth in the .sby file: WE# and RE# are never low together;
// nobody drives DQ while RE# is low or for tRHW after; CLE, ALE and DQ stand still while WE# is low and for a clock
// after; a strobe is low and high for its least times, those of the mode; every data-out cycle gives exactly one
// answer. Asked cycles are free, with the rules of the contract: a request stays until it is taken, and the mode
// changes only while the bus is quiet, two clocks or more before a request. The times here are written from ONFI's
// table, not taken from otx_nand_times.

`default_nettype none

module check_nand_bus #(
    parameter int ClkPs = 10000,
    parameter int First = 0,      // the mode after reset
    parameter int Then  = 7       // and the one that it may change to
) (
    input logic       clk,
    input logic       change,
    input logic       req_valid,
    input logic [1:0] req_kind,
    input logic [7:0] req_byte,
    input logic [7:0] dq
);
  localparam int Bits = $clog2(400000 / ClkPs + 8);

  function automatic int pick(input int which, input int m0, input int m1, input int m2, input int m3, input int m4,
                              input int m5, input int own);
    pick = ((which == 1 ? m1 : which == 2 ? m2 :
             which == 3 ? m3 : which == 4 ? m4 : which == 5 ? m5 : which == 6 ? own : m0) * 1000 + ClkPs - 1) / ClkPs;
  endfunction

  localparam int Wp0 = pick(First, 50, 25, 17, 15, 12, 10, 12), Wp1 = pick(Then, 50, 25, 17, 15, 12, 10, 12);
  localparam int Wh0 = pick(First, 30, 15, 15, 10, 10, 7, 10), Wh1 = pick(Then, 30, 15, 15, 10, 10, 7, 10);
  localparam int Whr0 = pick(First, 120, 80, 80, 80, 80, 80, 60), Whr1 = pick(Then, 120, 80, 80, 80, 80, 80, 60);
  localparam int Rhw0 = pick(
      First, 200, 100, 100, 100, 100, 100, 100
  ), Rhw1 = pick(
      Then, 200, 100, 100, 100, 100, 100, 100
  );

  logic reset = 1'b1, past = 1'b0, changed = 1'b0, was_changed = 1'b0, told = 1'b0;
  logic [5:0] wp, wh, whr_least, rhw_least;
  logic req_ready, rsp_valid, quiet, cle, ale, we_n, re_n, oe;
  logic [7:0] rsp_byte, dq_o;
  logic was_valid, was_ready, was_we_n, was_re_n, was_cle, was_ale, was_oe;
  logic [1:0] was_kind;
  logic [7:0] was_byte, was_dq_o;
  logic [5:0] we_for = 6'd63, re_for = 6'd63;  // clocks since the strobe moved, at most 63
  logic [1:0] owed = 2'd0;  // data-out cycles without their answer
  logic [Bits-1:0] we_low, we_high, re_low, re_high, sample_after, adl, whr, rhw, wb, cs;

  otx_nand_times #(
      .ClkPs(ClkPs),
      .Bits (Bits)
  ) times (
      .clk,
      .mode(changed ? 3'(Then) : 3'(First)),
      .we_low,
      .we_high,
      .re_low,
      .re_high,
      .sample_after,
      .adl,
      .whr,
      .rhw,
      .wb,
      .cs
  );

  otx_nand_bus #(
      .Bits(Bits)
  ) bus (
      .clk,
      .reset,
      .we_low,
      .we_high,
      .re_low,
      .re_high,
      .sample_after,
      .adl,
      .whr,
      .rhw,
      .req_valid,
      .req_ready,
      .req_kind,
      .req_byte,
      .rsp_valid,
      .rsp_byte,
      .quiet,
      .nand_cle  (cle),
      .nand_ale  (ale),
      .nand_we_n (we_n),
      .nand_re_n (re_n),
      .nand_dq_o (dq_o),
      .nand_dq_oe(oe),
      .nand_dq_i (dq)
  );

  assign wp = changed ? 6'(Wp1) : 6'(Wp0);
  assign wh = changed ? 6'(Wh1) : 6'(Wh0);
  assign whr_least = changed ? 6'(Whr1) : 6'(Whr0);
  assign rhw_least = changed ? 6'(Rhw1) : 6'(Rhw0);

  always_ff @(posedge clk) begin
    reset <= 1'b0;
    past <= !reset;
    changed <= changed || (change && !reset);
    {told, was_changed} <= {was_changed, changed};  // the bus knows the new times
    {was_valid, was_ready, was_kind, was_byte} <= {req_valid, req_ready, req_kind, req_byte};
    {was_we_n, was_re_n, was_cle, was_ale, was_oe, was_dq_o} <= {we_n, re_n, cle, ale, oe, dq_o};
    we_for <= past && we_n != was_we_n ? 6'd1 : we_for == 6'd63 ? we_for : we_for + 1'b1;
    re_for <= past && re_n != was_re_n ? 6'd1 : re_for == 6'd63 ? re_for : re_for + 1'b1;
    if (!reset) owed <= owed + 2'(req_valid && req_ready && req_kind == 2'd3) - 2'(rsp_valid);
    if (reset) owed <= 2'd0;
  end

  always_comb begin
    if (past && was_valid && !was_ready) assume (req_valid && req_kind == was_kind && req_byte == was_byte);
    if (change && !changed) assume (quiet && !req_valid);
    if (changed && !told) assume (!req_valid);
    if (reset || !past) assume (!req_valid);
    if (!reset) begin
      assert (we_n || re_n);
      assert (re_n || !oe);
      assert (!rsp_valid || owed != 0);
      assert (owed != 2'd3);
      assert (!quiet || (we_n && re_n && owed == 0));
    end
    if (past) begin
      if (!we_n || !was_we_n)
        assert ((!was_we_n ? {cle, ale, oe, dq_o} == {was_cle, was_ale, was_oe, was_dq_o} : 1'b1) && (we_n || oe));
      if (we_n && !was_we_n) assert (we_for >= wp);
      if (!we_n && was_we_n) assert (we_for >= wh && (re_for > we_for || re_for >= rhw_least));
      if (re_n && !was_re_n) assert (re_for >= wp);  // tRP, tREH as tWP, tWH
      if (!re_n && was_re_n) assert (re_for >= wh && (we_for > re_for || we_for >= whr_least) && !cle && !ale);
      if (oe && !was_oe) assert (re_for > we_for || re_for + 6'(re_n == was_re_n ? 1 : 0) >= rhw_least);
    end
  end
endmodule

`default_nettype wire
