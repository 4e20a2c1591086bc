// SPDX-License-Identifier: Apache-2.0
// A memory with a stated latency, in place of a board's DRAM: an AXI4 slave (64 bits, or a multiple) for the core and a
// 32-bit Wishbone port for the processor.
//
// Reads: up to Outstanding at once, answered in order; the first beat comes Latency clocks after the address was taken,
// then one per clock. A beat's data is read when it is put on the port. Writes: as many addresses wait; data is taken
// one beat per clock once its address is there, stands in memory after that clock, and the answer follows Latency
// clocks after the last beat. Wishbone: Latency + 2 clocks per access. Outside of Bytes: SLVERR on AXI, all ones on
// Wishbone; SLVERR also where a test has made the memory bad (otx_sim_mem_set_bad), and nothing is written there. A
// burst that is not INCR of full beats, or that crosses 4 KiB, ends the simulation. Power-up contents are a pattern
// that is not zero; reset keeps the contents and forgets what is under way. The words live in C++ (otx_sim_mem.cpp),
// where untouched pages cost nothing.
`default_nettype none

module otx_sim_mem #(
    parameter logic [31:0] Base = 0,  // byte address of the first word
    parameter int Bytes = 4096,
    parameter int Latency = 8,  // clocks, 1 or more
    parameter int IdWidth = 4,
    parameter int DataBytes = 8,  // of a beat: 8 or 16
    parameter int Outstanding = 8  // a power of two
) (
    input wire clk,
    input wire reset,

    input wire axi_aw_valid,
    output wire axi_aw_ready,
    input wire [31:0] axi_aw_addr,
    input wire [IdWidth-1:0] axi_aw_id,
    input wire [7:0] axi_aw_len,
    input wire [2:0] axi_aw_size,
    input wire [1:0] axi_aw_burst,
    input wire axi_w_valid,
    output wire axi_w_ready,
    input wire [8*DataBytes-1:0] axi_w_data,
    input wire [DataBytes-1:0] axi_w_strb,
    input wire axi_w_last,
    output wire axi_b_valid,
    input wire axi_b_ready,
    output wire [IdWidth-1:0] axi_b_id,
    output wire [1:0] axi_b_resp,
    input wire axi_ar_valid,
    output wire axi_ar_ready,
    input wire [31:0] axi_ar_addr,
    input wire [IdWidth-1:0] axi_ar_id,
    input wire [7:0] axi_ar_len,
    input wire [2:0] axi_ar_size,
    input wire [1:0] axi_ar_burst,
    output reg axi_r_valid,
    input wire axi_r_ready,
    output reg [8*DataBytes-1:0] axi_r_data,
    output reg [IdWidth-1:0] axi_r_id,
    output reg [1:0] axi_r_resp,
    output reg axi_r_last,

    input wire [29:0] wb_adr,
    input wire [31:0] wb_dat_w,
    output reg [31:0] wb_dat_r,
    input wire [3:0] wb_sel,
    input wire wb_cyc,
    input wire wb_stb,
    output reg wb_ack,
    input wire wb_we
);
  import "DPI-C" function chandle otx_mem_open(
    input longint bytes,
    input int base
  );
  import "DPI-C" function longint otx_mem_read(
    input chandle mem,
    input int index
  );
  import "DPI-C" function void otx_mem_write(
    input chandle mem,
    input int index,
    input longint data,
    input byte strobes
  );
  import "DPI-C" function int otx_mem_bad(input int addr);

  localparam int PointerBits = $clog2(Outstanding);
  localparam int Words = DataBytes / 8;  // of a beat
  localparam int BeatBits = $clog2(DataBytes);
  localparam logic [1:0] Okay = 2'b00, SlvErr = 2'b10;

  chandle mem;
  initial begin
    if (DataBytes != 8 && DataBytes != 16) $fatal(1, "otx_sim_mem: a beat of %0d bytes is neither 8 nor 16", DataBytes);
    if (Latency < 1 || 1 << PointerBits != Outstanding)
      $fatal(1, "otx_sim_mem: latency %0d or %0d outstanding bursts is wrong", Latency, Outstanding);
    mem = otx_mem_open(64'(Bytes), int'(Base));
  end

  function automatic logic outside(input logic [31:0] addr);
    outside = addr - Base >= 32'(Bytes);
  endfunction

  function automatic logic fails(input logic [31:0] addr);
    fails = outside(addr) || otx_mem_bad(int'(addr)) != 0;
  endfunction

  function automatic void check(input logic [31:0] addr, input logic [7:0] len, input logic [2:0] size,
                                input logic [1:0] burst);
    if (burst != 2'b01 || size != 3'(BeatBits) || addr[BeatBits-1:0] != 0)
      $fatal(1, "otx_sim_mem: burst %0d of size %0d at %h is not INCR of whole beats", burst, size, addr);
    if (32'(addr[11:BeatBits]) + 32'(len) > 4096 / DataBytes - 1)
      $fatal(1, "otx_sim_mem: a burst of %0d beats at %h crosses 4 KiB", len + 1, addr);
  endfunction

  typedef struct packed {
    logic [31:0] addr;
    logic [7:0]  len;
  } burst_t;

  reg [31:0] now_q;

  // Reads
  burst_t reads[Outstanding];
  reg [IdWidth-1:0] read_ids[Outstanding];
  reg [31:0] read_dues[Outstanding];  // clock of the first beat
  reg [PointerBits:0] read_in_q, read_out_q;
  reg [7:0] read_beat_q;
  burst_t read;
  assign read = reads[read_out_q[PointerBits-1:0]];
  assign axi_ar_ready = read_in_q - read_out_q != (PointerBits + 1)'(Outstanding);
  wire read_due = read_in_q != read_out_q && $signed(now_q - read_dues[read_out_q[PointerBits-1:0]]) >= 0;
  wire [31:0] read_addr = read.addr + (32'(read_beat_q) << BeatBits);

  always_ff @(posedge clk) begin
    if (axi_ar_valid && axi_ar_ready) begin
      check(axi_ar_addr, axi_ar_len, axi_ar_size, axi_ar_burst);
      reads[read_in_q[PointerBits-1:0]] <= '{axi_ar_addr, axi_ar_len};
      read_ids[read_in_q[PointerBits-1:0]] <= axi_ar_id;
      read_dues[read_in_q[PointerBits-1:0]] <= now_q + 32'(Latency - 1);
      read_in_q <= read_in_q + 1'b1;
    end
    if (!axi_r_valid || axi_r_ready) begin
      axi_r_valid <= read_due;
      if (read_due) begin
        for (int w = 0; w < Words; w++)
        axi_r_data[64*w+:64] <= outside(read_addr) ? '1 : otx_mem_read(mem, int'((read_addr - Base) >> 3) + w);
        axi_r_resp <= fails(read_addr) ? SlvErr : Okay;
        axi_r_id <= read_ids[read_out_q[PointerBits-1:0]];
        axi_r_last <= read_beat_q == read.len;
        read_beat_q <= read_beat_q == read.len ? '0 : read_beat_q + 1'b1;
        if (read_beat_q == read.len) read_out_q <= read_out_q + 1'b1;
      end
    end
    if (reset) begin
      read_in_q   <= '0;
      read_out_q  <= '0;
      read_beat_q <= '0;
      axi_r_valid <= 1'b0;
    end
  end

  // Writes: [b_out, w) answers not yet given, [w, in) addresses whose data is not yet there
  burst_t writes[Outstanding];
  reg [IdWidth-1:0] write_ids[Outstanding];
  reg [31:0] write_dues[Outstanding];  // clock of the answer
  reg [PointerBits:0] write_in_q, write_at_q, write_out_q;
  reg [7:0] write_beat_q;
  reg write_error_q, write_errors[Outstanding];
  burst_t write;
  assign write = writes[write_at_q[PointerBits-1:0]];
  assign axi_aw_ready = write_in_q - write_out_q != (PointerBits + 1)'(Outstanding);
  assign axi_w_ready = write_in_q != write_at_q;
  wire [31:0] write_addr = write.addr + (32'(write_beat_q) << BeatBits);
  assign axi_b_valid = write_at_q != write_out_q && $signed(now_q - write_dues[write_out_q[PointerBits-1:0]]) >= 0;
  assign axi_b_id = write_ids[write_out_q[PointerBits-1:0]];
  assign axi_b_resp = write_errors[write_out_q[PointerBits-1:0]] ? SlvErr : Okay;

  always_ff @(posedge clk) begin
    now_q <= now_q + 1;
    if (axi_aw_valid && axi_aw_ready) begin
      check(axi_aw_addr, axi_aw_len, axi_aw_size, axi_aw_burst);
      writes[write_in_q[PointerBits-1:0]] <= '{axi_aw_addr, axi_aw_len};
      write_ids[write_in_q[PointerBits-1:0]] <= axi_aw_id;
      write_in_q <= write_in_q + 1'b1;
    end
    if (axi_w_valid && axi_w_ready) begin
      if (axi_w_last != (write_beat_q == write.len))
        $fatal(1, "otx_sim_mem: last is wrong at beat %0d of %0d", write_beat_q + 1, write.len + 1);
      for (int w = 0; w < Words; w++)
      if (!fails(write_addr))
        otx_mem_write(mem, int'((write_addr - Base) >> 3) + w, axi_w_data[64*w+:64], axi_w_strb[8*w+:8]);
      write_beat_q  <= axi_w_last ? '0 : write_beat_q + 1'b1;
      write_error_q <= !axi_w_last && (write_error_q || fails(write_addr));
      if (axi_w_last) begin
        write_dues[write_at_q[PointerBits-1:0]] <= now_q + 32'(Latency);
        write_errors[write_at_q[PointerBits-1:0]] <= write_error_q || fails(write_addr);
        write_at_q <= write_at_q + 1'b1;
      end
    end
    if (axi_b_valid && axi_b_ready) write_out_q <= write_out_q + 1'b1;
    if (reset) begin
      now_q         <= '0;
      write_in_q    <= '0;
      write_at_q    <= '0;
      write_out_q   <= '0;
      write_beat_q  <= '0;
      write_error_q <= 1'b0;
    end
  end

  // Processor
  reg [31:0] wb_wait_q;
  wire [31:0] wb_addr = {wb_adr, 2'b00};
  wire wb_access = wb_cyc && wb_stb && !wb_ack;
  wire wb_due = wb_access && wb_wait_q == 32'(Latency);

  always_ff @(posedge clk) begin
    wb_wait_q <= wb_access && !wb_due ? wb_wait_q + 1 : '0;
    wb_ack <= wb_due;
    if (wb_due) begin
      wb_dat_r <= outside(wb_addr) ? '1 : 32'(otx_mem_read(mem, int'((wb_addr - Base) >> 3)) >> (wb_addr[2] ? 32 : 0));
      if (wb_we && !outside(wb_addr))
        otx_mem_write(mem, int'((wb_addr - Base) >> 3), {wb_dat_w, wb_dat_w},
                      wb_addr[2] ? {wb_sel, 4'b0} : {4'b0, wb_sel});
    end
    if (reset) begin
      wb_wait_q <= '0;
      wb_ack <= 1'b0;
    end
  end
endmodule
`default_nettype wire
