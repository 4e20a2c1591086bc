// SPDX-License-Identifier: Apache-2.0
// What otx_submission_queues promises of one I/O queue, whichever it is: see formal/submission_queues.sby.
//
// The queue is set once, with two or three entries, at address 0. Its tail moves forward, and never over what was not
// fetched; doorbells and settings of other queues are free, and doorbells with values that are too large. There is a
// place in the completion queue or there is none; one comes with `moved` only.
`default_nettype none

module submission_queues_props (
    input wire clk,
    input wire reset,
    input wire bell_valid,
    input wire [8:0] bell_queue,
    input wire [15:0] bell_value,
    input wire set_valid,
    input wire [3:0] set_queue,
    input wire [63:0] set_base,
    input wire [9:0] set_size,
    input wire [3:0] set_cq,
    input wire [1:0] set_priority,
    input wire weighted,
    input wire [31:0] arbitration,
    input wire moved,
    input wire fills,
    input wire slot_valid,
    input wire read_ready,
    input wire fetched_ready,
    input wire arrived_valid,
    input wire [3:0] arrived_queue,
    input wire ended_valid,
    input wire [3:0] ended_queue
);
  (* anyconst *)wire [3:0] queue;
  (* anyconst *)wire [9:0] size;
  wire [1:0] wrong;
  wire set_ready, read_valid, fetched_valid;
  wire [63:0] address;
  wire [ 3:0] fetched_queue;
  wire [ 9:0] next;
  reg full = 0, room = 0;

  otx_submission_queues dut (
      .clk(clk),
      .reset(reset),
      .bell_valid(bell_valid),
      .bell_payload_queue(bell_queue),
      .bell_payload_value(bell_value),
      .wrong(wrong),
      .set_valid(set_valid),
      .set_ready(set_ready),
      .set_payload_queue(set_queue),
      .set_payload_completes(1'b0),
      .set_payload_valid(1'b1),
      .set_payload_base(set_base),
      .set_payload_size(set_size),
      .set_payload_cq(set_cq),
      .set_payload_priority(set_priority),
      .set_payload_vector(4'd0),
      .set_payload_interrupts(1'b0),
      .stop(1'b0),
      .weighted(weighted),
      .arbitration(arbitration),
      .adminFree(1'b1),
      .room(room),
      .moved(moved),
      .slot_valid(slot_valid),
      .slot_payload(5'd0),
      .read_valid(read_valid),
      .read_ready(read_ready),
      .read_payload_address(address),
      .fetched_valid(fetched_valid),
      .fetched_ready(fetched_ready),
      .fetched_payload_queue(fetched_queue),
      .fetched_payload_next(next),
      .arrived_valid(arrived_valid),
      .arrived_payload_queue(arrived_queue),
      .arrived_payload_cq(4'd0),
      .arrived_payload_slot(5'd0),
      .arrived_payload_next(10'd0),
      .arrived_payload_priority(2'd0),
      .headOf(4'd0),
      .ended_valid(ended_valid),
      .ended_payload(ended_queue)
  );

  // the host's side
  reg started = 0, there = 0, waits = 0;
  reg [9:0] tail = 0, point = 0;
  reg [3:0] was_queue = 0;
  function automatic [9:0] from_to(input [9:0] a, input [9:0] b);
    from_to = b >= a ? b - a : b + size + 1 - a;
  endfunction
  wire sets = set_valid && set_ready && set_queue == queue;
  wire bell = bell_valid && bell_queue == queue && there && bell_value <= size;
  wire fetch = fetched_valid && fetched_queue == queue;
  wire [9:0] after = point == size ? 10'd0 : point + 10'd1;
  wire ready = room && !full && !moved && slot_valid && read_ready && fetched_ready && !set_valid;
  reg [4:0] owed = 0;  // clocks in which nothing was missing

  always @* begin
    assume (started || reset);
    assume (!started || !reset);
    assume (queue >= 1 && queue <= 8 && size >= 1 && size <= 2);
    assume (!set_valid || set_queue <= 8);
    if (set_valid && set_queue == queue) assume (!there && set_size == size && set_base == 0);
    if (waits) assume (set_valid && set_queue == was_queue);
    if (bell) assume (from_to(point, bell_value[9:0]) >= from_to(point, tail));
    assume (!arrived_valid || arrived_queue <= 8);
    assume (!ended_valid || ended_queue <= 8);
`ifdef ALONE
    assume (!set_valid || set_queue == queue);
    assume (!arrived_valid && !ended_valid && weighted == 0);
`endif
  end

  always @(posedge clk) begin
    started <= 1;
    waits <= !reset && set_valid && !set_ready;
    was_queue <= set_queue;
    full <= !reset && (moved ? fills : full || fills);
    room <= !full;
    if (sets) there <= 1;
    if (bell) tail <= bell_value[9:0];
    if (fetch) point <= after;
    owed <= there && tail != point && ready && !fetch ? owed + 5'd1 : 5'd0;
    if (reset) {there, tail, point, owed} <= 0;
    if (started && !reset) begin
      if (fetch) begin
        a_shown : assert (there && tail != point);
        a_in_order : assert (next == after && address == {48'd0, point, 6'd0});
      end
      if (bell) a_right : assert (wrong == 0);
      if (bell_valid && bell_queue == queue && !bell) a_wrong : assert (wrong != 0);
      a_one : assert (fetched_valid == (read_valid && read_ready));
`ifdef ALONE
      a_not_lost : assert (owed < 12);
`endif
      c_wraps : cover (fetch && there && point == 0 && size == 1 && tail == 1 && $past(there, 20));
    end
  end
endmodule

`default_nettype wire
