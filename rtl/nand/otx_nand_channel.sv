// SPDX-License-Identifier: Apache-2.0
// One NAND channel: takes one operation per way, keeps all its ways' arrays at work and one shared SDR bus busy between
// them.
//
// `cmd` may change `cmd_way` until it is taken: `cmd_ready` follows `cmd_way` and is low while that way has a command
// under way (`way_idle` shows all ways). Commands to different ways finish in any order.
// `wreq`/`wdata`: 512 beats per request, in the order of the requests. `rdata`: 512 beats of one page without others
// between, all taken before its `cpl`. READ data is sent whatever its status turns out to be (CRC and BLANK come after
// the beats), except that TIMEOUT sends none. Fields of `cpl` echo the command unless the page's OOB or an
// identification replaces them.
// A way has two slots for commands when TSuspNs, Cache or Planes say that the part may do more than one thing:
// `cmd_slot` is where the command offered would go, and the other streams name the slot of the command they belong to.
// `way_accepts_read`, `way_accepts_program`, `way_accepts_erase`: a READ, PROGRAM or ERASE is taken beside the one
// under way: a READ beside a PROGRAM or ERASE, which is suspended for it up to `SuspendReads` times (it must not be of
// the page or block that is programmed or erased), and with cache or several planes an operation of the same kind. So
// far as `capabilities`, what may be used of the part, has the bit: 0 cache program (of a PROGRAM with
// `cmd_allow_cache` that is not the last page of its block, so that its completion may come up to 8 us later; the next
// one of the same block goes to the chip meanwhile), 1 cache read, 2 several planes, 3 READ STATUS ENHANCED (78h).
// `capabilities` must not change while a command is under way.
// Array operations overlap; page transfers share the bus, brief turns go first. A page moves at one byte per tRC or tWC
// of the timing mode.
// `wdata` and `rdata` pass a stream register each, which takes up to two beats more when the other end is stalled. A
// stalled `wdata`, `rdata` or `cpl` holds the bus for all ways. TIMEOUT after twice the longest busy time (up to 4 us
// and one clock per us later); all operations but RESET and STATUS then also wait for R/B# before they start.
// `tick` (otx_nand_tick) counts busy times.
// `mode` is the SDR timing mode of all ways: ONFI 0 to 5, 6 the part's own times (the parameters), 7 as 0. A change
// counts when no turn is on the bus, so before the next one. SET_FEATURES sends the four bytes of `cmd_lpn`, lowest
// first, to the feature `cmd_kind`, GET_FEATURES returns them in `cpl_lpn`; READ_ID reads from address `cmd_kind`.
// Reset forgets all commands under way: no completion comes. Nothing is sent to the chips until a command comes; the
// first for each way must be RESET, in mode 0.

