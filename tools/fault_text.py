# SPDX-License-Identifier: Apache-2.0
"""Finds the text of a fault in a source file, however the file is laid out, and puts another in its place.

Any run of white space is like any other; where one of its neighbours is not part of a word it may be missing, or be
there where the fault has none. The end of a line in a C macro (a backslash) is white space too, and a comma may stand
before a closing bracket: formatters add it.
White space that both texts of a fault begin or end with is kept as the file has it: the lines of a new Python text are
indented from there on.
"""

import re

SPACE = r"(?:\s|\\\n)"


def pattern(old):
    """A regular expression that matches `old` in each of its layouts."""
    tokens = re.findall(r"\w+|[^\w\s]", old)
    parts = [re.escape(tokens[0])]
    for before, token in zip(tokens, tokens[1:], strict=False):
        words = re.match(r"\w", before) and re.match(r"\w", token)
        comma = rf"(?:{SPACE}*,)?" if token in ")]}" and before not in ",([{" else ""
        parts += [comma, SPACE + ("+" if words else "*"), re.escape(token)]
    return "".join(parts)


def edges(old, new):
    """How `old` and `new` begin and end with white space: (what goes before the pattern, after it, the new text without
    what is kept).
    """
    head, tail = old[: len(old) - len(old.lstrip())], old[len(old.rstrip()) :]
    before = after = ""
    if head and new.strip() and new.startswith(head):
        before, new = r"(?<=\s)", new[len(head) :]
    elif head:
        before = r"\s+"
    if tail and new.strip() and new.endswith(tail):
        after, new = r"(?=\s)", new[: len(new) - len(tail)]
    elif tail:
        after = r"\s+"
    return before, after, new


def count(text, old):
    """How many times `old` is in `text`."""
    before, after, _ = edges(old, old)
    return len(re.findall(before + pattern(old) + after, text))


def put(text, old, new):
    """`text` with `new` for `old`, which must be there once."""
    before, after, new = edges(old, new)
    return re.sub(before + pattern(old) + after, lambda _: new, text, count=1)
