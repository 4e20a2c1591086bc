// SPDX-License-Identifier: Apache-2.0
// Finds the wrong bits of one chunk of a page (BCH, T bits: 8 in 512 data bytes or 24 in 1,024) for all channels of a
// drive, one chunk at a time, in turn.
//
// `ask`: ParityBytes beats (13, T=24: 42), the remainder of a chunk that is not zero (parity of the bytes read, XOR the
// parity read), first byte first, with the number of the chunk. `fix`, to that channel only: a beat for each wrong
// byte, from the last to the first, with its number in the chunk (data; of the last chunk spare bytes 0-23; then
// parity) and its wrong bits; then a beat with `last`: `failed`, the chunk cannot be corrected and this is its only
// beat, else `count` wrong bits, and `sum` is what they change in the CRC register of the page at its end (data and
// spare bytes 1-19). `valid` does not wait for `ready`; payloads are shared.
// A syndrome of the remainder is that of the whole word. The search goes from the end, a byte (T=24: two) per clock;
// beside it goes the effect of a bit of that byte on the CRC, so that no page is read twice.
// From the last beat of `ask` to the last of `fix`, when nothing stalls: at most length / W + T * (T + 11) / 2 + 5
// clocks (length with parity: 525, last chunk 549; T=24: 1,066 and 1,090; W, the bytes searched in a clock: 1, T=24: 2;
// the quotient rounded up).
// The next chunk of any channel begins 2 clocks later; with U channels that ask, each is served within U chunks. Reset
// forgets the chunk; channels must be reset with it.

