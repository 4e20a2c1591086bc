// SPDX-License-Identifier: Apache-2.0
// Simulation only: the pins of one NAND die, modelled by sim/nand_model.cpp through DPI.
//
// Pins are looked at in the middle of each clock, so that they are the ones set at the rising edge before; that edge is
// the time of their change. The model is called only when a pin of a selected chip or its CE# changed, or at a time it
// asked for. `dq_o` holds garbage while the data is not yet (tREA) or no longer valid. Time counts from the first clock
// of the simulation; the first half clock is not looked at, reset may not have reached the pins yet.

`default_nettype none

module otx_nand_die #(
    parameter int Die   = 0,     // channel * ways + way
    parameter int ClkPs = 10000  // clock period, ps
) (
    input  logic       clk,
    input  logic       ce_n,
    output logic       rb_n,
    input  logic       cle,
    input  logic       ale,
    input  logic       we_n,
    input  logic       re_n,
    input  logic       wp_n,
    input  logic [7:0] dq_i,
    output logic [7:0] dq_o,
    output logic       dq_oe
);
  import "DPI-C" function int otx_nand_pins(
    input int die,
    input longint now_ps,
    input int clk_ps,
    input int pins,
    output longint wake_ps
  );

  longint now_ps = 0, wake_ps = 0;
  logic [13:0] last = '1;
  logic [13:0] pins;
  int answer = 32'h200;

  assign pins = {wp_n, ce_n, cle, ale, re_n, we_n, dq_i};
  assign {rb_n, dq_oe, dq_o} = answer[9:0];

  always @(negedge clk) begin
    if (now_ps != 0 && (now_ps >= wake_ps || (pins != last && !(ce_n && last[12])))) begin
      answer <= otx_nand_pins(Die, now_ps, ClkPs, {18'd0, pins}, wake_ps);
      last   <= pins;
    end
    now_ps <= now_ps + longint'(ClkPs);
  end
endmodule

`default_nettype wire
