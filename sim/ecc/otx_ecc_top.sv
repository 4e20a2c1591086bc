// SPDX-License-Identifier: Apache-2.0
// The ECC blocks for sim/ecc/otx_ecc.h: an encoder, one or two decoders, one key equation.

`default_nettype none

module otx_ecc_top #(
    parameter int M = 13,
    parameter int T = 8,
    parameter int Users = 1,  // 1 or 2 decoders
    parameter bit Inverted = 1'b1,
    localparam int LengthBits = M - 3,
    localparam int DegreeBits = $clog2(2 * T)
) (
    input  logic                        clk,
    input  logic                        reset,
    input  logic                        enc_valid,
    input  logic [                 2:0] enc_chunk,
    input  logic                        enc_first,
    input  logic                        enc_parity,
    input  logic [                 7:0] enc_byte,
    output logic [                 7:0] enc_out,
    input  logic [           Users-1:0] in_valid,
    output logic [           Users-1:0] in_ready,
    input  logic [         3*Users-1:0] in_chunk,
    input  logic [           Users-1:0] in_first,
    input  logic [           Users-1:0] in_last,
    input  logic [         8*Users-1:0] in_byte,
    output logic [           Users-1:0] end_valid,
    output logic [         3*Users-1:0] end_chunk,
    output logic [           Users-1:0] end_clean,
    output logic [           Users-1:0] end_erased,
    output logic [           Users-1:0] fix_valid,
    input  logic [           Users-1:0] fix_ready,
    output logic [         3*Users-1:0] fix_chunk,
    output logic [LengthBits*Users-1:0] fix_byte,
    output logic [         8*Users-1:0] fix_mask,
    output logic [           Users-1:0] fix_last,
    output logic [           Users-1:0] fix_failed,
    output logic [DegreeBits*Users-1:0] fix_count
);
  logic [7:0] enc_rest, enc_differs;
  logic unused;
  logic [Users-1:0] ask_valid, ask_ready, ask_last, answer_valid;
  logic [Users*M-1:0] ask_syndrome;
  logic req_valid, req_ready, rsp_valid, rsp_last, rsp_failed;
  logic [M-1:0] req_syndrome, rsp_coefficient;
  logic [DegreeBits-1:0] rsp_degree;

  otx_bch_encoder #(
      .M(M),
      .T(T),
      .Inverted(Inverted)
  ) encoder (
      .clk,
      .in_valid(enc_valid),
      .in_chunk(enc_chunk),
      .in_first(enc_first),
      .in_parity(enc_parity),
      .in_check(1'b0),
      .in_byte(enc_byte),
      .out_byte(enc_out),
      .out_rest(enc_rest),
      .out_differs(enc_differs)
  );
  assign unused = &{enc_rest, enc_differs};  // seen by the tests of the channel

  for (genvar u = 0; u < Users; u++) begin : g_user
    otx_bch_decoder #(
        .M(M),
        .T(T),
        .Inverted(Inverted)
    ) decoder (
        .clk,
        .reset,
        .in_valid(in_valid[u]),
        .in_ready(in_ready[u]),
        .in_chunk(in_chunk[3*u+:3]),
        .in_first(in_first[u]),
        .in_last(in_last[u]),
        .in_byte(in_byte[8*u+:8]),
        .end_valid(end_valid[u]),
        .end_chunk(end_chunk[3*u+:3]),
        .end_clean(end_clean[u]),
        .end_erased(end_erased[u]),
        .kes_req_valid(ask_valid[u]),
        .kes_req_ready(ask_ready[u]),
        .kes_req_syndrome(ask_syndrome[M*u+:M]),
        .kes_req_last(ask_last[u]),
        .kes_rsp_valid(answer_valid[u]),
        .kes_rsp_coefficient(rsp_coefficient),
        .kes_rsp_last(rsp_last),
        .kes_rsp_degree(rsp_degree),
        .kes_rsp_failed(rsp_failed),
        .fix_valid(fix_valid[u]),
        .fix_ready(fix_ready[u]),
        .fix_chunk(fix_chunk[3*u+:3]),
        .fix_byte(fix_byte[LengthBits*u+:LengthBits]),
        .fix_mask(fix_mask[8*u+:8]),
        .fix_last(fix_last[u]),
        .fix_failed(fix_failed[u]),
        .fix_count(fix_count[DegreeBits*u+:DegreeBits])
    );
  end

  if (Users == 1) begin : g_one
    logic unused_last;
    assign unused_last = ask_last[0];
    assign req_valid = ask_valid[0];
    assign ask_ready[0] = req_ready;
    assign req_syndrome = ask_syndrome;
    assign answer_valid[0] = rsp_valid;
  end else begin : g_share
    otx_bch_share #(
        .M(M),
        .Users(Users)
    ) share (
        .clk,
        .reset,
        .up_req_valid(ask_valid),
        .up_req_ready(ask_ready),
        .up_req_syndrome(ask_syndrome),
        .up_req_last(ask_last),
        .up_rsp_valid(answer_valid),
        .req_valid,
        .req_ready,
        .req_syndrome,
        .rsp_valid,
        .rsp_last
    );
  end

  otx_bch_kes #(
      .M(M),
      .T(T)
  ) kes (
      .clk,
      .reset,
      .req_valid,
      .req_ready,
      .req_syndrome,
      .rsp_valid,
      .rsp_coefficient,
      .rsp_last,
      .rsp_degree,
      .rsp_failed
  );
endmodule

`default_nettype wire
