// SPDX-License-Identifier: Apache-2.0
// Constants of binary BCH codes over GF(2^m), m from 5 to 15, worked out at elaboration: no table is written by hand
// but the primitive polynomials.
//
// An element is a number whose bit i stands for alpha^i; alpha is a root of the primitive polynomial. The generator
// polynomial for t errors has the roots alpha^1, alpha^3 to alpha^(2t-1) and their conjugates; `fits` tells whether
// these are m*t different ones and fill whole bytes, which the modules demand. Functions take m and t as arguments, so
// that one package serves all codes.

`default_nettype none

package otx_bch_pkg;
  // The primitive polynomial without its term x^m: the first in numerical order, as most software for BCH codes has it.
  function automatic logic [15:0] primitive_poly(input int m);
    case (m)
      5: primitive_poly = 16'h0005;
      6: primitive_poly = 16'h0003;
      7: primitive_poly = 16'h0003;
      8: primitive_poly = 16'h001D;
      9: primitive_poly = 16'h0011;
      10: primitive_poly = 16'h0009;
      11: primitive_poly = 16'h0005;
      12: primitive_poly = 16'h0053;
      13: primitive_poly = 16'h001B;
      14: primitive_poly = 16'h002B;
      default: primitive_poly = 16'h0003;  // 15
    endcase
  endfunction

  // The 2t roots have m*t different conjugates when 2t - 1 < 2^ceil(m/2).
  function automatic bit fits(input int m, input int t);
    fits = m >= 5 && m <= 15 && t >= 1 && 2 * t - 1 < (1 << ((m + 1) / 2)) && (m * t) % 8 == 0;
  endfunction

  // alpha^e; e may be negative.
  function automatic logic [15:0] power(input int m, input int e);
    logic [15:0] over;  // primitive polynomial with x^m, over x
    logic [16:0] poly, a;
    poly = {1'b0, primitive_poly(m)} | 17'(1 << m);
    over = poly[16:1];
    a = 17'd1;
    for (int i = 0; i < e; i++) a = (a << 1) ^ (a[5'(m-1)] ? poly : 17'd0);
    for (int i = 0; i > e; i--) a = (a >> 1) ^ (a[0] ? {1'b0, over} : 17'd0);
    power = a[15:0];
  endfunction

  // alpha^e, alpha^(e+by), alpha^(e+2*by) and so on: 32 columns of 16 bits, of which `count` are not 0.
  function automatic logic [511:0] powers(input int m, input int e, input int by, input int count);
    logic [16:0] poly, a;
    poly = {1'b0, primitive_poly(m)} | 17'(1 << m);
    a = {1'b0, power(m, e)};
    powers = 512'd0;
    for (int c = 0; c < count; c++) begin
      powers[{5'(c), 4'd0}+:16] = a[15:0];
      for (int i = 0; i < by; i++) a = (a << 1) ^ (a[5'(m-1)] ? poly : 17'd0);
    end
  endfunction

  // 32 columns of 16 bits as 16 rows of 32.
  function automatic logic [511:0] transposed(input logic [511:0] columns);
    transposed = 512'd0;
    for (int r = 0; r < 16; r++) for (int c = 0; c < 32; c++) transposed[{4'(r), 5'(c)}] = columns[{5'(c), 4'(r)}];
  endfunction

  // The sum of four terms at bit `b` of a byte, as 16 rows of 64: term `first` and the three after it, m bits each,
  // term j times alpha^(-b*j).
  function automatic logic [1023:0] group_rows(input int m, input int first, input int b);
    logic [1023:0] columns;
    columns = 1024'd0;
    for (int i = 0; i < 4; i++) columns = columns | (1024'(powers(m, -b * (first + i), 1, m)) << (16 * m * i));
    group_rows = 1024'd0;
    for (int r = 0; r < 16; r++) for (int c = 0; c < 64; c++) group_rows[{4'(r), 6'(c)}] = columns[{6'(c), 4'(r)}];
  endfunction

  // The generator polynomial without its term x^(m*t).
  function automatic logic [1023:0] generator(input int m, input int t);
    // the minimal polynomial of a root as it grows: 17 coefficients in lanes of 16 bits
    logic [287:0] factor, shifted, lanes, sum;
    logic [16:0] poly, root, a, square;
    logic [1023:0] whole, next;
    poly  = {1'b0, primitive_poly(m)} | 17'(1 << m);
    lanes = {18{16'd1}};
    whole = 1024'd1;
    for (int odd = 1; odd < 2 * t; odd = odd + 2) begin
      root   = {1'b0, power(m, odd)};
      factor = 288'd1;
      for (int n = 0; n < m; n++) begin
        // times (x + root), all coefficients at once; and the next root is the square of this one
        sum = factor << 16;
        shifted = factor;
        a = root;
        square = 17'd0;
        for (int i = 0; i < m; i++) begin
          if (root[5'(i)]) sum = sum ^ shifted;
          if (root[5'(i)]) square = square ^ a;
          shifted = ((shifted & ~(lanes << (m - 1))) << 1) ^
              (((shifted >> (m - 1)) & lanes) * 288'(poly[15:0] & 16'((1 << m) - 1)));
          a = (a << 1) ^ (a[5'(m-1)] ? poly : 17'd0);
        end
        factor = sum;
        root   = square;
      end
      next = 1024'd0;
      for (int i = 0; i <= m; i++) if (factor[9'(16*i)]) next = next ^ (whole << i);
      whole = next;
    end
    generator = whole & ~(1024'd1 << (m * t));
  endfunction
endpackage

`default_nettype wire
