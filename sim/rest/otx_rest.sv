// SPDX-License-Identifier: Apache-2.0
// The clock of one block of the simulated drive: it stands still while the block rests.
//
// Contract. `inputs`: all inputs of block `Id` but its clock. `block_clk` rises with `clk`, unless the edge before has changed nothing in the
// block and its inputs are still those of that edge: then this one would change nothing either. rest.cpp knows whether the state has changed. So
// the drive does the same, clock by clock, and there is less to evaluate. In simulation only. What changes inputs between two edges does so
// before the evaluation with a low `clk`.
module otx_rest #(
    parameter int Id = 0,
    parameter int Width = 1
) (
    input bit clk,
    input bit [Width-1:0] inputs,
    output bit block_clk
);
  import "DPI-C" function bit otx_rest_changed(input int id);

  bit awake = 1;
  bit [Width-1:0] seen = 0;

  always @(negedge clk) begin
    if (inputs != seen) begin
      seen  <= inputs;
      awake <= 1;
    end else if (awake) awake <= otx_rest_changed(Id);
  end
  assign block_clk = clk & awake;
endmodule