`default_nettype none

module otx_nand_corrector #(
    parameter  int Users      = 2,                        // channels, 1 to 16
    parameter  int T          = 8,                        // 8 or 24
    localparam int M          = otx_page_pkg::field(T),
    localparam int Chunks     = otx_page_pkg::chunks(T),
    localparam int ChunkBits  = $clog2(Chunks),
    localparam int LengthBits = M - 3,
    localparam int CountBits  = $clog2(2 * T)
) (
    input  logic                       clk,
    input  logic                       reset,
    input  logic [          Users-1:0] ask_valid,
    output logic [          Users-1:0] ask_ready,
    input  logic [ChunkBits*Users-1:0] ask_chunk,
    input  logic [        8*Users-1:0] ask_byte,
    output logic [          Users-1:0] fix_valid,
    input  logic [          Users-1:0] fix_ready,
    output logic [     LengthBits-1:0] fix_byte,
    output logic [                7:0] fix_mask,
    output logic                       fix_last,
    output logic                       fix_failed,
    output logic [      CountBits-1:0] fix_count,
    output logic [               31:0] fix_sum
);
  localparam int ParityBytes = otx_page_pkg::parity_bytes(T), DataBytes = otx_page_pkg::chunk_bytes(T);
  localparam int PageEnd = otx_page_pkg::DataBytes + 19;  // bytes that the CRC covers, itself included
  localparam logic [31:0] Polynomial = 32'hEDB8_8320;
  localparam int UserBits = Users > 1 ? $clog2(Users) : 1;
  localparam int ByteBits = $clog2(ParityBytes + 1), HitBits = $clog2(T);
  localparam int Width = otx_page_pkg::search_bytes(T);
  localparam logic [ChunkBits-1:0] LastChunk = '1;

  if (Users < 1 || Users > 16) begin : g_check_users
    $fatal(1, "otx_nand_corrector: Users must be 1 to 16");
  end
  if (!otx_page_pkg::fits(T)) begin : g_check_t
    $fatal(1, "otx_nand_corrector: T must be 8 or 24");
  end
  if (DataBytes % Width != 0 || otx_page_pkg::SpareBytes % Width != 0 || ParityBytes % Width != 0) begin : g_check_width
    $fatal(1, "otx_nand_corrector: no such layout, data, spare bytes and parity must be whole steps of the search");
  end

  // The CRC register after `bits` more bits of zero.
  function automatic logic [31:0] on(input logic [31:0] from, input int bits);
    on = from;
    for (int i = 0; i < bits; i++) on = on[0] ? (on >> 1) ^ Polynomial : on >> 1;
  endfunction

  // x^n in that register's order of bits, by squaring: bit 31 is x^0.
  function automatic logic [31:0] power(input int n);
    logic [31:0] square, product;
    power  = 32'h8000_0000;
    square = 32'h4000_0000;
    for (int k = 0; k < 16; k++) begin
      if (n[k]) begin
        product = '0;
        for (int i = 0; i < 32; i++) product = on(product, 1) ^ (power[i] ? square : 32'd0);
        power = product;
      end
      product = '0;
      for (int i = 0; i < 32; i++) product = on(product, 1) ^ (square[i] ? square : 32'd0);
      square = product;
    end
  endfunction

  typedef enum logic [2:0] {
    StFree,    // a channel that asks
    StTake,    // the bytes of its remainder
    StKey,     // the key equation to take the syndromes
    StSearch,  // the end of the search
    StSend     // `fix` to be taken
  } state_e;

  state_e state_q;
  logic [UserBits-1:0] who_q, pick;
  logic [ByteBits-1:0] n_q;  // byte, or syndrome
  logic [ChunkBits-1:0] chunk_q;
  logic [7:0] now_byte;
  logic take;

  // The lowest that asks, or the lowest above the last one if there is such.
  always_comb begin
    pick = who_q;
    for (int i = Users - 1; i >= 0; i--) if (ask_valid[i]) pick = UserBits'(i);
    for (int i = Users - 1; i >= 0; i--) if (ask_valid[i] && UserBits'(i) > who_q) pick = UserBits'(i);
  end

  always_comb begin
    now_byte  = '0;
    ask_ready = '0;
    fix_valid = '0;
    for (int i = 0; i < Users; i++)
    if (who_q == UserBits'(i)) begin
      now_byte = ask_byte[8*i+:8];
      ask_ready[i] = state_q == StTake && n_q != ByteBits'(ParityBytes);
      fix_valid[i] = state_q == StSend;
    end
  end
  assign take = |(ask_valid & ask_ready);

  logic
      end_valid, end_clean, end_erased, key_ready, locator_valid, search_ready, locator_last, locator_failed, end_chunk;
  logic [LengthBits-1:0] end_bytes, length;
  logic [M*T-1:0] syndromes;
  logic [M-1:0] coefficient;
  logic [CountBits-1:0] degree;
  logic unused;
  // the search has ended before a chunk is asked about
  assign unused = &{end_clean, end_erased, end_chunk, end_bytes, search_ready};
  assign length = chunk_q == LastChunk ? LengthBits'(DataBytes + otx_page_pkg::SpareBytes + ParityBytes) :
      LengthBits'(DataBytes + ParityBytes);

  otx_bch_syndrome #(
      .M(M),
      .T(T),
      .Chunks(1),
      .Inverted(1'b0)
  ) syndrome (
      .clk,
      .reset,
      .in_valid(take),
      .in_chunk(1'b0),
      .in_first(n_q == 0),
      .in_last(n_q == ByteBits'(ParityBytes - 1)),
      .in_byte(now_byte),
      .out_valid(end_valid),
      .out_chunk(end_chunk),
      .out_bytes(end_bytes),
      .out_clean(end_clean),
      .out_erased(end_erased),
      .out_syndromes(syndromes)
  );

  otx_bch_kes #(
      .M(M),
      .T(T)
  ) key (
      .clk,
      .reset,
      .req_valid(state_q == StKey),
      .req_ready(key_ready),
      .req_syndrome(syndromes[M*n_q[HitBits-1:0]+:M]),
      .rsp_valid(locator_valid),
      .rsp_coefficient(coefficient),
      .rsp_last(locator_last),
      .rsp_degree(degree),
      .rsp_failed(locator_failed)
  );

  logic walks, hit, done, sent;
  logic [LengthBits-1:0] at;
  logic [8*Width-1:0] mask;

  otx_bch_chien #(
      .M(M),
      .T(T),
      .Width(Width)
  ) search (
      .clk,
      .reset,
      .rsp_valid(locator_valid),
      .rsp_ready(search_ready),
      .rsp_coefficient(coefficient),
      .rsp_last(locator_last),
      .rsp_degree(degree),
      .rsp_failed(locator_failed),
      .bytes(length),
      .walks,
      .hit_valid(hit),
      .hit_byte(at),
      .hit_mask(mask),
      .done,
      .failed(fix_failed),
      .count(fix_count)
  );

  otx_bch_hits #(
      .M(M),
      .T(T),
      .Width(Width)
  ) hits (
      .clk,
      .clear(state_q == StFree),
      .hit_valid(hit),
      .hit_byte(at),
      .hit_mask(mask),
      .take(|(fix_valid & fix_ready)),
      .out_none(sent),
      .out_byte(fix_byte),
      .out_mask(fix_mask)
  );

  // What bit 7 of this byte does to the CRC; the lower bits are as many steps further, and behind them those of the
  // byte before it. Kept one clock behind the search. The CRC ends with the last byte of a step and begins with any:
  // where it has a byte of a step, it has those behind it.
  logic [31:0] effect_q, start;
  logic [Width-1:0] covered, covered_q;
  logic hit_q;
  logic [8*Width-1:0] mask_q;
  for (genvar i = 0; i < Width; i++) begin : g_covered
    logic [LengthBits-1:0] place;
    assign place = at ^ LengthBits'(i);  // at - i, as `at` is the last of its step
    assign covered[i] = place < LengthBits'(DataBytes) ||
        (chunk_q == LastChunk && place > LengthBits'(DataBytes) && place < LengthBits'(DataBytes + 20));
  end
  logic [32*Chunks-1:0] starts;
  for (genvar c = 0; c < Chunks; c++) begin : g_start
    localparam logic [31:0] Start = power(24 + 8 + (c == Chunks - 1 ? 0 : 8 * (PageEnd - DataBytes * (c + 1))));
    assign starts[32*c+:32] = Start;
  end
  assign start = starts[32*chunk_q+:32];
  assign fix_last = fix_failed || sent;

  always_ff @(posedge clk) begin
    covered_q <= walks ? covered : '0;
    hit_q <= hit;
    mask_q <= mask;
    if (covered_q[0]) effect_q <= covered_q == '1 ? on(effect_q, 8 * Width) : on(effect_q, 8);
    if (hit_q) begin : add
      logic [31:0] sum;
      sum = fix_sum;
      for (int i = 0; i < Width; i++)
      for (int b = 0; b < 8; b++) if (covered_q[i] && mask_q[8*i+b]) sum = sum ^ on(effect_q, 8 * i + 7 - b);
      fix_sum <= sum;
    end
    case (state_q)
      StFree: begin
        n_q <= '0;
        fix_sum <= '0;
        who_q <= pick;
        if (|ask_valid) state_q <= StTake;
      end
      StTake: begin
        for (int i = 0; i < Users; i++) if (who_q == UserBits'(i)) chunk_q <= ask_chunk[ChunkBits*i+:ChunkBits];
        if (take) n_q <= n_q + 1'b1;
        if (end_valid) begin
          n_q <= '0;
          effect_q <= start;
          state_q <= StKey;
        end
      end
      StKey:
      if (key_ready) begin
        n_q <= n_q + 1'b1;
        if (n_q == ByteBits'(T - 1)) state_q <= StSearch;
      end
      StSearch: if (done) state_q <= StSend;
      StSend:   if (|(fix_valid & fix_ready) && fix_last) state_q <= StFree;
      default:  state_q <= StFree;
    endcase
    if (reset) begin
      state_q <= StFree;
      who_q   <= '0;
    end
  end
endmodule

`default_nettype wire
