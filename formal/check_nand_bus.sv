// SPDX-License-Identifier: Apache-2.0
// What the pins of otx_nand_bus never do, whatever cycles are asked for and when.
//
// Checked for every sequence of 40 clocks from reset: WE# and RE# are never low together; nobody drives DQ while RE# is low or for tRHW after; CLE, ALE and DQ stand still while WE# is low and for a clock after; a strobe is low and high for its least
// times; every data-out cycle gives exactly one answer. Asked cycles are free, with the one rule of the contract that a request stays until it is taken.

`default_nettype none

module check_nand_bus #(
    parameter int ClkPs = 10000
) (
    input logic       clk,
    input logic       req_valid,
    input logic [1:0] req_kind,
    input logic [7:0] req_byte,
    input logic [7:0] dq
);
  localparam int Wp = (12000 + ClkPs - 1) / ClkPs, Wh = (10000 + ClkPs - 1) / ClkPs, Rp = Wp, Reh = Wh;
  localparam int Whr = (60000 + ClkPs - 1) / ClkPs, Rhw = (100000 + ClkPs - 1) / ClkPs;

  logic reset = 1'b1, past = 1'b0;
  logic req_ready, rsp_valid, quiet, cle, ale, we_n, re_n, oe;
  logic [7:0] rsp_byte, dq_o;
  logic was_valid, was_ready, was_we_n, was_re_n, was_cle, was_ale, was_oe;
  logic [1:0] was_kind;
  logic [7:0] was_byte, was_dq_o;
  logic [5:0] we_for = 6'd63, re_for = 6'd63;  // clocks since the strobe moved, at most 63
  logic [1:0] owed = 2'd0;  // data-out cycles without their answer

  otx_nand_bus #(.ClkPs(ClkPs)) bus (
      .clk, .reset, .req_valid, .req_ready, .req_kind, .req_byte, .rsp_valid, .rsp_byte, .quiet, .nand_cle(cle), .nand_ale(ale), .nand_we_n(we_n), .nand_re_n(re_n),
      .nand_dq_o(dq_o), .nand_dq_oe(oe), .nand_dq_i(dq)
  );

  always_ff @(posedge clk) begin
    reset <= 1'b0;
    past <= !reset;
    {was_valid, was_ready, was_kind, was_byte} <= {req_valid, req_ready, req_kind, req_byte};
    {was_we_n, was_re_n, was_cle, was_ale, was_oe, was_dq_o} <= {we_n, re_n, cle, ale, oe, dq_o};
    we_for <= past && we_n != was_we_n ? 6'd1 : we_for == 6'd63 ? we_for : we_for + 1'b1;
    re_for <= past && re_n != was_re_n ? 6'd1 : re_for == 6'd63 ? re_for : re_for + 1'b1;
    if (!reset) owed <= owed + 2'(req_valid && req_ready && req_kind == 2'd3) - 2'(rsp_valid);
    if (reset) owed <= 2'd0;
  end

  always_comb begin
    if (past && was_valid && !was_ready) assume (req_valid && req_kind == was_kind && req_byte == was_byte);
    if (!reset) begin
      assert (we_n || re_n);
      assert (re_n || !oe);
      assert (!rsp_valid || owed != 0);
      assert (owed != 2'd3);
      assert (!quiet || (we_n && re_n && owed == 0));
    end
    if (past) begin
      if (!we_n || !was_we_n) assert ((!was_we_n ? {cle, ale, oe, dq_o} == {was_cle, was_ale, was_oe, was_dq_o} : 1'b1) && (we_n || oe));
      if (we_n && !was_we_n) assert (we_for >= 6'(Wp));
      if (!we_n && was_we_n) assert (we_for >= 6'(Wh) && re_for >= 6'(Rhw));
      if (re_n && !was_re_n) assert (re_for >= 6'(Rp));
      if (!re_n && was_re_n) assert (re_for >= 6'(Reh) && we_for >= 6'(Whr) && !cle && !ale);
      if (oe) assert (re_for + 6'(re_n == was_re_n ? 1 : 0) >= 6'(Rhw));
    end
  end
endmodule

`default_nettype wire
