// SPDX-License-Identifier: Apache-2.0
// Makes one cycle at a time on the asynchronous (SDR) NAND bus: command, address, data-in or data-out byte, with every time between strobes.
//
// `req`: one cycle per beat, in order; `req_ready` is low until the bus may start that cycle. `req_ready` depends on `req_kind` (0 command, 1 address, 2 data in, 3 data out).
// `rsp` has one beat per data-out cycle, in order, without back pressure: the asker must have room before it asks. `quiet`: all hold times are over, CE# may move.
// Strobes: WE# and RE# fall in the clock after the cycle was taken. Cycles of one kind follow each other every WeLow+WeHigh or ReLow+ReHigh clocks (3 at 100 MHz, 2 at 75 MHz with
// the default times). The data-out byte is sampled as late in its RE# cycle as the part still holds it (EDO: at the end of the cycle, with the default times from 67 MHz on); `rsp` is one clock later.
// The caller keeps CE# low around cycles, and waits for tCS, tRR and tWB. Reset ends a cycle at once and loses it.

`default_nettype none

module otx_nand_bus #(
    parameter int ClkPs   = 10000,  // clock period, ps
    parameter int TWpNs   = 12,
    parameter int TWhNs   = 10,
    parameter int TWcNs   = 25,
    parameter int TRpNs   = 12,
    parameter int TRehNs  = 10,
    parameter int TRcNs   = 25,
    parameter int TReaNs  = 20,
    parameter int TRhohNs = 15,     // data stays valid this long after RE# rises
    parameter int TIoNs   = 5,      // allowance for pads and board, there and back
    parameter int TClsNs  = 12,
    parameter int TClhNs  = 5,
    parameter int TChNs   = 5,
    parameter int TAlsNs  = 12,
    parameter int TAlhNs  = 5,
    parameter int TDsNs   = 12,
    parameter int TDhNs   = 5,
    parameter int TAdlNs  = 100,
    parameter int TWhrNs  = 60,
    parameter int TRhwNs  = 100
) (
    input  logic       clk,
    input  logic       reset,
    input  logic       req_valid,
    output logic       req_ready,
    input  logic [1:0] req_kind,
    input  logic [7:0] req_byte,
    output logic       rsp_valid,
    output logic [7:0] rsp_byte,
    output logic       quiet,
    output logic       nand_cle,
    output logic       nand_ale,
    output logic       nand_we_n,
    output logic       nand_re_n,
    output logic [7:0] nand_dq_o,
    output logic       nand_dq_oe,
    input  logic [7:0] nand_dq_i
);
  localparam logic [1:0] KindCommand = 2'd0, KindAddress = 2'd1, KindIn = 2'd2, KindOut = 2'd3;

  function automatic int clocks(input int ns);
    clocks = (ns * 1000 + ClkPs - 1) / ClkPs;
  endfunction

  function automatic int larger(input int a, input int b);
    larger = a > b ? a : b;
  endfunction

  // CLE, ALE and DQ change as WE# falls, so their set-up times bound its low time and their hold times its high time.
  localparam int WeHigh = larger(1, larger(clocks(TWhNs), larger(clocks(TDhNs), larger(clocks(TClhNs), larger(clocks(TAlhNs), clocks(TChNs))))));
  localparam int WeSetup = larger(clocks(TWpNs), larger(clocks(TDsNs), larger(clocks(TClsNs), clocks(TAlsNs))));
  localparam int WeLow = larger(1, larger(WeSetup, clocks(TWcNs) - WeHigh));
  localparam int ReHigh = larger(1, clocks(TRehNs));
  localparam int Held = TRhohNs * 1000 / ClkPs;  // whole clocks that the part holds data after RE# rose
  localparam int SampleAfter = Held < ReHigh ? Held : ReHigh;  // 0: as RE# rises
  localparam int ReAccess = clocks(TReaNs + TIoNs) - SampleAfter;
  localparam int ReLow = larger(1, larger(clocks(TRpNs), larger(ReAccess, clocks(TRcNs) - ReHigh)));
  localparam int Adl = larger(clocks(TAdlNs), WeHigh);
  localparam int Whr = larger(clocks(TWhrNs), WeHigh + 1);  // one clock more: CLE and ALE are low before RE# falls
  localparam int Rhw = larger(clocks(TRhwNs), ReHigh + 1);
  localparam int Longest = larger(larger(Adl, Whr), larger(Rhw, larger(WeLow, ReLow))) + 1;
  localparam int CountBits = $clog2(Longest + 1);

  if (ClkPs < 1000) begin : g_check_fastest
    $fatal(1, "otx_nand_bus: ClkPs is a clock period in ps, at least 1000 (1 GHz)");
  end
  if (ClkPs > 100000) begin : g_check_slowest
    $fatal(1, "otx_nand_bus: ClkPs is a clock period in ps, at most 100000 (10 MHz)");
  end
  if (TWpNs < 1 || TRpNs < 1 || TReaNs < 1) begin : g_check_times
    $fatal(1, "otx_nand_bus: TWpNs, TRpNs and TReaNs must be 1 ns or more");
  end

  logic low_q;  // a strobe is low, else the bus rests
  logic [1:0] kind_q;  // of the cycle under way or the last one
  logic [CountBits-1:0] count_q;  // clocks since the strobe fell or rose; stays at Longest
  logic [CountBits-1:0] rest;
  logic take, rise, sample;

  // How long the bus must have rested before a cycle of the asked kind.
  always_comb begin
    if (kind_q == KindOut) rest = req_kind == KindOut ? CountBits'(ReHigh) : CountBits'(Rhw);
    else if (req_kind == KindOut) rest = CountBits'(Whr);
    else if (kind_q == KindAddress && req_kind == KindIn) rest = CountBits'(Adl);
    else rest = CountBits'(WeHigh);
  end

  assign req_ready = !low_q && count_q >= rest;
  assign take = req_valid && req_ready;
  assign rise = low_q && count_q == (kind_q == KindOut ? CountBits'(ReLow) : CountBits'(WeLow));
  assign sample = kind_q == KindOut && (SampleAfter == 0 ? rise : !low_q && count_q == CountBits'(SampleAfter));
  assign quiet = !low_q && count_q > CountBits'(larger(WeHigh, ReHigh)) && !rsp_valid;

  always_ff @(posedge clk) begin
    if (take || rise) count_q <= CountBits'(1);
    else if (count_q != CountBits'(Longest)) count_q <= count_q + 1'b1;
    if (take) begin
      low_q <= 1'b1;
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
    end else if (!low_q && count_q >= CountBits'(WeHigh)) begin
      nand_dq_oe <= 1'b0;
      nand_cle   <= 1'b0;
      nand_ale   <= 1'b0;
    end
    rsp_byte  <= nand_dq_i;
    rsp_valid <= sample;
    if (reset) begin
      low_q <= 1'b0;
      kind_q <= KindOut;  // the chip may still drive
      count_q <= CountBits'(ReHigh + 1);  // past the sample
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
