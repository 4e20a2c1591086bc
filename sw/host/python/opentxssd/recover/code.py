# SPDX-License-Identifier: Apache-2.0
"""How a page is coded (docs/ecc.md): chunks of data, the last one with spare bytes 0 to 23, each with the parity of a
BCH code behind these. Data and parity are inverted words of the code, so an erased page is one.

`PageCode(t)`: t is 8 (in 512 bytes) or 24 (in 1,024). A page is its 4,096 data bytes and at least `spare` more.
"""

from functools import cache

from opentxssd.facts import BLOCK, NUMBER

FIELDS = NUMBER["FIELD_BYTES"]
CODES = {8: (512, 13, 0x201B), 24: (1024, 14, 0x402B)}  # data bytes of a chunk, m of GF(2^m), primitive polynomial


@cache
def field(m, primitive):
    """Powers of alpha, twice in a row, and their logarithms."""
    order, x, power, log = (1 << m) - 1, 1, [], {}
    for i in range(order):
        power.append(x)
        log[x] = i
        x = x << 1 ^ (primitive if x >> (m - 1) else 0)
    return power * 2, log


class PageCode:
    def __init__(self, t):
        self.t = t
        self.chunk, self.m, primitive = CODES[t]
        self.order, self.bits = (1 << self.m) - 1, self.m * t
        self.parity, self.chunks = self.bits // 8, BLOCK // self.chunk
        self.spare = FIELDS + self.chunks * self.parity
        self.power, self.log = field(self.m, primitive)
        generator = self._generator()
        self._steps = [self._divided(byte, generator) for byte in range(256)]

    def _times(self, a, b):
        return self.power[self.log[a] + self.log[b]] if a and b else 0

    def _generator(self):
        """The product of the minimal polynomials of the odd powers below 2t, bit k that of x^k."""
        g = [1]  # lowest power first
        for odd in range(1, 2 * self.t, 2):
            for i in range(self.m):
                root = self.power[(odd << i) % self.order]
                g = [a ^ self._times(b, root) for a, b in zip([0, *g], [*g, 0], strict=True)]
        return sum(bit << k for k, bit in enumerate(g))

    def _divided(self, byte, generator):
        rest = byte << self.bits
        for k in range(self.bits + 7, self.bits - 1, -1):
            if rest >> k & 1:
                rest ^= generator << (k - self.bits)
        return rest

    def _bytes(self, chunk):
        return self.chunk * chunk, self.chunk * (chunk + 1) + (FIELDS if chunk == self.chunks - 1 else 0)

    def _parity_at(self, chunk):
        return BLOCK + FIELDS + self.parity * chunk

    def zeroes(self, page, chunk):
        """Bits of a chunk and its parity that are 0."""
        begin, end = self._bytes(chunk)
        at = self._parity_at(chunk)
        ones = sum(int.from_bytes(part).bit_count() for part in (page[begin:end], page[at : at + self.parity]))
        return 8 * (end - begin + self.parity) - ones

    def correct(self, page, chunk):
        """Corrects a chunk of a bytearray; how many bits were wrong, or None: it cannot be corrected and stays as it
        is.
        """
        begin, end = self._bytes(chunk)
        at, low, rest = self._parity_at(chunk), (1 << self.bits) - 1, 0
        steps, top = self._steps, self.bits - 8
        for byte in page[begin:end]:
            rest = (rest << 8 & low) ^ steps[rest >> top ^ byte ^ 0xFF]
        wrong = rest ^ int.from_bytes(page[at : at + self.parity]) ^ low
        if not wrong:
            return 0
        places = self._places(self._syndromes(wrong), 8 * (end - begin + self.parity))
        if places is None:
            return None
        for k in places:
            byte = at + self.parity - 1 - k // 8 if k < self.bits else end - 1 - (k - self.bits) // 8
            page[byte] ^= 1 << k % 8
        return len(places)

    def _syndromes(self, wrong):
        ones = [k for k in range(self.bits) if wrong >> k & 1]
        found = []
        for j in range(1, 2 * self.t + 1):
            value = 0
            for k in ones:
                value ^= self.power[j * k % self.order]
            found.append(value)
        return found

    def _locator(self, s):
        """The error locator (Berlekamp, Massey), lowest power first; None: more than t bits are wrong."""
        c, b, errors, gap, last = [1], [1], 0, 1, 1
        for n in range(2 * self.t):
            d = s[n]
            for i in range(1, min(errors, len(c) - 1) + 1):
                d ^= self._times(c[i], s[n - i])
            if not d:
                gap += 1
                continue
            old, factor = c, self.power[self.log[d] - self.log[last] + self.order]
            c = c + [0] * (len(b) + gap - len(c))
            for i, value in enumerate(b):
                c[i + gap] ^= self._times(factor, value)
            if 2 * errors > n:
                gap += 1
                continue
            errors, b, last, gap = n + 1 - errors, old, d, 1
        while len(c) > 1 and not c[-1]:
            c.pop()
        return c if errors <= self.t and len(c) == errors + 1 else None

    def _places(self, syndromes, bits):
        """The powers whose bits are wrong, of a word of so many bits."""
        locator = self._locator(syndromes)
        if locator is None:
            return None
        terms = [(self.log[value], i) for i, value in enumerate(locator) if value]
        found = []
        for k in range(bits):
            value = 0
            for log, i in terms:
                value ^= self.power[(log - i * k) % self.order]
            if not value:
                found.append(k)
        return found if len(found) == len(locator) - 1 else None
