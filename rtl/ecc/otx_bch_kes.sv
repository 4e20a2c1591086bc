// SPDX-License-Identifier: Apache-2.0
// Key equation of a binary BCH code: from syndromes to the error locator, by the inversionless Berlekamp-Massey
// algorithm on three multipliers.
//
// `req`: T beats, S1, S3, S5 to S(2T-1). `rsp`: T + 1 beats in as many clocks, the coefficients of the locator from x^0
// on (all times some common factor), `rsp_degree` what its degree must be; when more than T errors are certain, one
// beat with `rsp_failed` instead. It does not wait: who asks must have room. One word at a time: `req_ready` is low
// from the last beat of a request to the last beat of its response.
// Clocks from the last beat of `req` to the last of `rsp`: at most T * (T + 7) / 2, that is 60 for T = 8 and 372 for T
// = 24. Keep `req_valid` low in reset, which forgets the word.
//
// Step r of T has delta, the sum of locator[i] * S(2r+1-i), and makes locator = gamma * locator + delta * other; other
// = x^2 * (locator before the step, or other). One coefficient passes per clock, and with the new ones comes the next
// delta. `other` stays where it is in memory while its exponents move: coefficient i is at place i - 2r.
// A step ends with the degree of its locator. The degree d goes to 2r + 1 - d or stays: what it lacks of r + 1 while it
// is below, it is above later for as many steps. So all steps together have at most 1 + 2 + ... + T coefficients
// besides x^0. The last step has all T, with zeroes behind the degree, and they leave as they are made.

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
    output logic [         M-1:0] rsp_coefficient,
    output logic                  rsp_last,
    output logic [DegreeBits-1:0] rsp_degree,
    output logic                  rsp_failed
);
  localparam int PlaceBits = $clog2(T + 1);
  localparam int HalfBits = $clog2(T);
  localparam logic [511:0] Squares = otx_bch_pkg::transposed(otx_bch_pkg::powers(M, 0, 2, M));

  if (!otx_bch_pkg::fits(M, T) || T < 2) begin : g_check_code
    $fatal(1, "otx_bch_kes: no such code: M 5 to 15, T 2 or more, 2T - 1 < 2^ceil(M/2), M*T a multiple of 8");
  end

  typedef enum logic [2:0] {
    StLoad,   // the T odd syndromes
    StTurn,   // delta and what follows from it; coefficient 0 out of memory
    StPass,   // the other coefficients
    StDrain,  // the last of them
    StFail    // nothing: says that there are too many errors
  } state_e;

  state_e state_q;
  logic [M-1:0] odd[2**HalfBits];  // S(2i+1)
  logic [M-1:0] even[2**HalfBits];  // S(2i), the square of S(i)
  logic [M-1:0] locator[2**PlaceBits];
  logic [M-1:0] other[2**PlaceBits];
  logic [PlaceBits-1:0] n_q;  // beat or coefficient
  logic [PlaceBits-1:0] step_q;
  logic [DegreeBits-1:0] degree_q, longer_q, degree;  // before this step; after it if it replaces `other`; after it
  logic [M-1:0] sum_q, delta_q, gamma_q;  // sum_q: the discrepancy as it grows
  logic swap_q, drained_q;  // this step replaces `other`; the second clock of StDrain
  logic empty, ends, fails, loads;

  // One coefficient on its way: read, multiplied, written and multiplied again.
  logic read_q, made_q;
  logic [PlaceBits-1:0] place, read_n_q, made_n_q, place_q;
  logic [M-1:0] locator_q, other_q, new_q, syndrome_q, syndrome;
  logic [HalfBits:0] index;

  assign empty = degree_q == 0;  // the locator is 1 so far, and `other` x^(2r+1): neither is in memory
  assign ends = step_q == PlaceBits'(T - 1);
  assign degree = swap_q ? longer_q : degree_q;
  assign fails = state_q == StPass && degree > DegreeBits'(T);
  assign loads = state_q == StLoad && req_valid;
  assign place = n_q - {step_q[PlaceBits-2:0], 1'b0};
  assign index = state_q == StLoad ?
      (HalfBits + 1)'(n_q) : (HalfBits + 1)'({step_q, 1'b0}) + (HalfBits + 1)'(3) - (HalfBits + 1)'(read_n_q);
  assign syndrome = index[0] ? odd[index[HalfBits:1]] : even[index[HalfBits:1]];

  otx_gf_multiply #(
      .M(M),
      .Pairs(2)
  ) update (
      .clk,
      .valid(read_q),
      .multiplies(1'b1),
      .from('0),
      .a({locator_q, other_q}),
      .b({gamma_q, delta_q}),
      .sum(new_q)
  );
  otx_gf_multiply #(
      .M(M)
  ) discrepancy (
      .clk,
      .valid(made_q || state_q == StTurn || (loads && n_q == 0)),
      .multiplies(made_q),
      .from(made_q ? sum_q : state_q == StTurn ? '0 : req_syndrome),
      .a(new_q),
      .b(syndrome_q),
      .sum(sum_q)
  );

  assign req_ready = state_q == StLoad;
  assign rsp_failed = state_q == StFail;
  assign rsp_valid = rsp_failed || (made_q && ends);
  assign rsp_coefficient = new_q;
  assign rsp_degree = degree;
  assign rsp_last = rsp_failed || made_n_q == PlaceBits'(T);

  always_ff @(posedge clk) begin
    if (loads) begin : load
      logic [M-1:0] squared;
      for (int r = 0; r < M; r++) squared[r] = ^(syndrome & Squares[32*r+:M]);
      odd[n_q[HalfBits-1:0]]  <= req_syndrome;
      even[n_q[HalfBits-1:0]] <= squared;
    end
    if (read_q) other[place_q] <= swap_q ? locator_q : other_q;
    if (made_q) locator[made_n_q] <= new_q;
  end

  always_ff @(posedge clk) begin
    read_q <= state_q == StTurn || (state_q == StPass && !fails);
    read_n_q <= n_q;
    place_q <= place;
    locator_q <= DegreeBits'(n_q) > degree_q ? '0 : empty ? M'(1) : locator[n_q];
    other_q <= empty ? M'(DegreeBits'(n_q) == DegreeBits'({step_q, 1'b1})) : n_q < PlaceBits'(2) ? '0 : other[place];
    made_q <= read_q;
    made_n_q <= read_n_q;
    syndrome_q <= syndrome;
    drained_q <= state_q == StDrain && !drained_q;
    case (state_q)
      StLoad: begin
        step_q   <= '0;
        degree_q <= '0;
        gamma_q  <= M'(1);
        if (req_valid) begin
          n_q <= n_q + 1'b1;
          if (n_q == PlaceBits'(T - 1)) begin
            n_q <= '0;
            state_q <= StTurn;
          end
        end
      end
      StTurn: begin
        n_q <= PlaceBits'(1);
        delta_q <= sum_q;
        swap_q <= sum_q != 0 && degree_q <= DegreeBits'(step_q);
        longer_q <= DegreeBits'({step_q, 1'b1}) - degree_q;
        state_q <= sum_q == 0 && empty && !ends ? StDrain : StPass;
      end
      StPass: begin
        n_q <= n_q + 1'b1;
        if (fails) state_q <= StFail;
        else if (n_q == PlaceBits'(T) || (DegreeBits'(n_q) == degree && !ends)) state_q <= StDrain;
      end
      StDrain:
      if (drained_q) begin
        n_q <= '0;
        step_q <= step_q + 1'b1;
        degree_q <= degree;
        if (swap_q) gamma_q <= delta_q;
        state_q <= ends ? StLoad : StTurn;
      end
      StFail: begin
        n_q <= '0;
        state_q <= StLoad;
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
