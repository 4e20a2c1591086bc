// SPDX-License-Identifier: Apache-2.0
// The times of the SDR timing mode that the bus is in, in clocks: a small table worked out at elaboration from
// nanoseconds and the clock period.
//
// Modes 0 to 5 are those of ONFI 4.0 (SDR); mode 6 has the part's own times, the parameters; 7 is as 0. `mode` is the
// index of the table's next word, the outputs follow one clock later. The caller changes it only while the bus rests,
// and starts a cycle two clocks later at the earliest. Every time is rounded up to clocks; where several bound the same
// wait, the longest counts.
// In modes 4 and 5, and with the part's own times, a byte is sampled as late after RE# rose as the part still holds it
// (EDO), else as RE# rises.
// There is no reset: the outputs are right one clock after `mode` is.

`default_nettype none

module otx_nand_times #(
    parameter int ClkPs   = 10000,  // clock period, ps
    parameter int Bits    = 6,      // of every count
    parameter int TWpNs   = 12,
    parameter int TWhNs   = 10,
    parameter int TWcNs   = 25,
    parameter int TRpNs   = 12,
    parameter int TRehNs  = 10,
    parameter int TRcNs   = 25,
    parameter int TReaNs  = 20,
    parameter int TRhohNs = 15,     // data stays valid this long after RE# rises
    parameter int TIoNs   = 5,      // allowance for pads and board, there and back, in every mode
    parameter int TClsNs  = 12,
    parameter int TClhNs  = 5,
    parameter int TCsNs   = 20,
    parameter int TChNs   = 5,
    parameter int TAlsNs  = 12,
    parameter int TAlhNs  = 5,
    parameter int TDsNs   = 12,
    parameter int TDhNs   = 5,
    parameter int TAdlNs  = 100,
    parameter int TWhrNs  = 60,
    parameter int TRhwNs  = 100,
    parameter int TWbNs   = 100,
    parameter int TRrNs   = 20
) (
    input  logic            clk,
    input  logic [     2:0] mode,
    output logic [Bits-1:0] we_low,        // WE# stays low
    output logic [Bits-1:0] we_high,       // and high, before it falls again or CLE, ALE or DQ move
    output logic [Bits-1:0] re_low,
    output logic [Bits-1:0] re_high,
    output logic [Bits-1:0] sample_after,  // from the rise of RE# to the sample, 0: as it rises
    // from the rise of one strobe to the fall of the next: last address to data in
    output logic [Bits-1:0] adl,
    output logic [Bits-1:0] whr,           // write to data out
    output logic [Bits-1:0] rhw,           // data out to write
    output logic [Bits-1:0] wb,            // tWB
    output logic [Bits-1:0] cs             // CE# low to the first strobe
);
  localparam int Width = 10 * Bits;

  function automatic int clocks(input int ns);
    clocks = (ns * 1000 + ClkPs - 1) / ClkPs;
  endfunction

  function automatic int larger(input int a, input int b);
    larger = a > b ? a : b;
  endfunction

  function automatic int pick(input int which, input int m0, input int m1, input int m2, input int m3, input int m4,
                              input int m5, input int own);
    pick = which == 1 ? m1 :
        which == 2 ? m2 : which == 3 ? m3 : which == 4 ? m4 : which == 5 ? m5 : which == 6 ? own : m0;
  endfunction

  if (ClkPs < 1000) begin : g_check_fastest
    $fatal(1, "otx_nand_times: ClkPs is a clock period in ps, at least 1000 (1 GHz)");
  end
  if (ClkPs > 100000) begin : g_check_slowest
    $fatal(1, "otx_nand_times: ClkPs is a clock period in ps, at most 100000 (10 MHz)");
  end
  if (TWpNs < 1 || TRpNs < 1 || TReaNs < 1 || TCsNs < 1) begin : g_check_times
    $fatal(1, "otx_nand_times: TWpNs, TRpNs, TReaNs and TCsNs must be 1 ns or more");
  end
  if (TWbNs < 0 || TRrNs < 0 || TIoNs < 0) begin : g_check_waits
    $fatal(1, "otx_nand_times: TWbNs, TRrNs and TIoNs must not be negative");
  end

  logic [8*Width-1:0] words;
  logic [  Width-1:0] word_q;
  assign {we_low, we_high, re_low, re_high, sample_after, adl, whr, rhw, wb, cs} = word_q;

  for (genvar m = 0; m < 8; m++) begin : g_mode
    localparam int Wp = pick(
        m, 50, 25, 17, 15, 12, 10, TWpNs
    ), Wh = pick(
        m, 30, 15, 15, 10, 10, 7, TWhNs
    ), Wc = pick(
        m, 100, 45, 35, 30, 25, 20, TWcNs
    );
    localparam int Rp = pick(
        m, 50, 25, 17, 15, 12, 10, TRpNs
    ), Reh = pick(
        m, 30, 15, 15, 10, 10, 7, TRehNs
    ), Rc = pick(
        m, 100, 50, 35, 30, 25, 20, TRcNs
    );
    // 0: not sampled after RE# rose
    localparam int Rea = pick(m, 40, 30, 25, 20, 20, 16, TReaNs), Rhoh = pick(m, 0, 0, 0, 0, 15, 15, TRhohNs);
    localparam int Cls = pick(
        m, 50, 25, 15, 10, 10, 10, TClsNs
    ), Clh = pick(
        m, 20, 10, 10, 5, 5, 5, TClhNs
    ), Cs = pick(
        m, 70, 35, 25, 25, 20, 15, TCsNs
    ), Ch = pick(
        m, 20, 10, 10, 5, 5, 5, TChNs
    );
    localparam int Als = pick(
        m, 50, 25, 15, 10, 10, 10, TAlsNs
    ), Alh = pick(
        m, 20, 10, 10, 5, 5, 5, TAlhNs
    ), Ds = pick(
        m, 40, 20, 15, 10, 10, 7, TDsNs
    ), Dh = pick(
        m, 20, 10, 5, 5, 5, 5, TDhNs
    );
    localparam int Adl = pick(
        m, 400, 400, 400, 400, 400, 400, TAdlNs
    ), Whr = pick(
        m, 120, 80, 80, 80, 80, 80, TWhrNs
    ), Rhw = pick(
        m, 200, 100, 100, 100, 100, 100, TRhwNs
    );
    localparam int Wb = pick(m, 200, 100, 100, 100, 100, 100, TWbNs), Rr = pick(m, 40, 20, 20, 20, 20, 20, TRrNs);

    // CLE, ALE and DQ change as WE# falls, so their set-up times bound its low time and their hold times its high time.
    localparam int WeHigh = larger(
        1, larger(clocks(Wh), larger(clocks(Dh), larger(clocks(Clh), larger(clocks(Alh), clocks(Ch)))))
    );
    localparam int WeSetup = larger(clocks(Wp), larger(clocks(Ds), larger(clocks(Cls), clocks(Als))));
    localparam int WeLow = larger(1, larger(WeSetup, clocks(Wc) - WeHigh));
    localparam int ReHigh = larger(1, clocks(Reh));
    localparam int Held = Rhoh * 1000 / ClkPs;  // whole clocks that the part holds data after RE# rose
    localparam int SampleAfter = Held < ReHigh ? Held : ReHigh;
    localparam int ReAccess = clocks(Rea + TIoNs) - SampleAfter;
    localparam int ReLow = larger(1, larger(clocks(Rp), larger(ReAccess, clocks(Rc) - ReHigh)));
    localparam int AdlClocks = larger(clocks(Adl), WeHigh);
    localparam int WhrClocks = larger(clocks(Whr), WeHigh + 1);  // one clock more: CLE and ALE are low before RE# falls
    localparam int RhwClocks = larger(clocks(Rhw), ReHigh + 1);
    // CE# falls after R/B# rose, so its set-up time covers tRR
    localparam int CsClocks = larger(1, clocks(larger(Cs, Rr)));
    if (larger(
            larger(larger(WeLow, ReLow), larger(AdlClocks, WhrClocks)), larger(larger(RhwClocks, CsClocks), clocks(Wb))
        ) + 2 >= 1 << Bits) begin : g_check_bits
      $fatal(1, "otx_nand_times: Bits is too small for the times at this clock");
    end
    assign words[m*Width+:Width] = {
      Bits'(WeLow),
      Bits'(WeHigh),
      Bits'(ReLow),
      Bits'(ReHigh),
      Bits'(SampleAfter),
      Bits'(AdlClocks),
      Bits'(WhrClocks),
      Bits'(RhwClocks),
      Bits'(clocks(Wb)),
      Bits'(CsClocks)
    };
  end

  always_ff @(posedge clk) for (int m = 0; m < 8; m++) if (mode == 3'(m)) word_q <= words[m*Width+:Width];
endmodule

`default_nettype wire
