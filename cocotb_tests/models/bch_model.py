# SPDX-License-Identifier: Apache-2.0
"""Binary BCH codes from their definition: nothing is shared with the RTL, no table and no library is used, and the key
equation is solved by Euclid's algorithm.

A code word is a polynomial over GF(2); the first bit of the first byte (bit 7) is its highest coefficient. Data comes
first, then m*t bits of parity, which make it a multiple of the generator polynomial. `inverted` codes send the inverted
word of the inverted data, so FFh in all bytes is a code word of every length.
"""

PRIMITIVE = {8: 0x11D, 9: 0x211, 10: 0x409, 11: 0x805, 12: 0x1053, 13: 0x201B, 14: 0x402B}


def degree(a):
    return a.bit_length() - 1


def multiply(a, b):
    """Product of two polynomials over GF(2), as integers."""
    out = 0
    while b:
        if b & 1:
            out ^= a
        a, b = a << 1, b >> 1
    return out


def remainder(a, b):
    while degree(a) >= degree(b):
        a ^= b << (degree(a) - degree(b))
    return a


class Field:
    """GF(2^m): elements are integers below 2^m."""

    def __init__(self, m, primitive):
        self.m, self.size = m, (1 << m) - 1
        self.exp, self.log, a = [], {}, 1
        for i in range(self.size):
            self.exp.append(a)
            self.log[a] = i
            a = remainder(a << 1, primitive)
        assert len(self.log) == self.size, "polynomial is not primitive"

    def mul(self, a, b):
        return self.exp[(self.log[a] + self.log[b]) % self.size] if a and b else 0

    def div(self, a, b):
        return self.exp[(self.log[a] - self.log[b]) % self.size] if a else 0

    def at(self, poly, x):
        """Value of a polynomial (list of coefficients, that of x^0 first) at x."""
        out = 0
        for c in reversed(poly):
            out = self.mul(out, x) ^ c
        return out

    def minimal(self, i):
        """Minimal polynomial of alpha^i over GF(2), as an integer."""
        poly = [1]
        for e in sorted({i * 2**k % self.size for k in range(self.m)}):
            root, longer = self.exp[e], [0, *poly]
            for k, c in enumerate(poly):
                longer[k] ^= self.mul(c, root)
            poly = longer
        assert set(poly) <= {0, 1}
        return sum(c << k for k, c in enumerate(poly))


class Bch:
    def __init__(self, m, t, inverted=False):
        self.m, self.t, self.field, self.inverted = m, t, Field(m, PRIMITIVE[m]), inverted
        self.generator = 1
        for poly in dict.fromkeys(self.field.minimal(i) for i in range(1, 2 * t, 2)):
            self.generator = multiply(self.generator, poly)
        self.bits = degree(self.generator)
        assert self.bits == m * t and self.bits % 8 == 0
        self.parity_bytes, self.max_bytes = self.bits // 8, self.field.size // 8
        self._rest = [remainder(b << self.bits, self.generator) for b in range(256)]

    def _flip(self, data):
        return bytes(b ^ 0xFF for b in data) if self.inverted else bytes(data)

    def encode(self, data):
        """Parity of the data, as bytes."""
        rest, mask = 0, (1 << self.bits) - 1
        for byte in self._flip(data):
            rest = (rest << 8 & mask) ^ self._rest[(rest >> (self.bits - 8)) ^ byte]
        return self._flip(rest.to_bytes(self.parity_bytes, "big"))

    def syndromes(self, word):
        """S1 to S2t of a whole code word."""
        bits = int.from_bytes(self._flip(word), "big")
        ones = [i for i in range(8 * len(word)) if bits >> i & 1]
        out = []
        for s in range(1, 2 * self.t + 1):
            value = 0
            for i in ones:
                value ^= self.field.exp[i * s % self.field.size]
            out.append(value)
        return out

    def decode(self, word):
        """{byte: mask} of the bits that are wrong, or None when they are more than t."""
        f, t = self.field, self.t
        s = self.syndromes(word)
        if not any(s):
            return {}

        # Euclid on x^2t and S(x) until the remainder's degree is below t; v is the locator then
        def trim(p):
            while p and not p[-1]:
                p.pop()
            return p

        a, b, u, v = [0] * (2 * t) + [1], trim(list(s)), [], [1]
        while len(b) > t:
            quotient, rest = [0] * (len(a) - len(b) + 1), list(a)
            for i in range(len(quotient) - 1, -1, -1):
                q = quotient[i] = f.div(rest[i + len(b) - 1], b[-1])
                for k, c in enumerate(b):
                    rest[i + k] ^= f.mul(q, c)
            new = list(u) + [0] * (len(quotient) + len(v) - len(u))
            for i, q in enumerate(quotient):
                for k, c in enumerate(v):
                    new[i + k] ^= f.mul(q, c)
            a, b, u, v = b, trim(rest), v, trim(new)
        places = [e for e in range(8 * len(word)) if f.at(v, f.exp[-e % f.size]) == 0]
        if not v or not v[0] or len(v) - 1 > t or len(places) != len(v) - 1:
            return None
        found = {}
        for e in places:
            byte = len(word) - 1 - e // 8
            found[byte] = found.get(byte, 0) | 1 << e % 8
        fixed = bytearray(word)
        for byte, mask in found.items():
            fixed[byte] ^= mask
        return None if any(self.syndromes(fixed)) else found