`default_nettype none

module otx_nand_channel #(
    parameter int Ways = 2,  // 1 to 16
    parameter int ClkPs = 10000,  // clock period, ps
    parameter int RowBytes = 3,  // 2 or 3
    parameter int TWpNs = 12,
    parameter int TWhNs = 10,
    parameter int TWcNs = 25,
    parameter int TRpNs = 12,
    parameter int TRehNs = 10,
    parameter int TRcNs = 25,
    parameter int TReaNs = 20,
    parameter int TIoNs = 5,  // allowance for pads and board in the access time of a read
    parameter int TClsNs = 12,
    parameter int TClhNs = 5,
    parameter int TCsNs = 20,
    parameter int TChNs = 5,
    parameter int TAlsNs = 12,
    parameter int TAlhNs = 5,
    parameter int TDsNs = 12,
    parameter int TDhNs = 5,
    parameter int TAdlNs = 100,
    parameter int TWhrNs = 60,
    parameter int TRhwNs = 100,
    parameter int TWbNs = 100,
    parameter int TRrNs = 20,
    parameter int TRstMaxNs = 500000,
    parameter int TProgMaxNs = 700000,
    parameter int TBersMaxNs = 2000000,
    parameter int TRMaxNs = 25000,
    parameter int TSuspNs = 0,  // longest time the part takes to suspend a program or erase, 0: it cannot
    parameter int SuspendReads = 4,
    parameter bit Cache = 1'b0,  // cache operations, of a part that has them (`capabilities`)
    // 1, 2 or 4: of a part that has them (`capabilities`), by the lowest bits of the block
    parameter int Planes = 1,
    parameter int PageBits = 6,  // of a page in its block
    parameter bit Scramble = 1'b0,  // data bytes are stored XOR a key of their row (otx_nand_scrambler)
    // wrong bits of a chunk that are corrected: 8, or 24 (parts with 192 spare bytes or more)
    parameter int T = 8,
    localparam int ChunkBits = $clog2(otx_page_pkg::chunks(T)),
    localparam int LengthBits = otx_page_pkg::field(T) - 3,
    localparam int CountBits = $clog2(2 * T)
) (
    input  logic                  clk,
    input  logic                  reset,
    input  logic                  tick,
    input  logic [           2:0] mode,
    input  logic [           3:0] capabilities,
    input  logic                  cmd_valid,
    output logic                  cmd_ready,
    output logic                  cmd_slot,
    input  logic [           3:0] cmd_way,
    input  logic [           3:0] cmd_op,
    input  logic [          23:0] cmd_row,
    input  logic [           7:0] cmd_kind,
    input  logic [          31:0] cmd_generation,
    input  logic [          31:0] cmd_lpn,
    input  logic [          47:0] cmd_sequence,
    input  logic                  cmd_allow_cache,
    output logic                  wreq_valid,
    input  logic                  wreq_ready,
    output logic [           3:0] wreq_way,
    output logic                  wreq_slot,
    input  logic                  wdata_valid,
    output logic                  wdata_ready,
    input  logic [          63:0] wdata_data,
    input  logic                  wdata_last,           // the channel counts for itself
    output logic                  rdata_valid,
    input  logic                  rdata_ready,
    output logic [           3:0] rdata_way,
    output logic                  rdata_slot,
    output logic [          63:0] rdata_data,
    output logic                  rdata_last,
    output logic                  cpl_valid,
    input  logic                  cpl_ready,
    output logic [           3:0] cpl_way,
    output logic [           2:0] cpl_status,
    output logic [           7:0] cpl_kind,
    output logic [          31:0] cpl_generation,
    output logic [          31:0] cpl_lpn,
    output logic [          47:0] cpl_sequence,
    output logic [ CountBits-1:0] cpl_corrected,
    output logic                  cpl_slot,
    output logic                  fix_valid,
    input  logic                  fix_ready,
    output logic [           3:0] fix_way,
    output logic                  fix_slot,
    output logic [          11:0] fix_byte,
    output logic [           7:0] fix_mask,
    output logic                  ask_valid,            // to and from otx_nand_corrector
    input  logic                  ask_ready,
    output logic [ ChunkBits-1:0] ask_chunk,
    output logic [           7:0] ask_byte,
    input  logic                  found_valid,
    output logic                  found_ready,
    input  logic [LengthBits-1:0] found_byte,
    input  logic [           7:0] found_mask,
    input  logic                  found_last,
    input  logic                  found_failed,
    input  logic [ CountBits-1:0] found_count,
    input  logic [          31:0] found_sum,
    output logic [      Ways-1:0] way_idle,
    output logic [      Ways-1:0] way_accepts_read,
    output logic [      Ways-1:0] way_accepts_program,
    output logic [      Ways-1:0] way_accepts_erase,
    output logic [      Ways-1:0] nand_ce_n,
    input  logic [      Ways-1:0] nand_rb_n,
    output logic                  nand_cle,
    output logic                  nand_ale,
    output logic                  nand_we_n,
    output logic                  nand_re_n,
    output logic                  nand_wp_n,
    output logic [           7:0] nand_dq_o,
    output logic                  nand_dq_oe,
    input  logic [           7:0] nand_dq_i
);
  function automatic int larger(input int a, input int b);
    larger = a > b ? a : b;
  endfunction

  // 400: tADL of the modes
  localparam int LongestNs = larger(
      larger(
          larger(400, TAdlNs), larger(TWhrNs, TRhwNs)
      ),
      larger(
          larger(TWcNs + TDsNs + TClsNs + TAlsNs, TRcNs + TReaNs + TIoNs), larger(larger(TCsNs, TRrNs), TWbNs))
  );
  localparam int Bits = $clog2(LongestNs * 1000 / ClkPs + 8);  // of a count of clocks on the bus
  localparam int WayBits = Ways > 1 ? $clog2(Ways) : 1;

  if (Ways < 1 || Ways > 16) begin : g_check_ways
    $fatal(1, "otx_nand_channel: Ways must be 1 to 16");
  end
  if (RowBytes != 2 && RowBytes != 3) begin : g_check_row_bytes
    $fatal(1, "otx_nand_channel: RowBytes must be 2 or 3");
  end

  localparam bit Second = TSuspNs != 0 || Cache || Planes > 1;
  localparam logic [3:0] OpRead = otx_facts_pkg::OpRead,
      OpProgram = otx_facts_pkg::OpProgram, OpErase = otx_facts_pkg::OpErase;

  logic [143:0] commands[Second ? 2**(WayBits+1) : Ways];  // what the command said, per slot and way
  logic [143:0] command;
  logic [Ways-1:0]
      take,
      request,
      brief,
      urgent,
      begins,
      issued,
      done,
      collect,
      timed_out,
      pause,
      resumes,
      check_suspended,
      chained,
      paired,
      check_array_ready,
      use_failc,
      goes_on,
      take_slot,
      slots;
  logic turn_goes_on, went_chained, went_paired, slot;
  logic [Ways*4-1:0] op;
  logic pick_valid, start, turn_issued, turn_done;
  logic [3:0] pick_way, way;
  logic resting;
  logic [2:0] mode_q;  // that the bus is in
  logic [Bits-1:0] we_low, we_high, re_low, re_high, sample_after, adl, whr, rhw, wb, cs;
  logic bus_valid, bus_ready, bus_quiet, back_valid;
  logic [1:0] bus_kind;
  logic [7:0] bus_byte, back_byte;
  // otx_nand_turn's ends of wdata, rdata, cpl and fix
  logic in_valid, in_ready, out_valid, out_ready, out_last, end_valid, end_ready, wrong_valid, wrong_ready;
  logic [63:0] in_data, out_data;
  logic unused;

  assign unused = wdata_last;
  assign slot = slots[way[WayBits-1:0]];
  assign wreq_slot = slot;
  assign cpl_slot = slot;
  assign fix_slot = slot;
  assign wreq_way = way;
  assign cpl_way = way;
  assign cpl_valid = end_valid && !rdata_valid;  // the last beat is taken before its completion is offered
  assign end_ready = cpl_ready && !rdata_valid;
  assign fix_way = way;
  assign fix_valid = wrong_valid && !rdata_valid;
  assign wrong_ready = fix_ready && !rdata_valid;

  always_comb begin
    cmd_ready = 1'b0;
    cmd_slot  = 1'b0;
    for (int i = 0; i < Ways; i++)
    if (cmd_way == 4'(i)) begin
      cmd_ready = way_idle[i] || (way_accepts_read[i] && cmd_op == OpRead) ||
          (way_accepts_program[i] && cmd_op == OpProgram) || (way_accepts_erase[i] && cmd_op == OpErase);
      cmd_slot = take_slot[i];
    end
  end

  for (genvar i = 0; i < Ways; i++) begin : g_way
    assign take[i] = cmd_valid && cmd_ready && cmd_way == 4'(i);
    assign begins[i] = start && pick_way == 4'(i);
    assign issued[i] = turn_issued && way == 4'(i);
    assign done[i] = turn_done && way == 4'(i);
    assign goes_on[i] = turn_goes_on && way == 4'(i);
    otx_nand_way #(
        .Bits(Bits),
        .TRstMaxNs(TRstMaxNs),
        .TProgMaxNs(TProgMaxNs),
        .TBersMaxNs(TBersMaxNs),
        .TRMaxNs(TRMaxNs),
        .TSuspNs(TSuspNs),
        .SuspendReads(SuspendReads),
        .Cache(Cache),
        .Planes(Planes),
        .PageBits(PageBits)
    ) state (
        .clk,
        .reset,
        .tick,
        .wb,
        .capabilities(capabilities[2:0]),
        .take(take[i]),
        .take_op(cmd_op),
        .take_row(cmd_row),
        .take_allow_cache(cmd_allow_cache),
        .take_slot(take_slot[i]),
        .idle(way_idle[i]),
        .op(op[i*4+:4]),
        .slot(slots[i]),
        .request(request[i]),
        .brief(brief[i]),
        .urgent(urgent[i]),
        .start(begins[i]),
        .issued(issued[i]),
        .done(done[i]),
        .collect(collect[i]),
        .timed_out(timed_out[i]),
        .accepts_read(way_accepts_read[i]),
        .accepts_program(way_accepts_program[i]),
        .accepts_erase(way_accepts_erase[i]),
        .pause(pause[i]),
        .resumes(resumes[i]),
        .check_suspended(check_suspended[i]),
        .chained(chained[i]),
        .paired(paired[i]),
        .went_chained,
        .went_paired,
        .check_array_ready(check_array_ready[i]),
        .use_failc(use_failc[i]),
        .goes_on(goes_on[i]),
        .nand_rb_n(nand_rb_n[i])
    );
  end

  if (Second) begin : g_two
    assign command = commands[{slot, way[WayBits-1:0]}];
    always_ff @(posedge clk)
      if (cmd_valid && cmd_ready)
        commands[{cmd_slot, cmd_way[WayBits-1:0]}] <= {cmd_sequence, cmd_lpn, cmd_generation, cmd_kind, cmd_row};
  end else begin : g_one
    assign command = commands[way[WayBits-1:0]];
    always_ff @(posedge clk)
      if (cmd_valid && cmd_ready)
        commands[cmd_way[WayBits-1:0]] <= {cmd_sequence, cmd_lpn, cmd_generation, cmd_kind, cmd_row};
  end

  otx_nand_arbiter #(
      .Ways(Ways)
  ) arbiter (
      .clk,
      .reset,
      .request,
      .brief,
      .urgent,
      .taken(start),
      .pick_valid,
      .pick_way
  );

  otx_nand_turn #(
      .Ways(Ways),
      .RowBytes(RowBytes),
      .Bits(Bits),
      .Scramble(Scramble),
      .T(T)
  ) turn (
      .clk,
      .reset,
      .cs,
      .resting,
      .pick_valid,
      .pick_way,
      .start,
      .way,
      .op(op[way[WayBits-1:0]*4+:4]),
      .collect(collect[way[WayBits-1:0]]),
      .timed_out(timed_out[way[WayBits-1:0]]),
      .pause(pause[way[WayBits-1:0]]),
      .resumes(resumes[way[WayBits-1:0]]),
      .check_suspended(check_suspended[way[WayBits-1:0]]),
      .chained(chained[way[WayBits-1:0]]),
      .paired(paired[way[WayBits-1:0]]),
      .check_array_ready(check_array_ready[way[WayBits-1:0]]),
      .use_failc(use_failc[way[WayBits-1:0]]),
      .status_enhanced(capabilities[3]),
      .went_chained,
      .went_paired,
      .goes_on(turn_goes_on),
      .row(command[23:0]),
      .kind(command[31:24]),
      .generation(command[63:32]),
      .lpn(command[95:64]),
      .sequence_number(command[143:96]),
      .issued(turn_issued),
      .done(turn_done),
      .wreq_valid,
      .wreq_ready,
      .wdata_valid(in_valid),
      .wdata_ready(in_ready),
      .wdata_data(in_data),
      .rdata_valid(out_valid),
      .rdata_ready(out_ready),
      .rdata_data(out_data),
      .rdata_last(out_last),
      .cpl_valid(end_valid),
      .cpl_ready(end_ready),
      .cpl_status,
      .cpl_kind,
      .cpl_generation,
      .cpl_lpn,
      .cpl_sequence,
      .cpl_corrected,
      .fix_valid(wrong_valid),
      .fix_ready(wrong_ready),
      .fix_byte,
      .fix_mask,
      .ask_valid,
      .ask_ready,
      .ask_chunk,
      .ask_byte,
      .found_valid,
      .found_ready,
      .found_byte,
      .found_mask,
      .found_last,
      .found_failed,
      .found_count,
      .found_sum,
      .bus_valid,
      .bus_ready,
      .bus_kind,
      .bus_byte,
      .back_valid,
      .back_byte,
      .bus_quiet,
      .nand_ce_n
  );

  otx_skid #(
      .Width(64)
  ) wdata_skid (
      .clk,
      .reset,
      .up_valid(wdata_valid),
      .up_ready(wdata_ready),
      .up_payload(wdata_data),
      .down_valid(in_valid),
      .down_ready(in_ready),
      .down_payload(in_data)
  );

  otx_skid #(
      .Width(70)
  ) rdata_skid (
      .clk,
      .reset,
      .up_valid(out_valid),
      .up_ready(out_ready),
      .up_payload({slot, way, out_last, out_data}),
      .down_valid(rdata_valid),
      .down_ready(rdata_ready),
      .down_payload({rdata_slot, rdata_way, rdata_last, rdata_data})
  );

  otx_nand_times #(
      .ClkPs (ClkPs),
      .Bits  (Bits),
      .TWpNs (TWpNs),
      .TWhNs (TWhNs),
      .TWcNs (TWcNs),
      .TRpNs (TRpNs),
      .TRehNs(TRehNs),
      .TRcNs (TRcNs),
      .TReaNs(TReaNs),
      .TIoNs (TIoNs),
      .TClsNs(TClsNs),
      .TClhNs(TClhNs),
      .TCsNs (TCsNs),
      .TChNs (TChNs),
      .TAlsNs(TAlsNs),
      .TAlhNs(TAlhNs),
      .TDsNs (TDsNs),
      .TDhNs (TDhNs),
      .TAdlNs(TAdlNs),
      .TWhrNs(TWhrNs),
      .TRhwNs(TRhwNs),
      .TWbNs (TWbNs),
      .TRrNs (TRrNs)
  ) times (
      .clk,
      .mode(mode_q),
      .we_low,
      .we_high,
      .re_low,
      .re_high,
      .sample_after,
      .adl,
      .whr,
      .rhw,
      .wb,
      .cs
  );

  otx_nand_bus #(
      .Bits(Bits)
  ) bus (
      .clk,
      .reset,
      .we_low,
      .we_high,
      .re_low,
      .re_high,
      .sample_after,
      .adl,
      .whr,
      .rhw,
      .req_valid(bus_valid),
      .req_ready(bus_ready),
      .req_kind(bus_kind),
      .req_byte(bus_byte),
      .rsp_valid(back_valid),
      .rsp_byte(back_byte),
      .quiet(bus_quiet),
      .nand_cle,
      .nand_ale,
      .nand_we_n,
      .nand_re_n,
      .nand_dq_o,
      .nand_dq_oe,
      .nand_dq_i
  );

  always_ff @(posedge clk) begin
    if (resting) mode_q <= mode;
    nand_wp_n <= 1'b1;
    if (reset) begin
      mode_q <= '0;
      nand_wp_n <= 1'b0;
    end
  end
endmodule

`default_nettype wire
