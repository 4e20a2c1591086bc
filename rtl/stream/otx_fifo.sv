// SPDX-License-Identifier: Apache-2.0
// Queue of beats in a small memory that answers in the same clock (distributed memory on an FPGA).
//
// A beat of `up` is on offer at `down` from the next clock on, in order; one beat per clock in and out. `up_ready` is
// high while less than Depth beats are held; no output depends on an input in the same clock. Keep `up_valid` low while
// `reset` is high; reset drops what it holds.

`default_nettype none

module otx_fifo #(
    parameter int Width = 8,
    parameter int Depth = 8   // a power of two, 2 or more
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
  localparam int Bits = $clog2(Depth);

  if (Depth < 2 || Depth != 1 << Bits) begin : g_check_depth
    $fatal(1, "otx_fifo: Depth must be a power of two, 2 or more");
  end

  logic [Width-1:0] beats[Depth];
  logic [Bits:0] in_q, out_q;  // beats that came and left, modulo 2 * Depth

  assign up_ready = in_q != {!out_q[Bits], out_q[Bits-1:0]};
  assign down_valid = in_q != out_q;
  assign down_payload = beats[out_q[Bits-1:0]];

  always_ff @(posedge clk) begin
    if (up_valid && up_ready) begin
      beats[in_q[Bits-1:0]] <= up_payload;
      in_q <= in_q + 1'b1;
    end
    if (down_valid && down_ready) out_q <= out_q + 1'b1;
    if (reset) begin
      in_q  <= '0;
      out_q <= '0;
    end
  end

`ifdef FORMAL
  // Beat n carries n, see otx_skid.sv. Inductive.
  logic [Width-1:0] sent_q, taken_q;
  logic [Bits:0] held;
  assign held = in_q - out_q;
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
      assert (up_ready == (held != (Bits + 1)'(Depth)));
      // invariants: how many it holds, and which
      assert (held <= (Bits + 1)'(Depth) && sent_q == taken_q + Width'(held));
      for (int i = 0; i < Depth; i++)
      if ((Bits + 1)'(i) < held) assert (beats[out_q[Bits-1:0]+Bits'(i)] == taken_q + Width'(i));
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
  always_ff @(posedge clk) cover (!reset && !up_ready && taken_q == Width'(5));
`endif
endmodule

`default_nettype wire
