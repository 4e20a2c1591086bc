# SPDX-License-Identifier: Apache-2.0
"""docs/waveforms.md shows what the RTL does now; a page that shows something else is seen."""

from pathlib import Path

import pytest

from tools import wave_engine

ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_page_shows_the_design(capfd):
    assert wave_engine.main([]) == 0, capfd.readouterr().err


def test_another_page_is_seen(tmp_path, monkeypatch, capfd):
    page = wave_engine.ROOT / "build/waveforms.md"
    page.write_text(wave_engine.PAGE.read_text().replace("commit taken      .", "commit taken      #"))
    monkeypatch.setattr(wave_engine, "PAGE", page)
    assert wave_engine.main([]) == 1 and "--write" in capfd.readouterr().err


@pytest.mark.parametrize("args", [["--draw"], ["--write", "x"]])
def test_wrong_arguments(args, capfd):
    assert wave_engine.main(args) == 2 and capfd.readouterr().err.count("\n") == 1
