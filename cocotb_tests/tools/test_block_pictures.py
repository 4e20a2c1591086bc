# SPDX-License-Identifier: Apache-2.0
"""docs/interfaces/*.svg show the streams of their pages, whose table is read as it is meant."""

import pytest

from tools import block_pictures

TABLE = """
| `a` in | x |
| `b`, `c` out | in |
| `d` in, `e`, `f` out | x |
| `g` out / `h` in | x |
| `i` in and out | x |
| in the map | x |
"""


def test_the_pictures_show_the_pages(capfd):
    assert block_pictures.main([]) == 0, capfd.readouterr().err


def test_rows_of_streams():
    assert block_pictures.streams(TABLE) == (["a", "d", "h", "i"], ["b", "c", "e", "f", "g", "i"])


def test_another_page_is_seen(tmp_path, monkeypatch, capfd):
    for path in block_pictures.PAGES.iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    (tmp_path / "host-port.md").write_text(
        (tmp_path / "host-port.md").read_text().replace("| `cmd` in |", "| `command` in |")
    )
    monkeypatch.setattr(block_pictures, "PAGES", tmp_path)
    assert block_pictures.main([]) == 1 and "host-port.svg" in capfd.readouterr().err


@pytest.mark.parametrize("args", [["--draw"], ["--write", "x"]])
def test_wrong_arguments(args, capfd):
    assert block_pictures.main(args) == 2 and capfd.readouterr().err.count("\n") == 1
