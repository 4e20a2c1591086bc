// SPDX-License-Identifier: Apache-2.0
// What otx_remap_engine promises its users, for 2 transactions, 2 jobs at once and 4 LPNs; see formal/remap_engine.sby for how it is run.
//
// The engine stands before a table memory that answers whenever it likes, one read and one write at a time. Ops (LOOKUP, APPEND, PLAIN, each a group of its own) and tx requests are free,
// the map's first contents too. A model says what is committed and what each transaction has written. One LOOKUP, any, is followed from its op to its answer; one location, any, that is
// given to the engine at most once, is followed until it is released.
`default_nettype none

module remap_engine_props (
    input wire clk,
    input wire reset,
    input wire op_valid,
    input wire [1:0] op,
    input wire [1:0] lpn,
    input wire has_tx,
    input wire txid,
    input wire [2:0] loc,
    input wire follow,
    input wire tx_valid,
    input wire [2:0] tx_op,
    input wire tx_txid,
    input wire read_now,
    input wire write_now
);
  localparam [2:0] Free = 0, Open = 1, Prepared = 2, Committing = 3, Committed = 4, Aborted = 5;
  localparam [1:0] Lookup = 0, Append = 1, Plain = 2;
  localparam [2:0] Begin = 0, DoCommitting = 1, DoCommit = 2, Abort = 3, Prepare = 4;
  localparam [31:0] MapAt = 32'h4000_0000, EntriesAt = 32'h4000_1000;
  localparam [2:0] Followed = 7;  // the location that is followed

  wire op_ready, rsp_valid, tx_ready, released_valid;
  wire [7:0] rsp_tag;
  wire [29:0] rsp_value, released_value;
  wire [1:0] rsp_kind, released_kind;
  wire rsp_own, rsp_error;
  wire [2:0] state[2];
  wire ar_valid, r_ready, aw_valid, w_valid, b_ready;
  wire [31:0] ar_addr, aw_addr;
  wire [5:0] ar_id, aw_id;
  wire [127:0] w_data;
  wire [15:0] w_strb;

  reg following;  // a LOOKUP is followed and has not been answered
  reg followed;  // there was one
  wire mark = follow && !followed && op == Lookup;

  (* anyconst *) wire [11:0] first;  // what the map holds first
  integer m;

  // Table memory: the map's first beat and four entries of each transaction
  // Of a word only what can differ from 0 is kept: its kind, bit 16 of its value (a txid) and bits 2 to 0; a_written says that nothing is lost.
  reg [23:0] map, entries[8];
  reg reading, reading_map, r_held, writing;
  reg [2:0] reading_entry;
  reg [5:0] r_id, b_id;
  reg [23:0] r_kept;
  wire r_valid = reading && (read_now || r_held);
  wire [23:0] r_beat = r_held ? r_kept : reading_map ? map : entries[reading_entry];
  wire [127:0] r_data;
  wire [23:0] w_beat, lanes;
  wire [3:0] w_zero;
  genvar g;
  generate
    for (g = 0; g < 4; g = g + 1) begin : words
      assign r_data[32*g+:32] = {r_beat[6*g+4+:2], 13'd0, r_beat[6*g+3], 13'd0, r_beat[6*g+:3]};
      assign w_beat[6*g+:6] = {w_data[32*g+30+:2], w_data[32*g+16], w_data[32*g+:3]};
      assign lanes[6*g+:6] = {6{w_strb[4*g]}};
      assign w_zero[g] = !w_strb[4*g] || (w_data[32*g+17+:13] == 0 && w_data[32*g+3+:13] == 0);
    end
  endgenerate
  wire ar_ready = !reset && (!reading || (r_valid && r_ready));
  wire [31:0] ar_place = ar_addr - EntriesAt, aw_place = aw_addr - EntriesAt;
  reg b_held;
  wire b_valid = writing && (write_now || b_held);
  wire w_take = aw_valid && w_valid && !writing && !reset;
  wire [2:0] aw_entry = {aw_place[20], aw_place[5:4]};

  otx_remap_engine_2 dut (
      .clk(clk),
      .reset(reset),
      .op_valid(op_valid),
      .op_ready(op_ready),
      .op_payload_op({1'b0, op}),
      .op_payload_lpn({30'd0, lpn}),
      .op_payload_hasTx(has_tx),
      .op_payload_txid({4'd0, txid}),
      .op_payload_location_kind({1'b0, loc != 0}),
      .op_payload_location_value({27'd0, loc}),
      .op_payload_newLocation_kind(2'd0),
      .op_payload_newLocation_value(30'd0),
      .op_payload_tag({7'd0, mark}),
      .op_payload_last(1'b1),
      .rsp_valid(rsp_valid),
      .rsp_ready(1'b1),
      .rsp_payload_tag(rsp_tag),
      .rsp_payload_location_kind(rsp_kind),
      .rsp_payload_location_value(rsp_value),
      .rsp_payload_own(rsp_own),
      .rsp_payload_error(rsp_error),
      .tx_valid(tx_valid),
      .tx_ready(tx_ready),
      .tx_payload_op(tx_op),
      .tx_payload_txid({4'd0, tx_txid}),
      .txState_0(state[0]),
      .txState_1(state[1]),
      .useTxid(5'd0),
      .released_valid(released_valid),
      .released_ready(1'b1),
      .released_payload_kind(released_kind),
      .released_payload_value(released_value),
      .table_ar_valid(ar_valid),
      .table_ar_ready(ar_ready),
      .table_ar_payload_addr(ar_addr),
      .table_ar_payload_id(ar_id),
      .table_r_valid(r_valid),
      .table_r_ready(r_ready),
      .table_r_payload_data(r_data),
      .table_r_payload_id({r_id[5:4], r_id[4] ? {2'b00, r_id[1:0]} : {3'b000, r_id[0]}}),
      .table_r_payload_resp(2'd0),
      .table_r_payload_last(1'b1),
      .table_aw_valid(aw_valid),
      .table_aw_ready(w_take),
      .table_aw_payload_addr(aw_addr),
      .table_aw_payload_id(aw_id),
      .table_w_valid(w_valid),
      .table_w_ready(w_take),
      .table_w_payload_data(w_data),
      .table_w_payload_strb(w_strb),
      .table_b_valid(b_valid),
      .table_b_ready(b_ready),
      .table_b_payload_id({5'd0, b_id[0]}),
      .table_b_payload_resp(2'd0)
  );

  always @(posedge clk) begin
    r_held <= r_valid && !r_ready;
    r_kept <= r_beat;
    b_held <= b_valid && !b_ready;
    if (r_valid && r_ready) reading <= 0;
    if (ar_valid && ar_ready) begin
      reading <= 1;
      reading_map <= ar_addr == MapAt;
      reading_entry <= {ar_place[20], ar_place[5:4]};
      r_id <= ar_id;
    end
    if (b_valid && b_ready) writing <= 0;
    if (w_take) begin
      writing <= 1;
      b_id <= aw_id;
      if (aw_addr == MapAt) map <= (map & ~lanes) | (w_beat & lanes);
      else entries[aw_entry] <= (entries[aw_entry] & ~lanes) | (w_beat & lanes);
    end
    if (reset) begin
      {reading, writing, r_held, b_held} <= 0;
      for (m = 0; m < 4; m = m + 1) map[6*m+:6] <= {1'b0, first[3*m+:3] != 0, 1'b0, first[3*m+:3]};
    end
  end

  // The model: a clock's tx request comes before its op, a COMMIT after it
  reg [2:0] committed[4], version[2][4];
  reg [3:0] has[2];
  wire tx_fire = tx_valid && tx_ready;
  wire [2:0] was = state[tx_txid];
  wire legal = tx_op == Begin ? was == Free : tx_op == DoCommit ? was == Committing : tx_op == Prepare ? was == Open :
      (tx_op == DoCommitting || tx_op == Abort) && (was == Open || was == Prepared);
  wire commits = tx_fire && legal && tx_op == DoCommit;
  wire aborts = tx_fire && legal && tx_op == Abort;
  wire [2:0] next_state = tx_op == Begin ? Open : tx_op == DoCommitting ? Committing : tx_op == Prepare ? Prepared : Aborted;
  wire [2:0] now = tx_fire && legal && !commits && tx_txid == txid ? next_state : state[txid];  // of the op's transaction
  wire op_fire = op_valid && op_ready;
  wire own = has_tx && (now == Open || now == Prepared || now == Committing) && has[txid][lpn] && !(aborts && tx_txid == txid);
  wire given = op_fire && loc == Followed && (op == Plain || (op == Append && has_tx && now == Open));

  reg started = 0;
  reg [2:0] expected, without;  // the followed LOOKUP's answer; the one without its transaction
  reg expect_own, may_lose, reader;
  reg was_given, was_released;
  integer l;
  always @(posedge clk) begin
    started <= 1;
    if (aborts) has[tx_txid] <= 0;
    if (op_fire) begin
      if (op == Append && has_tx && now == Open) begin
        has[txid][lpn] <= 1;
        version[txid][lpn] <= loc;
      end
      if (op == Plain) committed[lpn] <= loc;
      if (mark) begin
        following <= 1;
        followed <= 1;
        expected <= own ? version[txid][lpn] : committed[lpn];
        without <= committed[lpn];
        expect_own <= own;
        reader <= txid;
        may_lose <= 0;
      end
    end
    if (following && aborts && tx_txid == reader) may_lose <= 1;
    if (commits) begin
      for (l = 0; l < 4; l = l + 1) if (has[tx_txid][l]) committed[l] <= version[tx_txid][l];
      has[tx_txid] <= 0;
    end
    if (rsp_valid && rsp_tag == 1) following <= 0;
    if (given) was_given <= 1;
    if (released_valid && released_value[2:0] == Followed) was_released <= 1;
    if (reset) begin
      for (l = 0; l < 4; l = l + 1) committed[l] <= first[3*l+:3];
      has[0] <= 0;
      has[1] <= 0;
      {following, followed, was_given, was_released} <= 0;
    end
  end

  // Inputs: one reset at the start, streams that hold, a first map of locations or NONE without the followed one
  reg op_waits = 0, tx_waits = 0;
  reg [10:0] op_was;
  reg [3:0] tx_was;
  always @(posedge clk) begin
    op_waits <= op_valid && !op_ready && !reset;
    tx_waits <= tx_valid && !tx_ready && !reset;
    op_was <= {op, lpn, has_tx, txid, loc, follow};
    tx_was <= {tx_op, tx_txid};
  end
  always @* begin
    assume (reset == !started);
    assume (op != 3 && read_now && write_now);
    if (op_waits) assume (op_valid && op_was == {op, lpn, has_tx, txid, loc, follow});
    if (tx_waits) assume (tx_valid && tx_was == {tx_op, tx_txid});
    if (was_given) assume (loc != Followed);
    if (reset) begin
      assume (!op_valid && !tx_valid);
      for (l = 0; l < 4; l = l + 1) assume (first[3*l+:3] != Followed);
    end
  end

  wire reachable = committed[0] == Followed || committed[1] == Followed || committed[2] == Followed || committed[3] == Followed ||
      (has[0][0] && version[0][0] == Followed) || (has[0][1] && version[0][1] == Followed) || (has[0][2] && version[0][2] == Followed) ||
      (has[0][3] && version[0][3] == Followed) || (has[1][0] && version[1][0] == Followed) || (has[1][1] && version[1][1] == Followed) ||
      (has[1][2] && version[1][2] == Followed) || (has[1][3] && version[1][3] == Followed);
  wire releases = released_valid && released_value[2:0] == Followed;
  always @* if (started && !reset) begin
    if (ar_valid) a_read_address : assert (ar_addr == MapAt || (ar_place[31:21] == 0 && ar_place[19:6] == 0 && ar_place[3:0] == 0));
    if (aw_valid) a_write_address : assert (aw_addr == MapAt || (aw_place[31:21] == 0 && aw_place[19:6] == 0 && aw_place[3:0] == 0));
    if (w_valid) a_written : assert (&w_zero);
    if (rsp_valid && rsp_tag == 1) begin
      a_followed : assert (following && !rsp_error);
      a_version : assert ((rsp_value[2:0] == expected && rsp_own == expect_own) || (may_lose && expect_own && rsp_value[2:0] == without && !rsp_own));
      a_word : assert (rsp_value[29:3] == 0 && rsp_kind == {1'b0, rsp_value[2:0] != 0});
    end
    if (releases) a_released_once : assert (was_given && !was_released);
    if (releases) a_not_reachable : assert (!reachable && !(following && expected == Followed));
  end
endmodule
