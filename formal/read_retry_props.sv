// SPDX-License-Identifier: Apache-2.0
// Proof of the read retry of a channel of two ways, each with two slots: between any channel, which ends what it has
// under way in any order and with any status, and any queues.
// Each op ends once, as itself; what is sent finds its way empty and stays alone there; a way that is given back is at
// read level 0.
`default_nettype none

module read_retry_props (
    input wire       clk,
    input wire       offer,       // the queues offer an op to a way
    input wire       offer_way,
    input wire       take,        // the channel takes a command
    input wire       at,          // and, of an empty way, its slot
    input wire [2:0] op,          // READ_OOB is 4, others stand for themselves
    input wire [1:0] cookie,
    input wire       ends,        // a command under way ends
    input wire       ends_way,
    input wire       ends_slot,
    input wire [2:0] ends_status
);
  localparam [2:0] Crc = otx_facts_pkg::PageCrc;
  (* anyconst *) wire [2:0] levels;
  reg reset = 1'b1;
  always @(posedge clk) reset <= 1'b0;

  wire again, mine, halt, ask_owner, busy, owner_slot, cmd_valid, cmd_reads;
  wire [3:0] owner_way, cmd_way, op_op;
  wire [ 2:0] cmd_level;
  wire [15:0] op_cookie;
  wire [ 1:0] blocked;

  // What is under way: by way, then slot
  reg [1:0] busy_0 = 0, busy_1 = 0;  // of way 0, 1
  reg [1:0] retry = 0;  // of a way: a command of the retry
  reg       reads = 0;  // and that is the op again
  reg [1:0] cookies                                        [0:3];
  reg [2:0] ops                                            [0:3];
  reg [2:0] level_0 = 0, level_1 = 0, setting = 0;

  wire [1:0] idle = {busy_1 == 0, busy_0 == 0};
  wire ended = ends && !ask_owner;
  wire [1:0] owner_at = ask_owner ? {owner_way[0], owner_slot} : {ends_way, ends_slot};

  otx_read_retry dut (
      .clk(clk),
      .reset(reset),
      .levels(levels),
      .wayIdle(idle),
      .issueWay({3'd0, offer_way}),
      .ended_valid(ended),
      .ended_payload_way({3'd0, ends_way}),
      .ended_payload_slot(ends_slot),
      .ended_payload_status(ends_status),
      .owner_source(2'd0),
      .owner_cookie({14'd0, cookies[owner_at]}),
      .owner_ppn(12'd0),
      .owner_op({1'b0, ops[owner_at]}),
      .owner_frame(16'd0),
      .again(again),
      .mine(mine),
      .halt(halt),
      .askOwner(ask_owner),
      .busy(busy),
      .ownerWay(owner_way),
      .ownerSlot(owner_slot),
      .blocked(blocked),
      .cmd_valid(cmd_valid),
      .cmd_ready(take),
      .cmd_payload_way(cmd_way),
      .cmd_payload_level(cmd_level),
      .cmd_payload_reads(cmd_reads),
      .op_source(),
      .op_cookie(op_cookie),
      .op_ppn(),
      .op_op(op_op),
      .op_frame()
  );

  wire [1:0] there = ends_way ? busy_1 : busy_0;
  wire [1:0] room = offer_way ? busy_1 : busy_0;
  wire issues = offer && take && !halt && room != 2'b11;
  wire slot = room == 0 ? at : room[0];
  wire sent = cmd_valid && take;

  always @(*) begin
    if (reset) assume (!offer && !ends && !take);
    if (ends) assume (there[ends_slot]);
  end

  always @(posedge clk) begin
    if (issues) begin
      cookies[{offer_way, slot}] <= cookie;
      ops[{offer_way, slot}] <= op;
    end
    busy_0 <= (busy_0 | (issues && !offer_way ? 2'b01 << slot : 2'b00) |
               (sent && !cmd_way[0] ? 2'b01 << at : 2'b00)) & ~(ended && !ends_way ? 2'b01 << ends_slot : 2'b00);
    busy_1 <= (busy_1 | (issues && offer_way ? 2'b01 << slot : 2'b00) |
               (sent && cmd_way[0] ? 2'b01 << at : 2'b00)) & ~(ended && ends_way ? 2'b01 << ends_slot : 2'b00);
    if (sent) begin
      retry[cmd_way[0]] <= 1'b1;
      reads <= cmd_reads;
      setting <= cmd_level;
    end
    if (ended && retry[ends_way]) begin
      retry[ends_way] <= 1'b0;
      if (!reads && !ends_way) level_0 <= setting;
      if (!reads && ends_way) level_1 <= setting;
    end
  end

  // one op of the queues, chosen freely, from when it goes to the channel to its end
  (* anyconst *) wire [1:0] which;
  reg lives = 0, dead = 0;
  wire [1:0] whose = mine ? op_cookie[1:0] : cookies[{ends_way, ends_slot}];
  wire end_of_op = ended && !again;
  always @(*) if (issues && cookie == which) assume (!lives && !dead);

  always @(posedge clk)
    if (!reset) begin
      if (issues && cookie == which) lives <= 1'b1;
      if (end_of_op && whose == which) begin
        assert (lives);
        lives <= 1'b0;
        dead  <= 1'b1;
      end
      // alone in its way
      if (cmd_valid) assert (idle[cmd_way[0]] && cmd_way < 2);
      if (cmd_valid) assert (blocked[cmd_way[0]]);
      if (issues) assert (!retry[offer_way] && !cmd_valid);
      if (retry[0] && retry[1]) assert (0);
      // a completion of the retry is told from one of the queues
      if (ended) assert (mine == retry[ends_way]);
      if (ended && again && !mine)
        assert (ends_status == Crc && levels != 0 && ops[{ends_way, ends_slot}] >= 3 &&
                ops[{ends_way, ends_slot}] <= 5);
      if (ended && mine && !reads) assert (again);
      if (ended && mine && reads) assert (again == (ends_status == Crc && (ends_way ? level_1 : level_0) < levels));
      // levels
      if (cmd_valid) assert (cmd_reads || cmd_level <= levels);
      if (cmd_valid && cmd_reads) assert ((cmd_way[0] ? level_1 : level_0) != 0 && op_op >= 3 && op_op <= 5);
      if (!blocked[0]) assert (level_0 == 0);
      if (!blocked[1]) assert (level_1 == 0);
      assert (busy == (blocked != 0));
      cover (dead && end_of_op && mine && ends_status == 0 && whose != which && levels == 1);
      cover (dead && levels == 3 && $past(end_of_op && mine && ends_status == Crc && whose == which));
    end

  // a way that is given back has no op that waits to be read again: nothing of it is under way and it lives no more
  reg [1:0] where = 0;
  always @(posedge clk) begin
    if (issues && cookie == which) where <= {offer_way, slot};
    if (!reset && lives && !blocked[where[1]]) assert (where[1] ? busy_1[where[0]] : busy_0[where[0]]);
  end
endmodule

`default_nettype wire
