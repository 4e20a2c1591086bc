// SPDX-License-Identifier: Apache-2.0
// What otx_remap_engine promises its users, for 2 transactions, 2 jobs at once and 4 LPNs; formal/remap_engine.sby says
// how it is run and which states it starts from.
//
// The engine stands before a table memory that answers in the next clock, one read and one write at a time. A model
// says what is committed and what each transaction has written: it is what the table and the states mean in the first
// clock, and from then on only ops and tx requests change it. Whenever an LPN has no job the table must mean what the
// model says, and be as well-formed as it was assumed to be. One LOOKUP, any, is followed from its op to its answer;
// one location, any, that is at most once in the table and given to the engine at most once, is followed until it is
// released.
//
//   1. no uncommitted version of another transaction is seen     a_version
//   2. a commit is one instant, also inside a group              a_version: the model switches at COMMIT, for a group
//                                                                after its last op
//   3. an abort leaves no trace                                  a_version after ABORT; a_means, a_all_linked and
//                                                                a_held after its walk
//   4. a merge changes no answer                                 a_version beside the walk, a_means after it
//   5. a location is released once, when nobody can get at it    a_released_once, a_not_reachable, a_held (and not
//                                                                forgotten), a_reader_holds_walks, a_group_holds_walks
//
// A task chooses its inputs by macros: OPS and TXS (how many at most), LOOKUPS and COMMITS (no others), ONE_LPN, WALKS
// (a walk's job is in `issue` in the first clock, else an op comes), and ANSWERS (only what lookups need is asserted).
`default_nettype none

module remap_engine_props (
    input wire clk,
    input wire op_valid,
    input wire [1:0] op,
    input wire [1:0] lpn,
    input wire has_tx,
    input wire txid,
    input wire [2:0] loc,
    input wire last,
    input wire follow,
    input wire tx_valid,
    input wire [2:0] tx_op,
    input wire tx_txid
);
  localparam [2:0] Free = otx_facts_pkg::TxFree,
      Open = otx_facts_pkg::TxOpen, Prepared = otx_facts_pkg::TxPrepared, Committing = otx_facts_pkg::TxCommitting,
      Committed = otx_facts_pkg::TxCommitted, Aborted = otx_facts_pkg::TxAborted;
  localparam [1:0] Lookup = 2'(otx_facts_pkg::RemapLookup),
      Append = 2'(otx_facts_pkg::RemapAppend), Plain = 2'(otx_facts_pkg::RemapPlain);
  localparam [2:0] Begin = otx_facts_pkg::AskBegin,
      DoCommitting = otx_facts_pkg::AskCommitting, DoCommit = otx_facts_pkg::AskCommit, Abort = otx_facts_pkg::AskAbort,
      Prepare = otx_facts_pkg::AskPrepare, Recover = otx_facts_pkg::AskRecover;
  localparam [31:0] MapAt = 32'h8000_0000, EntriesAt = 32'h8000_1000;
  localparam [2:0] Followed = 7;  // the location that is followed

  wire op_ready, rsp_valid, tx_ready, released_valid;
  wire [7:0] rsp_tag;
  wire [29:0] rsp_value, released_value;
  wire [1:0] rsp_kind, released_kind;
  wire rsp_own, rsp_error;
  wire [2:0] state[2];
  wire [15:0] count[2], errors;
  wire ar_valid, r_ready, aw_valid, w_valid, b_ready;
  wire [31:0] ar_addr, aw_addr;
  wire [5:0] ar_id, aw_id;
  wire [127:0] w_data;
  wire [ 15:0] w_strb;

`ifdef ONE_LPN
  wire [1:0] block = 0;
