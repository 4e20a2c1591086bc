// SPDX-License-Identifier: Apache-2.0
// Proof of the write frame pool with 2 frames: `free` gives a frame only when nobody fills, programs, saves or reads
// it, and a SWAP comes only for one that is programmed. Around it stand the executor, the write buffer, flash, the
// engine, the rescue and readers, who do anything that the contract lets them do.
`default_nettype none

module write_frame_pool_props (
    input wire clk,
    input wire free_ready,
    input wire give_valid,
    input wire give,
    input wire unpin_valid,
    input wire unpin,
    input wire pin_valid,
    input wire pin,
    input wire describe_valid,
    input wire describe,
    input wire done_valid,
    input wire done,
    input wire done_bad,
    input wire op_ready,
    input wire rsp_valid,
    input wire [1:0] rsp_tag,
    input wire rsp_hit,
    input wire rsp_error,
    input wire failed_ready,
    input wire rescued_valid,
    input wire rescued,
    input wire rescued_ok,
    input wire rescued_keep,
    input wire report_ready
);
  reg reset = 1'b1;
  always @(posedge clk) reset <= 1'b0;

  wire free_valid, give_ready, unpin_ready, done_ready, op_valid, rsp_ready, failed_valid, rescued_ready;
  wire [15:0] free_frame, failed_frame;
  wire [29:0] op_frame;
  wire [ 7:0] op_tag;
  otx_write_frame_pool_2 dut (
      .clk(clk),
      .reset(reset),
      .free_valid(free_valid),
      .free_ready(free_ready),
      .free_payload(free_frame),
      .giveBack_valid(give_valid),
      .giveBack_ready(give_ready),
      .giveBack_payload({15'd0, give}),
      .unpin_valid(unpin_valid),
      .unpin_ready(unpin_ready),
      .unpin_payload({15'd0, unpin}),
      .pin_valid(pin_valid),
      .pin_payload({15'd0, pin}),
      .describe_valid(describe_valid),
      .describe_payload_frame({15'd0, describe}),
      .describe_payload_lpn(32'd0),
      .describe_payload_ppn(30'd0),
      .describe_payload_index(48'd0),
      .describe_payload_hasTx(1'b0),
      .describe_payload_txid(5'd0),
      .writeDone_valid(done_valid),
      .writeDone_ready(done_ready),
      .writeDone_payload_cookie({15'd0, done}),
      .writeDone_payload_status(done_bad ? 3'd1 : 3'd0),
      .writeDone_payload_kind(8'd1),
      .writeDone_payload_generation(32'd0),
      .writeDone_payload_lpn(32'd0),
      .writeDone_payload_sequence(48'd0),
      .op_valid(op_valid),
      .op_ready(op_ready),
      .op_payload_location_value(op_frame),
      .op_payload_tag(op_tag),
      .rsp_valid(rsp_valid),
      .rsp_ready(rsp_ready),
      .rsp_payload_tag({6'd0, rsp_tag}),
      .rsp_payload_location_value(30'd0),
      .rsp_payload_location_kind(2'd0),
      .rsp_payload_own(1'b0),
      .rsp_payload_committing(1'b0),
      .rsp_payload_hit(rsp_hit),
      .rsp_payload_error(rsp_error),
      .failed_valid(failed_valid),
      .failed_ready(failed_ready),
      .failed_payload_frame(failed_frame),
      .rescued_valid(rescued_valid),
      .rescued_ready(rescued_ready),
      .rescued_payload_page_frame({15'd0, rescued}),
      .rescued_payload_page_lpn(32'd0),
      .rescued_payload_page_ppn(30'd0),
      .rescued_payload_page_index(48'd0),
      .rescued_payload_page_hasTx(1'b0),
      .rescued_payload_page_txid(5'd0),
      .rescued_payload_ok(rescued_ok),
      .rescued_payload_keep(rescued_keep),
      .pageDone_ready(report_ready),
      .dead_ready(1'b1)
  );

  // by frame: taken and not ended; its program is described, under way and not ended, ended well, with the rescue;
  // its SWAP is sent
  reg [1:0] held = 0, described = 0, programmed = 0, whole = 0, saved = 0, swapping = 0;
  reg [1:0] pins[2];
  reg [3:0] sent = 0;  // by tag
  reg [3:0] frame_of = 0;
  initial pins[0] = 0;
  initial pins[1] = 0;
  wire ends_swap = rsp_valid && rsp_ready && !rsp_error;
  wire ends_save = rescued_valid && rescued_ready && rescued_ok && !rescued_keep;
  wire swap_frame = frame_of[rsp_tag];

  // streams stay as they are until they are taken
  reg [5:0] waits = 0;
  reg was_give, was_unpin, was_done, was_bad, was_hit, was_error, was_rescued, was_ok, was_keep;
  reg [1:0] was_tag;
  always @(posedge clk) begin
    waits <= reset ? 6'd0 : {give_valid && !give_ready, unpin_valid && !unpin_ready, done_valid && !done_ready,
                             rsp_valid && !rsp_ready, rescued_valid && !rescued_ready, 1'b0};
    {was_give, was_unpin, was_done, was_bad} <= {give, unpin, done, done_bad};
    {was_tag, was_hit, was_error} <= {rsp_tag, rsp_hit, rsp_error};
    {was_rescued, was_ok, was_keep} <= {rescued, rescued_ok, rescued_keep};
  end

  always @(*) begin
    if (reset)
      assume (!give_valid && !unpin_valid && !pin_valid && !describe_valid && !done_valid && !rsp_valid &&
              !rescued_valid);
    if (waits[5]) assume (give_valid && give == was_give);
    if (waits[4]) assume (unpin_valid && unpin == was_unpin);
    if (waits[3]) assume (done_valid && done == was_done && done_bad == was_bad);
    if (waits[2]) assume (rsp_valid && rsp_tag == was_tag && rsp_hit == was_hit && rsp_error == was_error);
    if (waits[1]) assume (rescued_valid && rescued == was_rescued && rescued_ok == was_ok && rescued_keep == was_keep);
    if (give_valid) assume (held[give] && !described[give]);
    if (describe_valid) assume (held[describe] && !described[describe] && !(give_valid && give == describe));
    if (done_valid) assume (programmed[done]);
    if (rsp_valid) assume (sent[rsp_tag]);
    if (rescued_valid) assume (saved[rescued]);
    if (unpin_valid) assume (pins[unpin] != 0);
    if (pin_valid) begin
      assume (held[pin] && pins[pin] != 2 && !(give_valid && give == pin));
      assume (!(rsp_valid && swap_frame == pin) && !(rescued_valid && rescued == pin));
    end
  end

  always @(posedge clk)
    if (!reset) begin
      if (free_valid && free_ready) begin
        assert (free_frame < 2 && !held[free_frame[0]] && pins[free_frame[0]] == 0);
        held[free_frame[0]] <= 1'b1;
      end
      if (give_valid && give_ready) held[give] <= 1'b0;
      if (describe_valid) begin
        described[describe]  <= 1'b1;
        programmed[describe] <= 1'b1;
      end
      if (done_valid && done_ready) begin
        programmed[done] <= 1'b0;
        if (!done_bad) whole[done] <= 1'b1;
      end
      if (op_valid)
        assert (op_frame < 2 && (whole[op_frame[0]] || done_valid && done == op_frame[0]) && !swapping[op_frame[0]] &&
                !sent[op_tag[1:0]]);
      if (op_valid && op_ready) begin
        whole[op_frame[0]] <= 1'b0;
        swapping[op_frame[0]] <= 1'b1;
        sent[op_tag[1:0]] <= 1'b1;
        frame_of[op_tag[1:0]] <= op_frame[0];
      end
      if (rsp_valid && rsp_ready) sent[rsp_tag] <= 1'b0;
      if (ends_swap) begin
        held[swap_frame] <= 1'b0;
        described[swap_frame] <= 1'b0;
        swapping[swap_frame] <= 1'b0;
      end
      if (failed_valid && failed_ready) begin
        assert (held[failed_frame[0]] && described[failed_frame[0]] && !programmed[failed_frame[0]]);
        saved[failed_frame[0]] <= 1'b1;
      end
      if (rescued_valid && rescued_ready) saved[rescued] <= 1'b0;
      if (ends_save) begin
        held[rescued] <= 1'b0;
        described[rescued] <= 1'b0;
      end
      pins[0] <= pins[0] + (pin_valid && !pin) - (unpin_valid && unpin_ready && !unpin);
      pins[1] <= pins[1] + (pin_valid && pin) - (unpin_valid && unpin_ready && unpin);
    end

  // a frame goes round, read across its SWAP; another one is saved meanwhile
  reg swapped = 0, again = 0, rescue = 0;
  always @(posedge clk)
    if (!reset) begin
      if (ends_swap && pins[swap_frame] != 0) swapped <= 1'b1;
      if (swapped && free_valid && free_ready) again <= 1'b1;
      if (ends_save) rescue <= 1'b1;
      cover (again);
      cover (rescue && swapped);
    end
endmodule

`default_nettype wire
