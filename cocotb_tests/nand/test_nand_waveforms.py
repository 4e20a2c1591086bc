# SPDX-License-Identifier: Apache-2.0
"""docs/nand-*.svg show what the RTL does now; a picture that shows something else is seen."""

import shutil

import pytest

from tools import wave_nand


@pytest.fixture(scope="module")
def scenes():
    return wave_nand.record()


@pytest.fixture(autouse=True)
def recorded_once(scenes, monkeypatch):
    monkeypatch.setattr(wave_nand, "record", lambda: scenes)


def test_the_pictures_show_the_design(capfd):
    assert wave_nand.main([]) == 0, capfd.readouterr().err


def test_another_picture_is_seen(tmp_path, monkeypatch, capfd):
    for picture in wave_nand.PICTURES.glob("nand-*.svg"):
        shutil.copy(picture, tmp_path)
    other = tmp_path / "nand-read.svg"
    other.write_text(other.read_text().replace(">30<", ">35<"))
    monkeypatch.setattr(wave_nand, "PICTURES", tmp_path)
    assert wave_nand.main([]) == 1
    said = capfd.readouterr().err
    assert "nand-read.svg" in said and "--write" in said and "program" not in said


@pytest.mark.parametrize("args", [["--draw"], ["--write", "x"]])
def test_wrong_arguments(args, capfd):
    assert wave_nand.main(args) == 2 and capfd.readouterr().err.count("\n") == 1
