// SPDX-License-Identifier: Apache-2.0
// Key equation of a binary BCH code: from syndromes to the error locator, by the inversionless Berlekamp-Massey algorithm on three multipliers.
//
// `req`: T beats, S1, S3, S5 to S(2T-1). `rsp`: T + 1 beats, the coefficients of the locator from x^0 on (all times some common factor), `rsp_degree` what its degree must be; when more than T errors are
// certain, one beat with `rsp_failed` instead. One word at a time: `req_ready` is low from the last beat of a request to the last beat of its response.
// Clocks from the last beat of `req` to the first of `rsp`: T - 1 + T * (T + 4) + 1, that is 104 for T = 8 and 696 for T = 24. Keep `req_valid` low in reset, which forgets the word.
//
// Step r of T has delta, the sum of locator[i] * S(2r+1-i), and makes locator = gamma * locator + delta * other; other = x^2 * (locator before the step, or other). One coefficient passes per clock, and with the
// new ones comes the next delta. `other` stays where it is in memory while its exponents move: coefficient i is at place i - 2r.

`default_nettype none

module otx_bch_kes #(
    parameter int M = 13,
    parameter int T = 8,
    localparam int DegreeBits = $clog2(2 * T)
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic                  req_valid,
    output logic                  req_ready,
    input  logic [         M-1:0] req_syndrome,
    output logic                  rsp_valid,
    input  logic                  rsp_ready,
    output logic [         M-1:0] rsp_coefficient,
    output logic                  rsp_last,
    output logic [DegreeBits-1:0] rsp_degree,
    output logic                  rsp_failed
);
  localparam int PlaceBits = $clog2(T + 1);
  localparam int IndexBits = $clog2(2 * T);
  localparam logic [511:0] Squares = otx_bch_pkg::transposed(otx_bch_pkg::powers(M, 0, 2, M));

  if (!otx_bch_pkg::fits(M, T) || T < 2) begin : g_check_code
    $fatal(1, "otx_bch_kes: no such code: M 5 to 15, T 2 or more, 2T - 1 < 2^ceil(M/2), M*T a multiple of 8");
  end

  typedef enum logic [2:0] {
    StLoad,    // the T odd syndromes
    StSquare,  // the even ones, each the square of one before it
    StTurn,    // delta and what follows from it
    StPass,    // coefficients 0 to T out of memory
    StDrain,   // the last of them
    StAnswer   // the locator to be taken
  } state_e;

  state_e state_q;
  logic [M-1:0] syndromes[2**IndexBits];
  logic [M-1:0] locator[2**PlaceBits];
  logic [M-1:0] other[2**PlaceBits];
  logic [PlaceBits-1:0] n_q;  // beat, syndrome or coefficient
  logic [PlaceBits-1:0] step_q;
  logic [DegreeBits-1:0] degree_q;
  logic [M-1:0] sum_q, delta_q, gamma_q;  // sum_q: the discrepancy as it grows
  logic swap_q, drained_q;  // this step replaces `other`; the second clock of StDrain
  logic begins, ends;

  // One coefficient on its way: read, multiplied, written and multiplied again.
  logic read_q, made_q;
  logic [PlaceBits-1:0] place, read_n_q, made_n_q, place_q;
  logic [M-1:0] locator_q, other_q, new_q, syndrome_q, syndrome;
  logic [IndexBits-1:0] index;

  assign begins = step_q == 0;
  assign ends = step_q == PlaceBits'(T - 1);
  assign place = n_q - {step_q[PlaceBits-2:0], 1'b0};
  assign index = state_q == StSquare ? IndexBits'(n_q) : IndexBits'({step_q, 1'b0}) + IndexBits'(3) - IndexBits'(read_n_q);
  assign syndrome = syndromes[index];

  otx_gf_multiply #(.M(M), .Pairs(2)) update (.clk, .valid(read_q), .multiplies(1'b1), .from('0), .a({locator_q, other_q}), .b({gamma_q, delta_q}), .sum(new_q));
  otx_gf_multiply #(.M(M)) discrepancy (
      .clk, .valid(made_q || state_q == StTurn || (state_q == StLoad && req_valid && n_q == 0)), .multiplies(made_q), .from(made_q ? sum_q : state_q == StTurn ? '0 : req_syndrome),
      .a(new_q), .b(syndrome_q), .sum(sum_q)
  );

  assign req_ready = state_q == StLoad;
  assign rsp_valid = state_q == StAnswer;
  assign rsp_coefficient = locator[n_q];
  assign rsp_degree = degree_q;
  assign rsp_failed = degree_q > DegreeBits'(T);
  assign rsp_last = rsp_failed || n_q == PlaceBits'(T);

  always_ff @(posedge clk) begin
    if (state_q == StLoad && req_valid) syndromes[{n_q[IndexBits-2:0], 1'b1}] <= req_syndrome;
    if (state_q == StSquare) begin : square
      logic [M-1:0] squared;
      for (int r = 0; r < M; r++) squared[r] = ^(syndrome & Squares[32*r+:M]);
      syndromes[{n_q[IndexBits-2:0], 1'b0}] <= squared;
    end
    if (read_q) other[place_q] <= swap_q ? locator_q : other_q;
    if (made_q) locator[made_n_q] <= new_q;
  end

  always_ff @(posedge clk) begin
    read_q <= state_q == StPass;
    read_n_q <= n_q;
    place_q <= place;
    locator_q <= begins ? M'(n_q == 0) : locator[n_q];  // it begins as 1, `other` as x
    other_q <= begins ? M'(n_q == 1) : n_q < PlaceBits'(2) ? '0 : other[place];
    made_q <= read_q;
    made_n_q <= read_n_q;
    syndrome_q <= syndrome;
    drained_q <= state_q == StDrain && !drained_q;
    case (state_q)
      StLoad:
      if (req_valid) begin
        n_q <= n_q + 1'b1;
        step_q <= '0;
        degree_q <= '0;
        gamma_q <= M'(1);
        if (n_q == PlaceBits'(T - 1)) begin
          n_q <= PlaceBits'(1);
          state_q <= StSquare;
        end
      end
      StSquare: begin
        n_q <= n_q + 1'b1;
        if (n_q == PlaceBits'(T - 1)) state_q <= StTurn;
      end
      StTurn: begin
        n_q <= '0;
        delta_q <= sum_q;
        swap_q <= sum_q != 0 && degree_q <= DegreeBits'(step_q);
        state_q <= StPass;
      end
      StPass: begin
        n_q <= n_q + 1'b1;
        if (n_q == PlaceBits'(T)) state_q <= StDrain;
      end
      StDrain:
      if (drained_q) begin
        n_q <= '0;
        step_q <= step_q + 1'b1;
        if (swap_q) begin
          degree_q <= DegreeBits'({step_q, 1'b1}) - degree_q;
          gamma_q  <= delta_q;
        end
        state_q <= ends ? StAnswer : StTurn;
      end
      StAnswer:
      if (rsp_ready) begin
        n_q <= n_q + 1'b1;
        if (rsp_last) begin
          n_q <= '0;
          state_q <= StLoad;
        end
      end
      default: state_q <= StLoad;
    endcase
    if (reset) begin
      state_q <= StLoad;
      n_q <= '0;
      made_q <= 1'b0;
      read_q <= 1'b0;
      drained_q <= 1'b0;
    end
  end
endmodule

`default_nettype wire
