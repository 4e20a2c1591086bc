// SPDX-License-Identifier: Apache-2.0
// What otx_command_queue promises, for 3 tags: see formal/command_queue.sby for how it is run.
//
// The host offers any legal READ, WRITE, TRIM, FLUSH, BARRIER or COMMIT, all of one block and two transactions, with
// any order attribute and priority class, and uses a tag again only after its completion. The data path takes commands
// and answers those that it has in any order. Two tags, chosen freely, are followed: what holds for them holds for all.
// Words: accepted, taken at `cmd`; gone, taken at `dpCmd`; ended, completed at `cpl`.
`default_nettype none

module command_queue_props (
    input wire clk,
    input wire cmd_valid,
    input wire [7:0] opcode,
    input wire fua,
    input wire barrier,
    input wire orderless,
    input wire [1:0] order,
    input wire [1:0] class_,
    input wire [1:0] tag,
    input wire txid,
    input wire cpl_ready,
    input wire dp_ready,
    input wire done_valid,
    input wire [1:0] done_tag,
    input wire fetch_valid,
    input wire [1:0] fetch_tag,
    input wire takes
);
  localparam [1:0] Simple = 0, Ordered = 1, Head = 2;
  localparam [1:0] Low = 1, Urgent = 3;
  localparam [7:0] Read = otx_facts_pkg::CmdRead, Write = otx_facts_pkg::CmdWrite, Trim = otx_facts_pkg::CmdTrim,
      Flush = otx_facts_pkg::CmdFlush, Barrier = otx_facts_pkg::CmdBarrier, Commit = otx_facts_pkg::CmdCommit;

  function [1:0] rank(input [1:0] n);
    rank = n[1] ? n : n ^ 2'd1;
  endfunction

  reg reset = 1'b1;
  always @(posedge clk) reset <= 1'b0;

  wire writes = opcode == Write || opcode == Trim;
  wire ranged = writes || opcode == Read;
  wire keeps = writes && !orderless || opcode == Commit;
  wire closes = opcode == Barrier || barrier;
  wire cmd_ready, dp_valid, done_ready, cpl_valid;
  wire [7:0] dp_tag, cpl_tag;
  wire [7:0] dp_opcode;
  wire [1:0] dp_class;
  otx_command_queue_3 dut (
      .clk(clk),
      .reset(reset),
      .enable(1'b1),
      .cmd_valid(cmd_valid),
      .cmd_ready(cmd_ready),
      .cmd_payload_opcode(opcode),
      .cmd_payload_lba(32'd0),
      .cmd_payload_count(16'd1),
      .cmd_payload_txid({7'd0, txid}),
      .cmd_payload_hasTx(opcode == Commit),
      .cmd_payload_fua(fua),
      .cmd_payload_commit(1'b0),
      .cmd_payload_relaxed(1'b0),
      .cmd_payload_barrier(barrier),
      .cmd_payload_orderless(orderless),
      .cmd_payload_order(order),
      .cmd_payload_priority(class_),
      .cmd_payload_stream(16'd0),
      .cmd_payload_tag({6'd0, tag}),
      .cmd_payload_arg(32'd0),
      .cpl_valid(cpl_valid),
      .cpl_ready(cpl_ready),
      .cpl_payload_tag(cpl_tag),
      .dpCmd_valid(dp_valid),
      .dpCmd_ready(dp_ready),
      .dpCmd_payload_opcode(dp_opcode),
      .dpCmd_payload_tag(dp_tag),
      .dpCmd_payload_priority(dp_class),
      .dpDone_valid(done_valid),
      .dpDone_ready(done_ready),
      .dpDone_payload_tag({6'd0, done_tag}),
      .dpDone_payload_status(4'd0),
      .dpDone_payload_result(32'd0),
      .allocLeft(32'd0),
      .logLeft(32'd1000),
      .places(10'd500),
      .framesKept(16'd0),
      .full(1'b1),
      .logFull(1'b0),
      .fault(1'b0),
      .takes(takes),
      .takesWrites(takes),
      .framesFree(16'd1000),
      .fetched_valid(fetch_valid),
      .fetched_payload_tag({3'd0, fetch_tag}),
      .fetched_payload_blocks(6'd1),
      .settled_valid(1'b0),
      .settled_payload(6'd0),
      .pageClocks(20'd0),
      .takesReads(1'b1),
      .classTurns(18'd0),
      .txState_0(3'd0),
      .txState_1(3'd0)
  );

  wire accepts = cmd_valid && cmd_ready, goes = dp_valid && dp_ready, ends = cpl_valid && cpl_ready;
  reg [2:0] there = 0, gone = 0, answered = 0;  // of each tag: accepted; gone; answered by the data path
  reg [2:0] empty = 0;  // a WRITE that is gone and has not got its data

  always @(*) begin
    if (reset) assume (!cmd_valid && !done_valid && !fetch_valid);
    if (fetch_valid) assume (fetch_tag != 3 && empty[fetch_tag]);
    if (cmd_valid) begin
      assume (ranged || opcode == Flush || opcode == Barrier || opcode == Commit);
      assume (order != 3 && tag != 3 && !there[tag]);
      assume (!(fua || orderless) || writes);
      assume (!barrier || writes || opcode == Commit);
    end
    if (done_valid)
      assume (done_tag != 3 && there[done_tag] && gone[done_tag] && !answered[done_tag] && !empty[done_tag]);
  end
  // streams keep what they offer
  reg waits = 0, done_waits = 0;
  reg  [17:0] offered;
  reg  [ 1:0] done_offered;
  wire [17:0] offer = {opcode, fua, barrier, orderless, order, class_, tag, txid};
  always @(posedge clk) begin
    waits <= !reset && cmd_valid && !cmd_ready;
    done_waits <= !reset && done_valid && !done_ready;
    offered <= offer;
    done_offered <= done_tag;
  end
  always @(*) begin
    if (waits) assume (cmd_valid && offer == offered);
    if (done_waits) assume (done_valid && done_tag == done_offered);
  end

  always @(posedge clk)
    if (!reset) begin
      if (accepts) begin
        there[tag] <= 1;
        gone[tag] <= 0;
        answered[tag] <= 0;
      end
      if (goes) gone[dp_tag[1:0]] <= 1;
      if (goes && dp_opcode == Write) empty[dp_tag[1:0]] <= 1;
      if (fetch_valid) empty[fetch_tag] <= 0;
      if (done_valid && done_ready) answered[done_tag] <= 1;
      if (ends) there[cpl_tag[1:0]] <= 0;
      if (goes) a_goes_once : assert (dp_tag < 3 && there[dp_tag[1:0]] && !gone[dp_tag[1:0]]);
      if (ends) a_ends_once : assert (cpl_tag < 3 && there[cpl_tag[1:0]] && answered[cpl_tag[1:0]]);
    end

  // `later` was accepted after `first`, which was not gone or not ended then
  (* anyconst *) wire [1:0] first, later;
  always @(*) assume (first < 3 && later < 3 && first != later);
  reg [1:0] first_order = 0, later_order = 0, first_class = 0, later_class = 0;
  reg first_alone = 0;  // no class was being chosen when it came
  reg only_reads = 1;  // and all SIMPLE: nobody waits for anybody, but for its turn
  wire [1:0] dp_rank = rank(dp_class);
  reg first_keeps = 0, first_closes = 0;
  reg not_gone = 0, not_ended = 0;  // `first` is neither since `later` was accepted
  reg  no_data = 0;  // nor gone, or a WRITE without its data
  reg  after_barrier = 0;  // and a barrier says that it goes first
  wire first_goes = goes && dp_tag[1:0] == first, first_ends = ends && cpl_tag[1:0] == first;
  always @(posedge clk)
    if (!reset) begin
      if (accepts && (opcode != Read || order != Simple)) only_reads <= 0;
      if (accepts && tag == first) begin
        first_order  <= order;
        first_class  <= class_;
        first_alone  <= (there & ~gone) == 0;
        first_keeps  <= keeps;
        first_closes <= closes;
      end
      if (first_goes) not_gone <= 0;
      if (first_ends) not_ended <= 0;
      if (first_goes && dp_opcode != Write || fetch_valid && fetch_tag == first) no_data <= 0;
      if (accepts && tag == later) begin
        later_order <= order;
        later_class <= class_;
        not_gone <= there[first] && !gone[first] && !first_goes;
        not_ended <= there[first] && !first_ends;
        no_data <= there[first] && !first_ends &&
            (gone[first] ? empty[first] && !(fetch_valid && fetch_tag == first) : !(first_goes && dp_opcode != Write));
        after_barrier <= first_closes && (keeps || closes) || first_keeps && closes;
      end
      if (goes && dp_tag[1:0] == later) begin
        if (first_order == Head) a_not_before_a_head_of_queue : assert (!not_gone);
        if (first_order == Ordered && later_order != Head) a_not_beside_an_ordered_one : assert (!not_ended);
        if (later_order == Ordered) a_ordered_after_all : assert (!not_ended);
        if (only_reads && first_alone && first_class == Urgent)
          a_urgent_first : assert (later_class == Urgent || !not_gone);
        if (only_reads) c_urgent_passes : cover (not_gone && first_class == Low && later_class == Urgent);
        if (dp_class != later_class) c_lifted : cover (later_class == Low && dp_class == Urgent);
        a_own_class : assert (dp_rank >= rank(later_class));
        if (only_reads) a_not_lifted : assert (dp_class == later_class);
        if (after_barrier) a_not_before_a_barrier : assert (!no_data);
        c_passes : cover (not_gone && first_order == Simple);
        c_head_passes_ordered : cover (not_gone && first_order == Ordered && later_order == Head);
      end
    end

  // progress: while somebody waits and the data path has nothing, one goes or ends
  reg [4:0] still = 0;
  reg one_class = 1;  // nobody is lifted: who is lifted while its class is chosen is chosen once more
  wire free = takes && dp_ready && cpl_ready && (there & gone & ~answered) == 0;  // so all have their data
  always @(posedge clk)
    if (!reset) begin
      still <= there != 0 && free && !goes && !ends ? still + 1 : 0;
      if (accepts && class_ != 0) one_class <= 0;
      a_progress : assert (!one_class || still < 19);
      c_all_there : cover (there == 7 && gone == 0);
      c_used_again : cover (accepts && answered[tag] && first_order == Head);
    end
endmodule

`default_nettype wire
