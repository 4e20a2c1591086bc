// SPDX-License-Identifier: Apache-2.0
// How a page of 4,096 data bytes is divided into code words (docs/ecc.md), by T, the wrong bits of a chunk that can be
// corrected: 8 (chunks of 512 bytes, parity of 13) or 24 (1,024 and 42). The only place in the RTL that says so.

`default_nettype none

package otx_page_pkg;
  // of a page; of its spare bytes, those that the last chunk has beside its data
  localparam int DataBytes = 4096, SpareBytes = 24;

  function automatic bit fits(input int t);
    fits = t == 8 || t == 24;
  endfunction

  // M of the field GF(2^M).
  function automatic int field(input int t);
    field = t == 24 ? 14 : 13;
  endfunction

  function automatic int chunks(input int t);
    chunks = t == 24 ? 4 : 8;
  endfunction

  // Data bytes of a chunk.
  function automatic int chunk_bytes(input int t);
    chunk_bytes = DataBytes / chunks(t);
  endfunction

  // Bytes of a chunk that are searched in a clock: at 100 MHz its answer takes at most 10 us.
  function automatic int search_bytes(input int t);
    search_bytes = t < 16 ? 1 : 2;
  endfunction

  // Of a chunk.
  function automatic int parity_bytes(input int t);
    parity_bytes = field(t) * t / 8;
  endfunction

  // Spare bytes of a page that are used, the parity with them.
  function automatic int spare_bytes(input int t);
    spare_bytes = SpareBytes + chunks(t) * parity_bytes(t);
  endfunction
endpackage

`default_nettype wire
