// SPDX-License-Identifier: Apache-2.0
// Stream register that cuts every path: no output depends on an input in the same clock.
//
// A beat of `up` leaves at `down` one clock later, in order; one beat per clock as long as `down_ready` stays high.
// Holds two beats: the second place takes the beat that was already on its way when `down_ready` fell. Keep `up_valid`
// low while `reset` is high; reset drops what it holds.

`default_nettype none

module otx_skid #(
    parameter int Width = 8  // bits of the payload, 1 or more
) (
    input  logic             clk,
    input  logic             reset,
    input  logic             up_valid,
    output logic             up_ready,
    input  logic [Width-1:0] up_payload,
    output logic             down_valid,
    input  logic             down_ready,
    output logic [Width-1:0] down_payload
);
  if (Width < 1) begin : gen_check
    $fatal(1, "Width must be 1 or more");
  end

  logic full_q;  // the second place is taken
  logic [Width-1:0] second_q;
  logic move;  // the first place is free or becomes free in this clock

  assign up_ready = !full_q;
  assign move = down_ready || !down_valid;

  always_ff @(posedge clk) begin
    if (move) begin
      down_valid <= full_q || up_valid;
      down_payload <= full_q ? second_q : up_payload;
      full_q <= 1'b0;
    end else if (up_valid && up_ready) begin
      full_q   <= 1'b1;
      second_q <= up_payload;
    end
    if (reset) begin
      down_valid <= 1'b0;
      full_q <= 1'b0;
    end
  end

`ifdef FORMAL
  // Beat n carries n: if the n-th beat that leaves carries n too, then none is lost, doubled, changed or out of order.
  logic [Width-1:0] sent_q, taken_q;  // beats that passed `up` and `down`
  always_ff @(posedge clk) begin
    sent_q  <= sent_q + Width'(up_valid && up_ready);
    taken_q <= taken_q + Width'(down_valid && down_ready);
    if (reset) begin
      sent_q  <= '0;
      taken_q <= '0;
    end
  end
  always_comb begin
    if (up_valid) assume (up_payload == sent_q);
    if (!reset) begin
      if (down_valid) assert (down_payload == taken_q);
      // invariants that make the proof inductive: how many it holds, and which
      assert (sent_q == taken_q + Width'(down_valid) + Width'(full_q));
      if (full_q) assert (down_valid && second_q == taken_q + Width'(1));
    end
  end

  check_stream #(
      .Width (Width),
      .Source(0)
  ) check_up (
      .clk,
      .reset,
      .valid  (up_valid),
      .ready  (up_ready),
      .payload(up_payload)
  );
  check_stream #(
      .Width (Width),
      .Source(1)
  ) check_down (
      .clk,
      .reset,
      .valid  (down_valid),
      .ready  (down_ready),
      .payload(down_payload)
  );
  always_ff @(posedge clk) cover (!reset && full_q && taken_q == Width'(5));
`endif
endmodule

`default_nettype wire
