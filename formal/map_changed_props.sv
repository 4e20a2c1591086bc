// SPDX-License-Identifier: Apache-2.0
// What otx_map_changed promises of one page, whichever it is: see formal/map_changed.sby for how it is run.
//
// All inputs are free, with three assumptions: the first clock is a reset, the three that set pages do not come in one
// clock, and no question is asked before the last one is answered. `owed`: the page was set, and no take that ended
// since has named it. Such a page is in the answer of each question of its group that began after it was set. What is
// set beside a take that names it may have come before its turn: then it is not owed.
`default_nettype none

module map_changed_props (
    input wire clk,
    input wire reset,
    input wire written_valid,
    input wire [27:0] written_payload,
    input wire applied_valid,
    input wire [17:0] applied_payload,
    input wire set_valid,
    input wire [17:0] set_payload,
    input wire ask_valid,
    input wire [15:0] ask_payload,
    input wire take
);
  (* anyconst *) reg [2:0] page;
  wire answer_valid;
  wire [3:0] answer_payload;

  otx_map_changed_4 dut (
      .clk(clk),
      .reset(reset),
      .written_valid(written_valid),
      .written_payload(written_payload),
      .applied_valid(applied_valid),
      .applied_payload(applied_payload),
      .set_valid(set_valid),
      .set_payload(set_payload),
      .ask_valid(ask_valid),
      .ask_payload(ask_payload),
      .take(take),
      .answer_valid(answer_valid),
      .answer_payload(answer_payload)
  );

  wire sets = written_valid && written_payload[12:10] == page || applied_valid && applied_payload[2:0] == page ||
      set_valid && set_payload[2:0] == page;
  reg started = 0;
  reg asked = 0, takes = 0, mine = 0;  // a question is under way; of the page's group
  reg owed = 0;  // when the question began, and since; `beside`: set since then
  reg owes = 0, beside = 0, ended = 0;
  wire ends = asked && answer_valid;
  wire names = answer_payload[page[1:0]];

  always @(posedge clk) begin
    started <= 1;
    if (ask_valid) begin
      asked  <= 1;
      takes  <= take;
      mine   <= ask_payload[0] == page[2];
      owes   <= owed || sets;
      owed   <= owed || sets;
      beside <= 0;
    end else begin
      if (asked) beside <= beside || sets;
      else owed <= owed || sets;
      if (ends) begin
        asked <= 0;
        owed  <= takes && mine ? (beside || sets) && !names || sets : owed || beside || sets;
      end
    end
    ended <= ends && takes && mine && beside && !names;
    if (reset) {asked, owed, owes, beside, ended} <= 0;
  end

  always @* begin
    assume (started || reset);
    assume (!asked || !ask_valid);
    assume (written_valid + applied_valid + set_valid <= 1);
    if (started && !reset && ends && mine) a_owed_page_is_named : assert (names || !owes);
  end
  always @(posedge clk) c_set_beside_its_turn_and_not_named : cover (started && ended);
endmodule
