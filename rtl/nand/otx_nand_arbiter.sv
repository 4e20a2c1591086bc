// SPDX-License-Identifier: Apache-2.0
// Picks the way that gets the bus next.
//
// A way whose turn is brief (commands and status only) goes before one that moves a page, so that arrays start early; among equals, round robin from the last way picked. No way waits forever: between
// two brief turns of a way lies its own array time or a page. Combinational from `request`; `taken` moves the round robin on.

`default_nettype none

module otx_nand_arbiter #(
    parameter int Ways = 2
) (
    input  logic            clk,
    input  logic            reset,
    input  logic [Ways-1:0] request,
    input  logic [Ways-1:0] brief,
    input  logic            taken,
    output logic            pick_valid,
    output logic [     3:0] pick_way
);
  logic [Ways-1:0] eligible;
  logic [3:0] last_q;

  assign pick_valid = |request;
  assign eligible = |(request & brief) ? request & brief : request;

  // The lowest eligible way, or the lowest above the last one if there is such.
  always_comb begin
    pick_way = '0;
    for (int way = Ways - 1; way >= 0; way--) if (eligible[way]) pick_way = 4'(way);
    for (int way = Ways - 1; way >= 0; way--) if (eligible[way] && 4'(way) > last_q) pick_way = 4'(way);
  end

  always_ff @(posedge clk) begin
    if (taken) last_q <= pick_way;
    if (reset) last_q <= '0;
  end
endmodule

`default_nettype wire
