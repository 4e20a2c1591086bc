# SPDX-License-Identifier: Apache-2.0
"""A fault finds its text in every layout, and only its text."""

import ast

import pytest

from tools.fault_text import count, put


@pytest.mark.parametrize(
    ("old", "laid_out"),
    [
        ("if (a && b) return c;", "if (a &&\n      b)\n    return c;"),
        ("f(a, b)", "f(\n    a,\n    b,\n)"),
        ("[x for x in y]", "[\n    x\n    for x in y\n]"),
        ("output logic [7:0] x", "output logic [  7:0]  x"),
        ("#define A (b + c)", "#define A \\\n  (b + c)"),
        ("x.map(_.y)", "x\n  .map(_.y)"),
        ("if (a) b = 1; else b = 2;", "if (a)\n  b = 1;\nelse\n  b = 2;"),
        ("a= b", "a = b"),
    ],
)
def test_layout_makes_no_difference(old, laid_out):
    assert count(f"before {laid_out} after", old) == 1
    assert put(f"before {laid_out} after", old, r"\new") == r"before \new after"


@pytest.mark.parametrize(
    ("old", "other"),
    [
        ("return c", "returnc"),
        ("a b", "ab"),
        ("f(a, b)", "f(a, c)"),
        ("f(a)", "f(a,, )"),
        ("f()", "f(,)"),
        ("a.b", "axb"),
        ("a + b", "a - b"),
    ],
)
def test_other_tokens_are_another_text(old, other):
    assert count(other, old) == 0


def test_it_says_how_often_a_text_is_there():
    assert count("f(a); f( a ); f(b);", "f(a)") == 2


def test_lines_of_python_stay_where_they_are():
    text = "def f():\n    if a:\n        b()\n        c(\n            d,\n        )\n    return e\n"
    deeper = put(text, "\n        c(d)\n", "\n        c(e)\n")
    assert deeper == text.replace("c(\n            d,\n        )", "c(e)")
    assert ast.dump(ast.parse(put(text, "        c(d)", ""))) == ast.dump(
        ast.parse(text.replace("        c(\n            d,\n        )\n", ""))
    )


def test_a_text_that_goes_leaves_the_lines_around_it():
    assert put("a;\n  b;\n  c;\n", "b;", "") == "a;\n  \n  c;\n"