`else
  wire [1:0] block = lpn;
`endif

  reg started = 0;  // not the first clock
  reg following;  // a LOOKUP is followed and has not been answered
  reg followed;  // there was one
  wire mark = follow && !followed && op == Lookup;

  // Table memory: the map's first beat and four entries of each transaction
  // Of a word only what can differ from 0 is kept: its kind, bit 16 of its value (a txid) and bits 2 to 0; a_written
  // says that nothing is lost.
  reg [23:0] map;
  reg [191:0] entries;
  reg reading, reading_map, writing;
  reg [2:0] reading_entry;
  reg [5:0] r_id, b_id;
  wire [ 23:0] r_beat = reading_map ? map : entries[24*reading_entry+:24];
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
  wire ar_ready = !reading || r_ready;
  wire [31:0] ar_place = ar_addr - EntriesAt, aw_place = aw_addr - EntriesAt;
  wire w_take = aw_valid && w_valid && !writing;
  wire [2:0] aw_entry = {aw_place[20], aw_place[5:4]};

  otx_remap_engine_2 dut (
      .clk(clk),
      .reset(1'b0),
      .op_valid(op_valid),
      .op_ready(op_ready),
      .op_payload_op({1'b0, op}),
      .op_payload_lpn({30'd0, block}),
      .op_payload_hasTx(has_tx),
      .op_payload_txid({4'd0, txid}),
      .op_payload_location_kind({1'b0, loc != 0}),
      .op_payload_location_value({27'd0, loc}),
      .op_payload_newLocation_kind(2'd0),
      .op_payload_newLocation_value(30'd0),
      .op_payload_blocks(6'd0),
      .op_payload_tag({7'd0, mark}),
      .op_payload_last(last),
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
      .restored_valid(1'b0),
      .restored_payload_txid(5'd0),
      .restored_payload_entries(16'd0),
      .txState_0(state[0]),
      .txState_1(state[1]),
      .txCount_0(count[0]),
      .txCount_1(count[1]),
      .useTxid(5'd0),
      .released_valid(released_valid),
      .released_ready(1'b1),
      .released_payload_kind(released_kind),
      .released_payload_value(released_value),
      .table_ar_valid(ar_valid),
      .table_ar_ready(ar_ready),
      .table_ar_payload_addr(ar_addr),
      .table_ar_payload_id(ar_id),
      .table_r_valid(reading),
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
      .table_b_valid(writing),
      .table_b_ready(b_ready),
      .table_b_payload_id({5'd0, b_id[0]}),
      .table_b_payload_resp(2'd0),
      .memoryErrors(errors)
  );

  // inside the engine
  (* hierconn *) wire [6:0] \dut.status.head ;
  (* hierconn *) wire [6:0] \dut.status.tail ;
  (* hierconn *) wire [6:0] \dut.status.orders_0 ;
  (* hierconn *) wire [6:0] \dut.status.orders_1 ;
  (* hierconn *) wire \dut.status.frees ;
  (* hierconn *) wire [15:0] \dut.status.sizes[0] ;  // words of a memory
  (* hierconn *) wire [15:0] \dut.status.sizes[1] ;
  (* hierconn *) wire [6:0] \dut.snapshot.reached ;
  (* hierconn *) wire \dut.issue.here ;
  (* hierconn *) wire [2:0] \dut.issue.job_job ;
  (* hierconn *) wire [9:0] \dut.issue.job_lpn ;
  (* hierconn *) wire [15:0] \dut.issue.job_index_number ;
  (* hierconn *) wire [4:0] \dut.issue.job_index_txid ;
  (* hierconn *) wire [1:0] \dut.issue.active ;
  (* hierconn *) wire [9:0] \dut.issue.lpns_0 ;
  (* hierconn *) wire [9:0] \dut.issue.lpns_1 ;
  (* hierconn *) wire \dut.walker.active ;
  (* hierconn *) wire \dut.walker.sized ;
  (* hierconn *) wire \dut.walker.merge ;
  (* hierconn *) wire [4:0] \dut.walker.txid ;
  (* hierconn *) wire [15:0] \dut.walker.last ;
  (* hierconn *) wire [15:0] \dut.walker.fetches ;
  (* hierconn *) wire [15:0] \dut.walker.jobs ;
  (* hierconn *) wire [2:0] \dut.walker.under ;
  (* hierconn *) wire \dut.walker.walk_valid ;
  (* hierconn *) wire \dut.walker.over_regNext ;
  wire [6:0] live = \dut.status.tail - \dut.status.head ;
  wire [6:0] age[2];
  assign age[0] = \dut.status.orders_0 - \dut.status.head ;
  assign age[1] = \dut.status.orders_1 - \dut.status.head ;
  wire walks = \dut.walker.active ;
  wire walked_txid = \dut.walker.txid [0];
  wire [15:0] walked_number = \dut.walker.jobs -
      {13'd0, \dut.walker.under };  // entries before it are done, when no job or one is under way
  wire walk_ends = \dut.walker.over_regNext || \dut.status.frees ;

  always @(posedge clk) begin
    if (r_ready) reading <= 0;
    if (ar_valid && ar_ready) begin
      reading <= 1;
      reading_map <= ar_addr == MapAt;
      reading_entry <= {ar_place[20], ar_place[5:4]};
      r_id <= ar_id;
    end
    if (b_ready) writing <= 0;
    if (w_take) begin
      writing <= 1;
      b_id <= aw_id;
      if (aw_addr == MapAt) map <= (map & ~lanes) | (w_beat & lanes);
      else entries[24*aw_entry+:24] <= (entries[24*aw_entry+:24] & ~lanes) | (w_beat & lanes);
    end
  end

  // What table and states mean, LPN by LPN: base, versions (number and location of each transaction's), what is
  // committed
  reg [2:0] base[4], seen[4];
  reg [3:0] named[2], dead[2];  // by LPN
  reg [2:0] held[2][4];
  reg [3:0] linked[2];  // by number
  reg [3:0] well_formed;  // by LPN
  reg all_linked;
  reg [3:0] holders;  // of the followed location
  reg [5:0] word;
  reg [23:0] entry;
  reg t;
  integer l, k;
  always @* begin
    well_formed = 4'hf;
    all_linked = 1;
    holders = 0;
    entry = 0;
    for (k = 0; k < 2; k = k + 1) {named[k], dead[k], linked[k]} = 0;
    for (l = 0; l < 4; l = l + 1) begin
      word = map[6*l+:6];
      held[0][l] = 0;
      held[1][l] = 0;
      for (k = 0; k < 2; k = k + 1) begin
        t = word[3];
        if (word[5:4] == 3) begin
          entry = entries[24*{t, word[1:0]}+:24];
          if (word[2:0] >= count[t] || state[t] == Free || named[t][l] || entry[5:0] != l ||
              entry[11:6] != {1'b0, entry[8:6] != 0, 1'b0, entry[8:6]} || entry[23:19] != 0 ||
              (entry[18] && (state[t] != Committed || entry[8:6] != 0)))
            well_formed[l] = 0;
          named[t][l] = 1;
          dead[t][l] = entry[18];
          held[t][l] = entry[8:6];
          linked[t][word[1:0]] = 1;
          if (entry[8:6] == Followed) holders = holders + 1;
          word = entry[17:12];
        end
      end
      if (word != {1'b0, word[2:0] != 0, 1'b0, word[2:0]}) well_formed[l] = 0;
      base[l] = word[2:0];
      if (word[2:0] == Followed) holders = holders + 1;
      // age 0 is the oldest commit
      seen[l] = base[l];
      for (k = 0; k < 2; k = k + 1)
      if (state[k] == Committed && age[k] == 0 && named[k][l] && !dead[k][l]) seen[l] = held[k][l];
      for (k = 0; k < 2; k = k + 1)
      if (state[k] == Committed && age[k] == 1 && named[k][l] && !dead[k][l]) seen[l] = held[k][l];
    end
    for (k = 0; k < 2; k = k + 1)
    for (l = 0; l < 4; l = l + 1)
    if (linked[k][l] != (l < count[k] && !(walked_txid == k && (walk_ends || (walks && l < walked_number)))))
      all_linked = 0;
  end
  wire uncommitted[2];
  assign uncommitted[0] = state[0] == Open || state[0] == Prepared || state[0] == Committing;
  assign uncommitted[1] = state[1] == Open || state[1] == Prepared || state[1] == Committing;

  // The states and the walk
  wire [1:0] is_committed = {state[1] == Committed, state[0] == Committed};
  wire states_legal = state[0] <= Aborted && state[1] <= Aborted && (state[0] != Free || count[0] == 0) &&
      (state[1] != Free || count[1] == 0) && (state[0] == Free || \dut.status.sizes[0] == count[0]) &&
      (state[1] == Free || \dut.status.sizes[1] == count[1]) &&
      live == {6'd0, is_committed[0]} + {6'd0, is_committed[1]} && (!is_committed[0] || age[0] < live) &&
      (!is_committed[1] || age[1] < live) && !(is_committed == 3 && age[0] == age[1]);
  wire safe_legal = \dut.snapshot.reached - \dut.status.head <= live;
  wire walk_legal = !walks || (\dut.walker.merge ? is_committed[walked_txid] && age[walked_txid] == 0 &&
                               \dut.snapshot.reached != \dut.status.head : state[walked_txid] == Aborted);

  // The model: a clock's tx request comes before its op, a COMMIT after it, and after its group
  reg [2:0] committed[4], version[2][4];
  reg [3:0] has[2];
  reg group_open;
  reg [1:0] pending;  // committed in this group
  reg pending_last;
  wire tx_fire = tx_valid && tx_ready;
  wire [2:0] was = state[tx_txid];
  wire legal = tx_op == Begin ? was == Free : tx_op == DoCommit ? was == Committing :
      tx_op == Prepare ? was == Open : (tx_op == DoCommitting || tx_op == Abort) && (was == Open || was == Prepared);
  wire commits = tx_fire && legal && tx_op == DoCommit;
  wire recovers = tx_fire && tx_op == Recover;
  wire abort = tx_fire && legal && tx_op == Abort;
  wire [1:0] aborts = {
    abort && tx_txid || recovers && state[1] == Open, abort && !tx_txid || recovers && state[0] == Open
  };  // by transaction
  wire [2:0]
      next_state = tx_op == Begin ? Open : tx_op == DoCommitting ? Committing : tx_op == Prepare ? Prepared : Aborted;
  // of the op's transaction
  wire [2:0] now = aborts[txid] ? Aborted : tx_fire && legal && !commits && tx_txid == txid ? next_state : state[txid];
  wire op_fire = op_valid && op_ready;
  wire own = has_tx && (now == Open || now == Prepared || now == Committing || pending[txid]) && has[txid][block];
  wire appends = op_fire && op == Append && has_tx && now == Open;
  wire given = loc == Followed && (appends || (op_fire && op == Plain));
  wire group_stays = op_fire ? !last : group_open;
  wire [1:0] pending_now = pending | {commits && tx_txid, commits && !tx_txid};
  wire newest = commits ? tx_txid : pending_last;

  reg [2:0] expected, without;  // the followed LOOKUP's answer; the one without its transaction
  reg expect_own, may_lose, reader;
  // commit orders from there on are not seen, by the followed LOOKUP and by the open group
  reg [6:0] limit, group_limit;
  reg was_given, was_released;
  reg [3:0] ops, txs;
  integer m;
  always @(posedge clk) begin
    started <= 1;
    if (op_fire) begin
      ops <= ops + 1;
      group_open <= !last;
      if (!group_open) group_limit <= \dut.status.tail ;
      if (appends) begin
        has[txid][block] <= 1;
        version[txid][block] <= loc;
      end
      if (op == Plain) committed[block] <= loc;
      if (mark) begin
        following <= 1;
        limit <= group_open ? group_limit : \dut.status.tail ;
        followed <= 1;
        expected <= own ? version[txid][block] : committed[block];
        without <= committed[block];
        expect_own <= own;
        reader <= txid;
        may_lose <= 0;
      end
    end
    if (tx_fire) txs <= txs + 1;
    if (aborts[0]) has[0] <= 0;
    if (aborts[1]) has[1] <= 0;
    if (following && aborts[reader]) may_lose <= 1;
    pending <= group_stays ? pending_now : 0;
    pending_last <= newest;
    if (!group_stays)
      for (m = 0; m < 4; m = m + 1) begin
        if (pending_now[newest] && has[newest][m]) committed[m] <= version[newest][m];
        else if (pending_now[!newest] && has[!newest][m]) committed[m] <= version[!newest][m];
        if (pending_now[0]) has[0][m] <= 0;
        if (pending_now[1]) has[1][m] <= 0;
      end
    if (rsp_valid && rsp_tag == 1) following <= 0;
    if (given) was_given <= 1;
    if (released_valid && released_value[2:0] == Followed) was_released <= 1;
  end

  // Does the table mean what the model says?
  reg [3:0] means, busy;  // by LPN
  integer n;
  always @* begin
    means = 4'hf;
    for (n = 0; n < 4; n = n + 1) begin
      if (committed[n] != seen[n]) means[n] = 0;
      busy[n] = (\dut.issue.here && \dut.issue.job_lpn == n) || (\dut.issue.active [0] && \dut.issue.lpns_0 == n) ||
          (\dut.issue.active [1] && \dut.issue.lpns_1 == n);
      for (k = 0; k < 2; k = k + 1) begin
        if (has[k][n] != (named[k][n] && uncommitted[k])) means[n] = 0;
        if (has[k][n] && version[k][n] != held[k][n]) means[n] = 0;
      end
    end
  end
  wire rests = !\dut.issue.here && \dut.issue.active == 0 && !\dut.walker.walk_valid && !released_valid && !group_open;

  // Inputs: streams that hold
  reg op_waits = 0, tx_waits = 0;
  reg [10:0] op_was;
  reg [ 3:0] tx_was;
  always @(posedge clk) begin
    op_waits <= op_valid && !op_ready;
    tx_waits <= tx_valid && !tx_ready;
    op_was   <= {op, block, has_tx, txid, loc, follow, last};
    tx_was   <= {tx_op, tx_txid};
  end
  always @* begin
    assume (op != 3);
`ifdef LOOKUPS
    assume (op == Lookup);
`endif
`ifdef OPS
    if (ops >= `OPS) assume (!op_valid);
`endif
`ifdef COMMITS
    assume (tx_op == DoCommit);
`endif
`ifdef TXS
    if (txs >= `TXS) assume (!tx_valid);
`endif
    if (op_waits) assume (op_valid && op_was == {op, block, has_tx, txid, loc, follow, last});
    if (tx_waits) assume (tx_valid && tx_was == {tx_op, tx_txid});
    if (was_given) assume (loc != Followed);
    if (!started) begin
      assume (states_legal && safe_legal && walk_legal && &well_formed && all_linked && &means);
      assume (\dut.status.head == 0);  // only differences of orders count
      assume (count[0] <= 2 && count[1] <= 2 && holders <= 1 && was_given == (holders == 1));
`ifdef WALKS
      assume (walks && \dut.walker.last == count[walked_txid] && \dut.walker.jobs == walked_number + 1 &&
              \dut.walker.jobs <= \dut.walker.last );
      assume (\dut.walker.fetches == \dut.walker.jobs && \dut.issue.job_job == {2'b10, !\dut.walker.merge });
      assume (\dut.issue.job_index_txid == \dut.walker.txid && \dut.issue.job_index_number == walked_number &&
              \dut.issue.job_lpn == entries[24*{walked_txid, walked_number[1:0]}+:6]);
`else
      assume (!walks && op_valid);
`endif
    end
  end

  // The formatter gives up on as many terms.
  // verilog_format: off
  wire reachable = committed[0] == Followed || committed[1] == Followed ||
      committed[2] == Followed || committed[3] == Followed ||
      (has[0][0] && version[0][0] == Followed) || (has[0][1] && version[0][1] == Followed) ||
      (has[0][2] && version[0][2] == Followed) || (has[0][3] && version[0][3] == Followed) ||
      (has[1][0] && version[1][0] == Followed) || (has[1][1] && version[1][1] == Followed) ||
      (has[1][2] && version[1][2] == Followed) || (has[1][3] && version[1][3] == Followed);
  // verilog_format: on
  wire releases = released_valid && released_value[2:0] == Followed;
  always @*
    if (started) begin
      if (ar_valid)
        a_read_address :
        assert (ar_addr == MapAt || (ar_place[31:21] == 0 && ar_place[19:6] == 0 && ar_place[3:0] == 0));
      if (aw_valid)
        a_write_address :
        assert (aw_addr == MapAt || (aw_place[31:21] == 0 && aw_place[19:6] == 0 && aw_place[3:0] == 0));
      if (w_valid) a_written : assert (&w_zero);
      a_no_error : assert (errors == 0);
      if (rsp_valid && rsp_tag == 1) begin
        a_followed : assert (following && !rsp_error);
        a_version :
        assert ((rsp_value[2:0] == expected && rsp_own == expect_own) ||
                (may_lose && expect_own && rsp_value[2:0] == without && !rsp_own));
        a_word : assert (rsp_value[29:3] == 0 && rsp_kind == {1'b0, rsp_value[2:0] != 0});
      end
      // a walk takes away only what all readers inside see as committed: it begins when its commit is older than
      // `reached`
      if (following) a_reader_holds_walks : assert (limit - \dut.snapshot.reached < 7'd64);
      if (group_open) a_group_holds_walks : assert (group_limit - \dut.snapshot.reached < 7'd64);
`ifndef ANSWERS
      if (releases) a_released_once : assert (was_given && !was_released);
      if (releases)
        a_not_reachable :
        assert (!reachable && !(following && (expected == Followed || (may_lose && without == Followed))));
      a_states : assert (states_legal && safe_legal && walk_legal);
      a_well_formed : assert (&(well_formed | busy));
      if (!group_open) a_means : assert (&(means | busy));
      if (rests) begin
        a_all_linked : assert (all_linked);
        a_held : assert (holders == {3'd0, was_given && !was_released});
      end
`endif
    end
endmodule
