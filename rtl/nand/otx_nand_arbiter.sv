// SPDX-License-Identifier: Apache-2.0
// Picks the way that gets the bus next.
//
// A way whose turn is brief (commands and status only) goes before one that moves a page, so that arrays start early;
// but after `Patience` brief turns in a row a waiting page goes. Of pages, one that is read (`urgent`) goes before the
// others, but not after another one that was read. Among equals, round robin.
// Combinational from `request`, `brief` and `urgent`; `taken` (only with `pick_valid`) gives the turn to `pick_way`. A
// way keeps all three until its turn. While a way waits others get at most Ways brief turns if its own is brief, else 2
// * (Patience + 1) * Ways - 1 turns, and no more than (Patience + 1) * Ways - 1 where all pages are read or none is.
// Reset forgets whose turn it is.

`default_nettype none

module otx_nand_arbiter #(
    parameter int Ways     = 2,        // 1 to 16
    parameter int Patience = 2 * Ways  // Ways or more
) (
    input  logic            clk,
    input  logic            reset,
    input  logic [Ways-1:0] request,
    input  logic [Ways-1:0] brief,
    input  logic [Ways-1:0] urgent,
    input  logic            taken,
    output logic            pick_valid,
    output logic [     3:0] pick_way
);
  localparam int Bits = $clog2(Patience + 1);

  if (Patience < Ways) begin : g_check_patience
    $fatal(1, "otx_nand_arbiter: Patience must be Ways or more");
  end

  logic [Ways-1:0] eligible, pages, reads;
  logic [3:0] last_brief_q, last_page_q, last_read_q, last;
  logic [Bits-1:0] passed_q;  // brief turns since a page waits, at most Patience
  logic page_waits, picks_brief, picks_read, was_read_q;  // was_read_q: the last page that had a turn

  assign pick_valid = |request;
  assign pages = request & ~brief;
  assign reads = pages & urgent;
  assign page_waits = |pages;
  assign picks_brief = |(request & brief) && !(page_waits && passed_q == Bits'(Patience));
  assign picks_read = |reads && !(was_read_q && |(pages & ~urgent));
  assign eligible = picks_brief ? request & brief : picks_read ? reads : pages & ~urgent;
  assign last = picks_brief ? last_brief_q : picks_read ? last_read_q : last_page_q;

  // The lowest eligible way, or the lowest above the last one if there is such.
  always_comb begin
    pick_way = '0;
    for (int way = Ways - 1; way >= 0; way--) if (eligible[way]) pick_way = 4'(way);
    for (int way = Ways - 1; way >= 0; way--) if (eligible[way] && 4'(way) > last) pick_way = 4'(way);
  end

  always_ff @(posedge clk) begin
    if (taken) begin
      if (picks_brief) last_brief_q <= pick_way;
      else if (picks_read) last_read_q <= pick_way;
      else last_page_q <= pick_way;
      if (!picks_brief) was_read_q <= picks_read;
      passed_q <= picks_brief && page_waits ? passed_q + 1'b1 : '0;
    end
    if (reset) begin
      last_brief_q <= '0;
      last_page_q <= '0;
      last_read_q <= '0;
      was_read_q <= 1'b0;
      passed_q <= '0;
    end
  end

`ifdef FORMAL
  // Any one way, `who`, and the turns that others got since it waits. Inductive: how many ways are between the last one
  // of its class and it bounds the turns.
  (* anyconst *) logic [3:0] who;
  logic started_q = 1'b0, waits, waited_q, was_brief_q, is_brief, was_urgent_q, is_urgent;
  logic [3:0] mine;
  logic [9:0] turns_q, between, others, pages_before;
  assign waits = !reset && request[who];
  assign is_brief = brief[who];
  assign is_urgent = urgent[who];
  assign mine = is_brief ? last_brief_q : is_urgent ? last_read_q : last_page_q;
  assign between = who > mine ? 10'(who) - 10'(mine) - 10'd1 : 10'(who) + 10'(Ways) - 10'(mine) - 10'd1;
  assign others = 10'(Ways - 1) - between;
  assign pages_before = 10'd2 * others + 10'(was_read_q != is_urgent);  // at most so many other pages have gone

  always_ff @(posedge clk) begin
    started_q <= 1'b1;
    waited_q <= waits && !(taken && pick_way == who);
    was_brief_q <= is_brief;
    was_urgent_q <= is_urgent;
    turns_q <= waits && !(taken && pick_way == who) ? turns_q + 10'(taken) : '0;
    if (reset) turns_q <= '0;
  end

  always_comb begin
    assume (who < 4'(Ways));
    if (!started_q) assume (reset);
    if (taken) assume (pick_valid && !reset);
    if (started_q && waited_q && !reset)
      assume (request[who] && brief[who] == was_brief_q && urgent[who] == was_urgent_q);
    if (started_q && !reset) begin
      if (pick_valid) assert (pick_way < 4'(Ways) && request[pick_way]);
      if (|(request & brief) && (!page_waits || passed_q != Bits'(Patience))) assert (brief[pick_way]);
      assert (last_brief_q < 4'(Ways) && last_page_q < 4'(Ways) && last_read_q < 4'(Ways) &&
              passed_q <= Bits'(Patience));
      if (!waited_q) assert (turns_q == 0);
      if (waits && is_brief) begin
        assert (turns_q <= 10'(Ways));
        assert (turns_q <= others || (turns_q <= others + 10'd1 && 10'(passed_q) <= others));
      end
      if (waits && !is_brief) begin
        assert (turns_q <= 10'(2 * (Patience + 1) * Ways - 1));
        assert (turns_q <= pages_before * 10'(Patience + 1) + 10'(passed_q));
      end
    end
  end
  always_ff @(posedge clk) begin
    cover (started_q && !reset && waits && is_brief && turns_q == 10'(Ways - 1));
    cover (started_q && !reset && waits && !is_brief && turns_q == 10'(Patience + 1) && 10'(passed_q) == 10'd1);
  end
`endif
endmodule

`default_nettype wire
