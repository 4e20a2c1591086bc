// SPDX-License-Identifier: Apache-2.0
// What otx_completion_queues promises of one queue, whichever it is, and of each end: formal/completion_queues.sby.
//
// The queue is set once, with two or three entries, at page 5, where no other queue is. A place in it is taken when
// there is room, two clocks or more after the last one; an end of its commands has one. The host takes what is there.
`default_nettype none

module completion_queues_props (
    input wire clk,
    input wire reset,
    input wire bell_valid,
    input wire [8:0] bell_queue,
    input wire [15:0] bell_value,
    input wire set_valid,
    input wire [3:0] set_queue,
    input wire [51:0] set_page,
    input wire [9:0] set_size,
    input wire set_interrupts,
    input wire take_valid,
    input wire ends_valid,
    input wire [4:0] ends_slot,
    input wire [14:0] ends_status,
    input wire [3:0] owner_cq,
    input wire admin_valid,
    input wire write_ready,
    input wire data_ready
);
  (* anyconst *)wire [3:0] queue;
  (* anyconst *)wire [9:0] size;
  wire set_ready, room, ends_ready, admin_ready, write_valid, data_valid, data_last, freed_valid, notice_valid;
  wire [63:0] address, data;
  wire [4:0] freed;

  otx_completion_queues dut (
      .clk(clk),
      .reset(reset),
      .bell_valid(bell_valid),
      .bell_payload_queue(bell_queue),
      .bell_payload_value(bell_value),
      .set_valid(set_valid),
      .set_ready(set_ready),
      .set_payload_queue(set_queue),
      .set_payload_completes(1'b1),
      .set_payload_valid(1'b1),
      .set_payload_base({set_page, 12'd0}),
      .set_payload_size(set_size),
      .set_payload_cq(4'd0),
      .set_payload_priority(2'd0),
      .set_payload_vector(4'd0),
      .set_payload_interrupts(set_interrupts),
      .stop(1'b0),
      .ask(queue),
      .room(room),
      .take_valid(take_valid),
      .take_payload(queue),
      .ends_valid(ends_valid),
      .ends_ready(ends_ready),
      .ends_payload_slot(ends_slot),
      .ends_payload_status(ends_status),
      .ends_payload_dw0(32'd0),
      .owner_queue(4'd1),
      .owner_cq(owner_cq),
      .owner_cid(16'd0),
      .admin_valid(admin_valid),
      .admin_ready(admin_ready),
      .admin_payload_dw0(32'd0),
      .admin_payload_dw1(32'd0),
      .admin_payload_status(15'd0),
      .admin_payload_cid(16'd0),
      .head(10'd0),
      .write_valid(write_valid),
      .write_ready(write_ready),
      .write_payload_address(address),
      .data_valid(data_valid),
      .data_ready(data_ready),
      .data_payload_data(data),
      .data_payload_last(data_last),
      .freed_valid(freed_valid),
      .freed_payload(freed),
      .notice_valid(notice_valid)
  );

  reg started = 0, there = 0, waits = 0, ends_wait = 0, admin_waits = 0, phase = 1, mine = 0;
  reg [9:0] tail = 0, head = 0;
  reg [3:0] was_queue = 0, was_cq = 0;
  reg [51:0] was_page = 0;
  reg [ 9:0] was_size = 0;
  reg [ 4:0] was_slot = 0;
  reg [ 3:0] taken = 0;  // places that have no CQE yet
  reg [1:0] pause = 0, wrote = 0;  // CQEs since the last end
  function automatic [9:0] from_to(input [9:0] a, input [9:0] b);
    from_to = b >= a ? b - a : b + size + 1 - a;
  endfunction
  wire sets = set_valid && set_ready && set_queue == queue;
  wire bell = bell_valid && bell_queue == queue && there && bell_value <= size;
  wire writes = write_valid && write_ready;
  wire here = address[63:12] == 52'd5;
  wire ends = ends_valid && ends_ready;
  wire [9:0] after = tail == size ? 10'd0 : tail + 10'd1;

  always @* begin
    assume (started || reset);
    assume (!started || !reset);
    assume (queue >= 1 && queue <= 8 && size >= 1 && size <= 2);
    if (set_valid) assume (set_queue <= 8 && (set_queue == queue) == (set_page == 5));
    if (set_valid && set_queue == queue) assume (!there && set_size == size);
    if (waits) assume (set_valid && set_queue == was_queue && set_page == was_page && set_size == was_size);
    if (take_valid) assume (there && room && pause == 0);
    if (ends_valid) assume (owner_cq >= 1 && owner_cq <= 8);
    if (ends_valid && owner_cq == queue) assume (taken != 0);
    if (ends_wait) assume (ends_valid && ends_slot == was_slot && owner_cq == was_cq);
    if (admin_waits) assume (admin_valid);
    if (bell) assume (from_to(head, bell_value[9:0]) <= from_to(head, tail));
  end

  always @(posedge clk) begin
    started <= 1;
    waits <= !reset && set_valid && !set_ready;
    ends_wait <= !reset && ends_valid && !ends_ready;
    admin_waits <= !reset && admin_valid && !admin_ready;
    {was_queue, was_page, was_size, was_slot, was_cq} <= {set_queue, set_page, set_size, ends_slot, owner_cq};
    pause <= take_valid ? 2'd3 : pause == 0 ? 2'd0 : pause - 2'd1;
    taken <= taken + take_valid - (ends && owner_cq == queue);
    if (sets) there <= 1;
    if (bell) head <= bell_value[9:0];
    if (writes) mine <= here;
    if (data_valid && data_ready && data_last && mine) begin
      tail  <= after;
      phase <= phase ^ (after == 0);
    end
    wrote <= ends || admin_valid && admin_ready ? 0 : wrote + writes;
    if (reset) begin
      {there, tail, head, taken, pause, wrote, mine} <= 0;
      phase <= 1;
    end
    if (started && !reset) begin
      if (writes && here) begin
        a_next_place : assert (there && address[11:4] == tail[7:0] && address[3:0] == 0);
        a_not_over_what_the_host_has_not_taken : assert (after != head);
      end
      if (data_valid && data_last && mine) a_phase : assert (data[48] == phase);
      a_freed_with_its_end : assert (freed_valid == ends && (!ends || freed == ends_slot));
      if (ends) a_one_cqe : assert (wrote == (there && owner_cq == queue ? 2'd1 : wrote) && wrote <= 1);
    end
  end
endmodule

`default_nettype wire
