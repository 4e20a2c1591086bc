// SPDX-License-Identifier: Apache-2.0
// Chien search: the places of the errors of one word, `Width` bytes per clock, from the last byte to the first.
//
// `rsp` is the response of otx_bch_kes, `bytes` the length of the word with its parity, as `rsp_last` passes. Then
// `walks` comes for all bytes, Width at a time: `hit_byte`, the number of the last of them from the start of the word,
// and `hit_mask`, their wrong bits, those of byte `hit_byte` - i at 8i; of the byte before the first of a word they are
// 0. `hit_valid`: any is wrong. `done` for a clock ends the word, after the last hit: `failed` if the word has more
// errors than can be corrected (then the hits mean nothing), else `count` wrong bits. `failed` and `count` stay until
// the next `done`. `rsp_ready` is low during the search, which ends with the last root: at most bytes / Width (rounded
// up) + 3 clocks from the last beat of `rsp` to `done`. Reset forgets the word.

`default_nettype none

module otx_bch_chien #(
    parameter int M = 13,
    parameter int T = 8,
    parameter int Width = otx_page_pkg::search_bytes(T),  // 1 or 2
    localparam int LengthBits = M - 3,
    localparam int DegreeBits = $clog2(2 * T)
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic                  rsp_valid,
    output logic                  rsp_ready,
    input  logic [         M-1:0] rsp_coefficient,
    input  logic                  rsp_last,
    input  logic [DegreeBits-1:0] rsp_degree,
    input  logic                  rsp_failed,
    input  logic [LengthBits-1:0] bytes,
    output logic                  walks,
    output logic                  hit_valid,
    output logic [LengthBits-1:0] hit_byte,
    output logic [   8*Width-1:0] hit_mask,
    output logic                  done,
    output logic                  failed,
    output logic [DegreeBits-1:0] count
);
  localparam int GroupSize = 4;  // terms that are added in one clock
  localparam int Groups = (T + GroupSize - 1) / GroupSize;

  if (!otx_bch_pkg::fits(M, T)) begin : g_check_code
    $fatal(1, "otx_bch_chien: no such code: M 5 to 15, 2T - 1 < 2^ceil(M/2), M*T a multiple of 8");
  end
  if (Width != 1 && Width != 2) begin : g_check_width
    $fatal(1, "otx_bch_chien: Width must be 1 or 2");
  end

  typedef enum logic [1:0] {
    StLoad,    // the locator
    StSearch,  // the bytes of the word
    StDrain    // the last of them
  } state_e;

  state_e state_q;
  logic [DegreeBits-1:0] degree_q, found_q, found;
  logic [LengthBits-1:0] at_q, sums_at_q, mask_at_q;
  logic sums_valid_q, mask_valid_q, stop;
  logic [8*Width-1:0] mask_q;

  // Bit 0 of the last byte is x^0 of the code word. An error at x^e makes alpha^-e a root, so term j (coefficient of
  // x^j times the power of this byte's bit 0) goes on by alpha^(-8j) per byte and by alpha^(-j) per bit. All of it is
  // worked out only in a search: what rests costs a simulation nothing.
  // Each byte of a step has terms of its own: with common ones there are fewer cells, but so many wires between them
  // and all sums that nextpnr did not route them. Those of byte i begin as many bytes further: on their way in,
  // coefficient j goes through T - j places, at each times alpha^(8i), which is alpha^(-8ij) times what all have in
  // common.
  for (genvar i = 0; i < Width; i++) begin : g_byte
    localparam logic [511:0] Enter = otx_bch_pkg::transposed(otx_bch_pkg::powers(M, 8 * i, 1, M));
    logic [M-1:0] constant_q;  // coefficient of x^0

    for (genvar n = 0; n <= T; n++) begin : g_term  // j is T - n: the locator comes in at one end
      logic [M-1:0] load;
      if (n == 0) begin : g_first
        assign load = rsp_coefficient;
      end else begin : g_next
        for (genvar r = 0; r < M; r++) begin : g_row
          assign load[r] = ^(g_term[n-1].g_place.term_q & Enter[32*r+:M]);
        end
      end
      if (n < T) begin : g_place
        localparam logic [511:0] Rows = otx_bch_pkg::transposed(otx_bch_pkg::powers(M, -8 * Width * (T - n), 1, M));
        logic [M-1:0] term_q;
        always_ff @(posedge clk) begin
          if (state_q == StLoad && rsp_valid) term_q <= load;
          if (state_q == StSearch) for (int r = 0; r < M; r++) term_q[r] <= ^(term_q & Rows[32*r+:M]);
        end
      end else begin : g_constant
        always_ff @(posedge clk) if (state_q == StLoad && rsp_valid) constant_q <= load;
      end
    end

    for (genvar g = 0; g < Groups; g++) begin : g_group
      logic [GroupSize*M-1:0] terms;
      for (genvar k = 0; k < GroupSize; k++) begin : g_member
        if (GroupSize * g + k < T) begin : g_there
          assign terms[M*k+:M] = g_term[T-1-GroupSize*g-k].g_place.term_q;
        end else begin : g_none
          assign terms[M*k+:M] = '0;
        end
      end
      for (genvar b = 0; b < 8; b++) begin : g_bit
        localparam logic [1023:0] Rows = otx_bch_pkg::group_rows(M, GroupSize * g + 1, b);
        logic [M-1:0] sum_q;
        always_ff @(posedge clk)
          if (state_q == StSearch)
            for (int r = 0; r < M; r++) sum_q[r] <= ^(terms & Rows[64*r+:GroupSize*M]);
      end
    end

    for (genvar b = 0; b < 8; b++) begin : g_mask
      logic wrong_q;
      logic [Groups*M-1:0] sums;
      for (genvar g = 0; g < Groups; g++) begin : g_sum
        assign sums[M*g+:M] = g_group[g].g_bit[b].sum_q;
      end
      assign mask_q[8*i+b] = wrong_q;
      always_ff @(posedge clk)
        if (sums_valid_q) begin : add
          logic [M-1:0] value;
          value = constant_q;
          for (int g = 0; g < Groups; g++) value = value ^ sums[M*g+:M];
          wrong_q <= value == '0 && (i == 0 || sums_at_q != 0);
        end
    end
  end

  always_comb begin
    found = found_q;
    for (int b = 0; b < 8 * Width; b++) found = found + DegreeBits'(mask_q[b]);
  end

  assign rsp_ready = state_q == StLoad;
  assign walks = mask_valid_q;
  assign hit_valid = mask_valid_q && mask_q != 0;
  assign hit_byte = mask_at_q;
  assign hit_mask = mask_q;
  assign stop = mask_valid_q && (found == degree_q || mask_at_q < LengthBits'(Width));

  always_ff @(posedge clk) begin
    done <= 1'b0;
    sums_valid_q <= state_q == StSearch && !stop;
    sums_at_q <= at_q;
    mask_valid_q <= sums_valid_q && !stop;
    mask_at_q <= sums_at_q;
    if (mask_valid_q) found_q <= found;
    case (state_q)
      StLoad:
      if (rsp_valid) begin
        degree_q <= rsp_degree;
        found_q <= '0;
        at_q <= bytes - 1'b1;
        if (rsp_last && rsp_failed) begin
          done   <= 1'b1;
          failed <= 1'b1;
        end else if (rsp_last) state_q <= StSearch;
      end
      StSearch: begin
        at_q <= at_q - LengthBits'(Width);
        if (at_q < LengthBits'(Width)) state_q <= StDrain;
      end
      default: ;
    endcase
    if (stop) begin
      done <= 1'b1;
      failed <= found != degree_q;
      count <= found;
      state_q <= StLoad;
    end
    if (reset) begin
      state_q <= StLoad;
      done <= 1'b0;
      sums_valid_q <= 1'b0;
      mask_valid_q <= 1'b0;
    end
  end
endmodule

`default_nettype wire
