# SPDX-License-Identifier: Apache-2.0
"""What greedy collection can do at best, for bench/g1.py.

`bound(alpha, pages)`: write amplification of greedy collection under uniform random writes of single pages, all LPNs
written; `alpha`: pages of the blocks that hold data, for each LPN; `pages`: of a block. With k = 1 + 1 / (2 pages),
X = 1/2 - pages / alpha * W(-k alpha exp(-k alpha)), W the main branch of Lambert's function: pages / (pages - X + 1)
(Desnoyers, "Analytic Modeling of SSD Write Performance", SYSTOR 2012). For large blocks it is
alpha / (alpha + W(-alpha exp(-alpha))) (Xiang and Kurkoski, arXiv 1110.4245).

`ideal(...)`: the same of a drive that is nothing but its data blocks: it takes the block with the fewest live pages of
all, moves at once and whole, into the block that the host's next pages go to. For small blocks and for patterns that
are not uniform, of which the formula says nothing.
"""

import math


def lambert(x):
    """W(x) for -1/e < x <= 0, by Newton's steps."""
    w = 0.0
    for _ in range(200):
        w -= (w * math.exp(w) - x) / (math.exp(w) * (w + 1))
    return w


def bound(alpha, pages):
    k = 1 + 1 / (2 * pages)
    x = 0.5 - pages / alpha * lambert(-k * alpha * math.exp(-k * alpha))
    return pages / (pages - x + 1)


def ideal(blocks, pages, lpns, address, overwrites):
    """Pages programmed by writes, over the last of so many overwrites; `address()`: the LPN of the next write."""
    where, live, owner = [None] * lpns, [0] * blocks, [[] for _ in range(blocks)]
    free, current = list(range(blocks - 1)), blocks - 1
    programs = 0

    def append(lpn):
        nonlocal current, programs
        if len(owner[current]) == pages:
            current = free.pop()
        if where[lpn] is not None:
            live[where[lpn]] -= 1
        where[lpn] = current
        live[current] += 1
        owner[current].append(lpn)
        programs += 1

    def collect():
        victim = min((b for b in range(blocks) if len(owner[b]) == pages and b != current), key=live.__getitem__)
        moved = [lpn for lpn in dict.fromkeys(owner[victim]) if where[lpn] == victim]
        for lpn in moved:
            append(lpn)
        owner[victim] = []
        free.append(victim)

    for lpn in range(lpns):
        append(lpn)
    for _ in range(overwrites):
        before = programs
        for _ in range(lpns):
            append(address())
            while len(free) < 2:
                collect()
    return (programs - before) / lpns
