// SPDX-License-Identifier: Apache-2.0
// Makes one cycle at a time on the asynchronous (SDR) NAND bus: command, address, data-in or data-out byte, with every
// time between strobes.
//
// `req`: one cycle per beat, in order; `req_ready` is low until the bus may start that cycle. `req_ready` depends on
// `req_kind` (0 command, 1 address, 2 data in, 3 data out).
// `rsp` has one beat per data-out cycle, in order, without back pressure: the asker must have room before it asks.
// `quiet`: all hold times are over, CE# may move.
// Strobes: WE# and RE# fall in the clock after the cycle was taken. Cycles of one kind follow each other every we_low +
// we_high or re_low + re_high clocks. The data-out byte is sampled `sample_after` clocks after RE# rose; `rsp` is one
// clock later. The counts come from otx_nand_times and change only while `quiet` is high; nothing is asked in that
// clock and in the next.
// The caller keeps CE# low around cycles, and waits for tCS, tRR and tWB. Reset ends a cycle at once and loses it.

`default_nettype none

module otx_nand_bus #(
    parameter int Bits = 6  // of a count of clocks
) (
    input  logic            clk,
    input  logic            reset,
    input  logic [Bits-1:0] we_low,
    input  logic [Bits-1:0] we_high,
    input  logic [Bits-1:0] re_low,
    input  logic [Bits-1:0] re_high,
    input  logic [Bits-1:0] sample_after,
    input  logic [Bits-1:0] adl,
    input  logic [Bits-1:0] whr,
    input  logic [Bits-1:0] rhw,
    input  logic            req_valid,
    output logic            req_ready,
    input  logic [     1:0] req_kind,
    input  logic [     7:0] req_byte,
    output logic            rsp_valid,
    output logic [     7:0] rsp_byte,
    output logic            quiet,
    output logic            nand_cle,
    output logic            nand_ale,
    output logic            nand_we_n,
    output logic            nand_re_n,
    output logic [     7:0] nand_dq_o,
    output logic            nand_dq_oe,
    input  logic [     7:0] nand_dq_i
);
  localparam logic [1:0] KindCommand = 2'd0, KindAddress = 2'd1, KindIn = 2'd2, KindOut = 2'd3;

  logic low_q;  // a strobe is low, else the bus rests
  logic due_q;  // a data-out byte is still to be sampled
  logic [1:0] kind_q;  // of the cycle under way or the last one
  logic [Bits-1:0] count_q;  // clocks since the strobe fell or rose; stays at its highest number
  logic take, rise, sample;

  // The bus has rested as long as must be before a cycle of the asked kind: known from the clock before, so that
  // `req_ready` waits for no comparison.
  logic we_high_q, re_high_q, adl_q, whr_q, rhw_q, rested;
  always_comb begin
    if (kind_q == KindOut) rested = req_kind == KindOut ? re_high_q : rhw_q;
    else if (req_kind == KindOut) rested = whr_q;
    else if (kind_q == KindAddress && req_kind == KindIn) rested = adl_q;
    else rested = we_high_q;
  end

  function automatic logic over(input logic [Bits-1:0] clocks);
    over = take || rise ? clocks <= 1 : {1'b0, count_q} + 1'b1 >= {1'b0, clocks};
  endfunction

  assign req_ready = !low_q && rested;
  assign take = req_valid && req_ready;
  assign rise = low_q && count_q == (kind_q == KindOut ? re_low : we_low);
  assign sample = due_q && (sample_after == 0 ? rise : !low_q && count_q == sample_after);
  assign quiet = !low_q && count_q > we_high && count_q > re_high && !rsp_valid;

  always_ff @(posedge clk) begin
    we_high_q <= over(we_high);
    re_high_q <= over(re_high);
    adl_q <= over(adl);
    whr_q <= over(whr);
    rhw_q <= over(rhw);
    if (take || rise) count_q <= Bits'(1);
    else if (!(&count_q)) count_q <= count_q + 1'b1;
    if (sample) due_q <= 1'b0;
    if (take) begin
      low_q <= 1'b1;
      due_q <= req_kind == KindOut;
      kind_q <= req_kind;
      nand_dq_o <= req_byte;
      nand_dq_oe <= req_kind != KindOut;
      nand_cle <= req_kind == KindCommand;
      nand_ale <= req_kind == KindAddress;
      nand_we_n <= req_kind == KindOut;
      nand_re_n <= req_kind != KindOut;
    end else if (rise) begin
      low_q <= 1'b0;
      nand_we_n <= 1'b1;
      nand_re_n <= 1'b1;
    end else if (!low_q && count_q >= we_high) begin
      nand_dq_oe <= 1'b0;
      nand_cle   <= 1'b0;
      nand_ale   <= 1'b0;
    end
    rsp_byte  <= nand_dq_i;
    rsp_valid <= sample;
    if (reset) begin
      {we_high_q, re_high_q, adl_q, whr_q, rhw_q} <= '0;
      low_q <= 1'b0;
      due_q <= 1'b0;
      kind_q <= KindOut;  // the chip may still drive
      count_q <= Bits'(1);
      nand_we_n <= 1'b1;
      nand_re_n <= 1'b1;
      nand_cle <= 1'b0;
      nand_ale <= 1'b0;
      nand_dq_oe <= 1'b0;
      rsp_valid <= 1'b0;
    end
  end
endmodule

`default_nettype wire
