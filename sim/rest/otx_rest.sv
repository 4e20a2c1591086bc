// SPDX-License-Identifier: Apache-2.0
// The clock of one block of the simulated drive: it stands still while the block rests.
//
// Contract. `inputs`: all inputs of block `Id` but its clock; `late`: those of them that change with the falling edge
// (pins of the NAND), none without `Late`. `block_clk` rises with `clk`, unless the edge before has changed nothing in
// the block and its inputs are still those of that edge: then this one would change nothing either. rest.cpp knows
// whether the state has changed. So the drive does the same, clock by clock, and there is less to evaluate. In
// simulation only; what changes other inputs from outside does so before the evaluation of the falling edge.
module otx_rest #(
    parameter int Id = 0,
    parameter int Width = 1,
    parameter int Late = 0
) (
    input bit clk,
    input bit [Width-1:0] inputs,
    input bit [(Late?Late : 1)-1:0] late,
    output bit block_clk
);
  import "DPI-C" function bit otx_rest_changed(input int id);

  bit [Width-1:0] seen = 0;
  bit changed = 1;
  bit awake;

  always @(negedge clk) begin
    if (inputs != seen) begin
      seen <= inputs;
      changed <= 1;
    end else if (awake) changed <= otx_rest_changed(Id);
    else changed <= 0;
  end

  if (Late != 0) begin : gen_late
    bit [Late-1:0] late_seen = 0;
    always @(negedge clk) late_seen <= late;
    always_latch if (!clk) awake = changed || late != late_seen;
  end else begin : gen_plain
    assign awake = changed;
  end
  assign block_clk = clk & awake;
endmodule
