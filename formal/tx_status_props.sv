// SPDX-License-Identifier: Apache-2.0
// What otx_tx_status promises, for 4 txids: see formal/tx_status.sby for how it is run.
//
// All inputs are free, reset too, with three assumptions: the first clock is a reset; entries are only counted for
// OPEN transactions while `appending`; a transaction is brought back only while it is FREE, all others are FREE or
// PREPARED, and no request is made.
// "old" is the state one clock ago. The order invariant (ages of the committed are distinct and fill 0 to n-1) is what
// makes the proof inductive.
`default_nettype none

module tx_status_props (
    input wire clk,
    input wire reset,
    input wire tx_valid,
    input wire [2:0] tx_op,
    input wire [4:0] tx_txid,
    input wire appending,
    input wire free_valid,
    input wire [1:0] free_txid,
    input wire count_valid,
    input wire [1:0] count_txid,
    input wire restored_valid,
    input wire [1:0] restored_txid,
    input wire [15:0] restored_entries
);
  localparam [2:0] Free = otx_facts_pkg::TxFree,
      Open = otx_facts_pkg::TxOpen, Prepared = otx_facts_pkg::TxPrepared, Committing = otx_facts_pkg::TxCommitting,
      Committed = otx_facts_pkg::TxCommitted, Aborted = otx_facts_pkg::TxAborted;

  wire tx_ready, oldest_valid, commit_taken, commit_visible;
  wire [11:0] state;
  wire [15:0] order;
  wire [63:0] count;
  wire [3:0] oldest_order, next_order;
  wire [1:0] oldest, ev_txid;
  wire [3:0] aborted;

  otx_tx_status_4 dut (
      .clk(clk),
      .reset(reset),
      .tx_valid(tx_valid),
      .tx_ready(tx_ready),
      .tx_payload_op(tx_op),
      .tx_payload_txid(tx_txid),
      .restored_valid(restored_valid),
      .restored_payload_txid({3'd0, restored_txid}),
      .restored_payload_entries(restored_entries),
      .appending(appending),
      .free_valid(free_valid),
      .free_payload(free_txid),
      .countUp_valid(count_valid),
      .countUp_payload(count_txid),
      .useTxid(2'd0),
      .useCount(),
      .older(),
      .sizeOf_0(2'd0),
      .sizeOf_1(2'd0),
      .sizeOf_2(2'd0),
      .size_0(),
      .size_1(),
      .size_2(),
      .state_0(state[2:0]),
      .state_1(state[5:3]),
      .state_2(state[8:6]),
      .state_3(state[11:9]),
      .count_0(count[15:0]),
      .count_1(count[31:16]),
      .count_2(count[47:32]),
      .count_3(count[63:48]),
      .order_0(order[3:0]),
      .order_1(order[7:4]),
      .order_2(order[11:8]),
      .order_3(order[15:12]),
      .oldestOrder(oldest_order),
      .nextOrder(next_order),
      .oldest_valid(oldest_valid),
      .oldest_payload(oldest),
      .aborted(aborted),
      .evCommitTaken(commit_taken),
      .evCommitVisible(commit_visible),
      .evTxid(ev_txid)
  );

  reg started = 0;  // a reset has been seen
  reg running = 0;  // and the last clock was no reset
  reg [11:0] old;
  reg [15:0] old_order;
  reg [1:0] old_txid;
  reg [3:0] old_oldest;
  reg [2:0] old_op;
  reg old_fire, old_free, older_free, old_appending, old_restored;
  reg [1:0] old_restored_txid;
  always @(posedge clk) begin
    started <= 1;
    running <= !reset;
    old <= state;
    old_order <= order;
    old_oldest <= oldest_order;
    old_txid <= tx_txid[1:0];
    old_op <= tx_op;
    old_fire <= tx_valid && tx_ready;
    old_appending <= appending;
    old_restored <= restored_valid;
    old_restored_txid <= restored_txid;
    old_free <= free_valid;
    older_free <= old_free;
  end

  // all transactions at once: these are also what the induction stands on
  wire [15:0] ages = {
    order[15:12] - oldest_order, order[11:8] - oldest_order, order[7:4] - oldest_order, order[3:0] - oldest_order
  };
  reg [2:0] live, changed;  // how many are COMMITTED, and how many states changed
  reg [3:0] orders;
  reg twice, known, empty, in_range, any_open, quiet;
  wire recovered = old_fire && old_op == otx_facts_pkg::AskRecover;
  reg [3:0] any_aborted;
  integer n;
  always @* begin
    live = 0;
    changed = 0;
    orders = 0;
    any_aborted = 0;
    twice = 0;
    any_open = 0;
    quiet = 1;
    {known, empty, in_range} = 3'b111;
    for (n = 0; n < 4; n = n + 1) begin
      live = live + {2'd0, state[3*n+:3] == Committed};
      changed = changed + {2'd0, state[3*n+:3] != old[3*n+:3]};
      any_open = any_open || state[3*n+:3] == Open;
      quiet = quiet && (state[3*n+:3] == Free || state[3*n+:3] == Prepared);
      any_aborted[n] = state[3*n+:3] == Aborted;
      known = known && state[3*n+:3] <= Aborted;
      empty = empty && (state[3*n+:3] != Free || count[16*n+:16] == 0);
      if (state[3*n+:3] == Committed) begin
        twice = twice || orders[order[4*n+:2]];
        orders[order[4*n+:2]] = 1;
      end
    end
    for (n = 0; n < 4; n = n + 1) begin
      if (state[3*n+:3] == Committed) in_range = in_range && ages[4*n+:4] < {1'b0, live};
    end
  end

  always @* begin
    if (!started) assume (reset);
    if (restored_valid) assume (quiet && state[3*restored_txid+:3] == Free && !tx_valid);
    if (count_valid) assume (state[3*count_txid+:3] == Open && appending);
  end

  always @*
    if (started) begin
      a_known_states : assert (known);
      a_free_is_empty : assert (empty);
      a_orders_distinct : assert (!twice);
      a_ages_in_range : assert (in_range);
      a_next_order : assert (next_order == oldest_order + {1'b0, live});
      a_oldest : assert (oldest_valid == (live != 0));
      a_oldest_is_committed :
      assert (!oldest_valid || (state[3*oldest+:3] == Committed && order[4*oldest+:4] == oldest_order));
      a_aborted : assert (aborted == any_aborted);
      a_visible : assert (!commit_visible || !running || state[3*ev_txid+:3] == Committed);
      if (running) a_one_at_a_time : assert (changed <= 1 || recovered);
      if (running && recovered) a_all_recovered : assert (!any_open);
    end

  // any one transaction whose state has changed
  (* anyconst *) reg [1:0] t;
  wire [2:0] now = state[3*t+:3];
  wire [2:0] was = old[3*t+:3];
  wire [3:0] age = ages[4*t+:4];
  wire [2:0]
      asked_op = now == Open ? otx_facts_pkg::AskBegin : now == Committing ? otx_facts_pkg::AskCommitting : now ==
      Committed ? otx_facts_pkg::AskCommit : now == Prepared ? otx_facts_pkg::AskPrepare : otx_facts_pkg::AskAbort;
  always @*
    if (running && started && now != was) begin
      a_legal :
      assert ((was == Free && (now == Open || now == Prepared)) ||
              (was == Open && (now == Prepared || now == Committing || now == Aborted)) ||
              (was == Prepared && (now == Committing || now == Aborted)) || (was == Committing && now == Committed) ||
              ((was == Committed || was == Aborted) && now == Free));
      a_asked :
      assert (now == Free ? older_free : was == Free && now == Prepared ? old_restored && old_restored_txid == t :
              old_fire && ((old_txid == t && old_op == asked_op) || (recovered && was == Open && now == Aborted)));
      a_not_beside_an_append :
      assert (now == Committed || now == Free || (was == Free && now == Prepared) || !old_appending);
      a_newest : assert (now != Committed || age == {1'b0, live} - 1);
      a_oldest_is_freed_first : assert (was != Committed || old_order[4*t+:4] == old_oldest);
    end

  always @(posedge clk)
    if (started && !reset) begin
      c_restored_and_committed : cover (running && old_restored && state[2:0] == Prepared);
      c_two_committed : cover (live == 2);
      c_freed_and_committed_again : cover (oldest_order == 1 && live == 1);
      c_aborted_freed : cover (running && older_free && changed == 1 && old[2:0] == Aborted);
    end
endmodule
