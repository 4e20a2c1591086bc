// SPDX-License-Identifier: Apache-2.0
// The ends of the commands of one slot, whichever it is: see formal/command_flow.sby.
//
// A slot has one command from `command` to its `end`; what it is is free. The core completes each command that it was
// given once, with any status, when it likes; lists and ranges come when they like, with any contents.
`default_nettype none

module command_flow_props (
    input wire clk,
    input wire reset,
    input wire command_valid,
    input wire [10:0] status,
    input wire [7:0] opcode,
    input wire [31:0] lba,
    input wire [1:0] order,
    input wire barrier,
    input wire [4:0] tag,
    input wire [2:0] kind,
    input wire [2:0] form,
    input wire [16:0] blocks,
    input wire [63:0] prp2,
    input wire [5:0] pages,
    input wire killing,
    input wire list_ready,
    input wire list_valid,
    input wire [63:0] list_data,
    input wire list_last,
    input wire list_error,
    input wire range_ready,
    input wire ranges_valid,
    input wire [63:0] ranges_data,
    input wire ranges_error,
    input wire cmd_ready,
    input wire cpl_valid,
    input wire [4:0] cpl_tag,
    input wire [3:0] cpl_status,
    input wire compares,
    input wire differs,
    input wire unread,
    input wire end_ready
);
  (* anyconst *) wire [4:0] slot;
  wire command_ready, cmd_valid, cpl_ready, end_valid;
  wire [7:0] cmd_tag;
  wire [4:0] end_slot;
  wire parts = form[0], flushes = form[1], nothing = form[2];

  otx_command_flow dut (
      .clk(clk),
      .reset(reset),
      .command_valid(command_valid),
      .command_ready(command_ready),
      .command_payload_owner_queue(4'd1),
      .command_payload_owner_cq(4'd1),
      .command_payload_owner_cid(16'd0),
      .command_payload_status(status),
      .command_payload_cmd_opcode(opcode),
      .command_payload_cmd_lba(lba),
      .command_payload_cmd_count(16'd1),
      .command_payload_cmd_txid(8'd0),
      .command_payload_cmd_hasTx(1'b0),
      .command_payload_cmd_fua(1'b0),
      .command_payload_cmd_commit(1'b0),
      .command_payload_cmd_relaxed(1'b0),
      .command_payload_cmd_barrier(barrier),
      .command_payload_cmd_orderless(1'b0),
      .command_payload_cmd_order(order),
      .command_payload_cmd_priority(2'd0),
      .command_payload_cmd_stream(16'd0),
      .command_payload_cmd_tag({3'd0, tag}),
      .command_payload_cmd_arg(32'd0),
      .command_payload_kind(kind),
      .command_payload_parts(parts),
      .command_payload_flushes(flushes),
      .command_payload_nothing(nothing),
      .command_payload_blocks(blocks),
      .command_payload_prp1(64'd0),
      .command_payload_prp2(prp2),
      .command_payload_pages(pages),
      .killing(killing),
      .listRead_ready(list_ready),
      .listData_valid(list_valid),
      .listData_payload_data(list_data),
      .listData_payload_last(list_last),
      .listData_payload_error(list_error),
      .range_ready(range_ready),
      .ranges_valid(ranges_valid),
      .ranges_payload_data(ranges_data),
      .ranges_payload_last(1'b0),
      .ranges_payload_error(ranges_error),
      .cmd_valid(cmd_valid),
      .cmd_ready(cmd_ready),
      .cmd_payload_tag(cmd_tag),
      .cpl_valid(cpl_valid),
      .cpl_ready(cpl_ready),
      .cpl_payload_tag({3'd0, cpl_tag}),
      .cpl_payload_status(cpl_status),
      .cpl_payload_result(32'd0),
      .compares(compares),
      .differs(differs),
      .unread(unread),
      .end_valid(end_valid),
      .end_ready(end_ready),
      .end_payload_slot(end_slot)
  );

  reg started = 0, open = 0;  // a command of the slot is under way
  reg command_waits = 0, cpl_waits = 0, killed = 0;
  reg [127:0] was = 0;
  reg [8:0] was_cpl = 0;
  reg [31:0] others = 0;  // slots whose commands the core has
  wire [127:0] now = {status, opcode, lba, order, barrier, tag, kind, form, blocks, prp2[31:0], pages};
  wire comes = command_valid && tag == slot && !open;
  wire goes = cmd_valid && cmd_ready;
  wire ends = end_valid && end_ready && end_slot == slot;
  wire done = cpl_valid && cpl_ready;

  always @* begin
    assume (started || reset);
    assume (!started || !reset);
    if (command_valid && tag == slot) assume (!open || command_waits);
    if (command_waits) assume (command_valid && was == now);
    if (command_valid) assume (blocks != 0 && blocks <= 17'd65536 && pages <= 33);
    if (command_valid && kind == 4) assume (blocks <= 256 && parts && !flushes);  // a list of ranges
    if (command_valid && kind != 4 && parts) assume (kind == 0 && blocks > 32 && !flushes);
    if (command_valid && flushes) assume (kind == 2 && blocks <= 32);
    if (cpl_valid) assume (others[cpl_tag]);
    if (cpl_waits) assume (cpl_valid && was_cpl == {cpl_tag, cpl_status});
    if (killed) assume (killing);
  end

  always @(posedge clk) begin
    started <= 1;
    killed <= !reset && killing;
    command_waits <= !reset && command_valid && !command_ready;
    cpl_waits <= !reset && cpl_valid && !cpl_ready;
    was <= now;
    was_cpl <= {cpl_tag, cpl_status};
    if (comes) open <= 1;
    if (ends) open <= 0;
    others <= (others | ({31'd0, goes} << cmd_tag[4:0])) & ~({31'd0, done} << cpl_tag);
    asked  <= !open && !comes ? 0 : asked + (goes && cmd_tag[4:0] == slot && asked != 3);
    ranged <= (open || comes) && (ranged || range_valid && range_slot == slot);
    if (reset) {open, others} <= 0;
    if (started && !reset) begin
      if (end_valid && end_slot == slot) begin
        a_one_end : assert (open);
        a_not_while_the_core_has_it : assert (!others[slot]);
        a_it_was_taken : assert (!command_waits || tag != slot);
      end
      if (goes && cmd_tag[4:0] == slot) a_asked_for : assert (open && !others[slot]);
    end
  end
endmodule

`default_nettype wire
