// SPDX-License-Identifier: Apache-2.0
// Where otx_prp_store_2 says that bytes of one slot are, whichever it is: see formal/prp_store.sby.
//
// `slot` has the first PRP `begins` and the later one `entry`, of page `page`; all that is stored else is free, and so
// are questions of up to 4 KiB. `index`: on which PRP the first byte is.
`default_nettype none

module prp_store_props (
    input wire clk,
    input wire reset,
    input wire first_valid,
    input wire [4:0] first_slot,
    input wire [63:0] first_address,
    input wire later_valid,
    input wire [4:0] later_slot,
    input wire [4:0] later_entry,
    input wire [51:0] later_page,
    input wire [1:0] asks,
    input wire [4:0] ask_slot,
    input wire [16:0] at,
    input wire [12:0] length
);
  (* anyconst *)wire [ 4:0] slot;
  (* anyconst *)wire [ 4:0] entry;
  (* anyconst *)wire [63:0] begins;
  (* anyconst *)wire [51:0] page;
  wire [1:0] ready, valid;
  wire [63:0] address[0:1];
  wire [12:0] size[0:1], more[0:1];
  wire [51:0] second[0:1];

  otx_prp_store_2 dut (
      .clk(clk),
      .reset(reset),
      .first_valid(first_valid),
      .first_payload_slot(first_slot),
      .first_payload_address(first_address),
      .later_valid(later_valid),
      .later_payload_slot(later_slot),
      .later_payload_entry(later_entry),
      .later_payload_page(later_page),
      .ask_0_valid(asks[0]),
      .ask_0_ready(ready[0]),
      .ask_0_payload_slot(ask_slot),
      .ask_0_payload_at(at),
      .ask_0_payload_length(length),
      .ask_1_valid(asks[1]),
      .ask_1_ready(ready[1]),
      .ask_1_payload_slot(ask_slot),
      .ask_1_payload_at(at),
      .ask_1_payload_length(length),
      .answer_0_valid(valid[0]),
      .answer_0_payload_address(address[0]),
      .answer_0_payload_length(size[0]),
      .answer_0_payload_page(second[0]),
      .answer_0_payload_more(more[0]),
      .answer_1_valid(valid[1]),
      .answer_1_payload_address(address[1]),
      .answer_1_payload_length(size[1]),
      .answer_1_payload_page(second[1]),
      .answer_1_payload_more(more[1])
  );

  reg started = 0, known = 0, stored = 0;  // the first PRP, the later one, since before the question
  reg mine = 0, side = 0;
  reg [16:0] asked = 0;
  reg [12:0] wanted = 0;
  wire [17:0] where = {6'd0, begins[11:0]} + {1'd0, asked};
  wire [5:0] index = where[17:12];
  wire [1:0] takes = asks & ready;
  wire from = side;

  always @* begin
    assume (started || reset);
    assume (!started || !reset);
    assume (begins[1:0] == 0 && at[1:0] == 0 && length[1:0] == 0 && length >= 4 && length <= 4096);
    assume (at <= 17'd12288 && slot < 2 && entry < 4 && first_slot < 2 && later_slot < 2 && ask_slot < 2);
    assume (later_entry < 4);
    if (first_valid && first_slot == slot) assume (first_address == begins);
    if (later_valid && later_slot == slot && later_entry == entry) assume (later_page == page);
  end

  always @(posedge clk) begin
    started <= 1;
    if (first_valid && first_slot == slot) known <= 1;
    if (later_valid && later_slot == slot && later_entry == entry) stored <= 1;
    if (takes != 0) begin
      mine   <= ask_slot == slot && known;
      side   <= takes[1];
      asked  <= at;
      wanted <= length;
    end
    if (reset) {known, stored, mine} <= 0;
    if (started && !reset) begin
      a_one_at_a_time : assert (takes != 3 && valid != 3);
      if (valid != 0) begin
        a_its_own_side : assert (valid[side]);
        if (mine) begin
          a_all_bytes : assert (size[from] + more[from] == wanted && size[from] >= 4);
          a_within_a_page : assert ({1'b0, address[from][11:0]} + size[from] <= 13'd4096 && more[from] < 4096);
          a_offset : assert (address[from][11:0] == where[11:0]);
          a_whole_page_first : assert (more[from] == 0 || {1'b0, address[from][11:0]} + size[from] == 13'd4096);
          if (index == 0) a_first : assert (address[from][63:12] == begins[63:12]);
          if (stored && index == entry + 6'd1 && $past(stored, 5)) a_later : assert (address[from][63:12] == page);
          if (stored && index == {1'b0, entry} && $past(stored, 5) && more[from] != 0)
            a_next : assert (second[from] == page);
        end
      end
    end
  end
endmodule

`default_nettype wire
