// SPDX-License-Identifier: Apache-2.0
// What otx_class_turn promises of one class, whichever it is: see formal/class_turn.sby for how it is run.
//
// Any classes want and wait, and who is chosen goes in any clock. `passed`: how many of other classes have gone since
// the class began to want one of its own.
`default_nettype none

module class_turn_props (
    input wire clk,
    input wire [3:0] wants,
    input wire [3:0] waits,
    input wire go
);
  (* anyconst *)wire [ 1:0] r;
  (* anyconst *)wire [17:0] turns;
`ifdef EACH_CLOCK
  always @(*) assume (turns[17:16] == 0 && go && wants != 0);
`endif
  reg reset = 1'b1;
  always @(posedge clk) reset <= 1'b0;

  wire [3:0] choice;
  wire [3:0] goes = choice & {4{go && !reset}};
  otx_class_turn dut (
      .clk(clk),
      .reset(reset),
      .wants(wants),
      .waits(waits),
      .goes(goes),
      .turns(turns),
      .choice(choice)
  );
  always @(*) assume ((wants & ~waits) == 0);

  wire [6:0] bound = r == 3 ? 7'd3 : {1'b0, turns[17:12]} + 7'd3 + {5'd0, r};
  reg  [6:0] passed = 0;
  always @(posedge clk)
    if (!reset) begin
      passed <= goes[r] || !wants[r] ? 7'd0 : passed + (goes != 0);
      a_one : assert ((choice & (choice - 1)) == 0 && (choice & ~wants) == 0 && (choice != 0) == (wants != 0));
      a_bound : assert (passed <= bound);
      if (goes[r]) c_reached : cover (passed == bound);
    end
endmodule

`default_nettype wire
