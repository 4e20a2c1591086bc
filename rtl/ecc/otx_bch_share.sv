// SPDX-License-Identifier: Apache-2.0
// Lets several decoders ask one otx_bch_kes: one word at a time, in turn.
//
// A decoder that asks keeps the key equation from the first beat of its request to the last of its answer. Among those
// that ask the next after the last one served is taken, one clock after the one before has ended. Bit i of the `up`
// side is decoder i; all see the same answer beats, which do not wait, and `up_rsp_valid` tells whose they are. Reset
// forgets who is served; decoders and key equation must be reset with it.

`default_nettype none

module otx_bch_share #(
    parameter int M     = 13,
    parameter int Users = 2    // 2 to 16
) (
    input  logic               clk,
    input  logic               reset,
    input  logic [  Users-1:0] up_req_valid,
    output logic [  Users-1:0] up_req_ready,
    input  logic [Users*M-1:0] up_req_syndrome,
    input  logic [  Users-1:0] up_req_last,
    output logic [  Users-1:0] up_rsp_valid,
    output logic               req_valid,
    input  logic               req_ready,
    output logic [      M-1:0] req_syndrome,
    input  logic               rsp_valid,
    input  logic               rsp_last
);
  localparam int Bits = $clog2(Users);

  if (Users < 2 || Users > 16) begin : g_check_users
    $fatal(1, "otx_bch_share: Users must be 2 to 16");
  end

  logic [Bits-1:0] who_q, pick;
  logic serves_q, asks_q;  // somebody is served; its request has beats to come

  // The lowest that asks, or the lowest above the last one if there is such.
  always_comb begin
    pick = who_q;
    for (int i = Users - 1; i >= 0; i--) if (up_req_valid[i]) pick = Bits'(i);
    for (int i = Users - 1; i >= 0; i--) if (up_req_valid[i] && Bits'(i) > who_q) pick = Bits'(i);
  end

  always_comb begin
    req_valid = 1'b0;
    req_syndrome = '0;
    up_req_ready = '0;
    up_rsp_valid = '0;
    for (int i = 0; i < Users; i++)
    if (who_q == Bits'(i) && serves_q) begin
      req_valid = up_req_valid[i] && asks_q;
      req_syndrome = up_req_syndrome[M*i+:M];
      up_req_ready[i] = req_ready && asks_q;
      up_rsp_valid[i] = rsp_valid;
    end
  end

  always_ff @(posedge clk) begin
    if (!serves_q) begin
      who_q <= pick;
      serves_q <= |up_req_valid;
      asks_q <= 1'b1;
    end else begin
      if (|(up_req_valid & up_req_ready & up_req_last)) asks_q <= 1'b0;
      if (rsp_valid && rsp_last) serves_q <= 1'b0;
    end
    if (reset) begin
      serves_q <= 1'b0;
      who_q <= '0;
    end
  end
endmodule

`default_nettype wire
