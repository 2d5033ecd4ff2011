"""Spill files are removed when they are of no use."""

from __future__ import annotations

import os
from pathlib import Path

from nacre.capture.spill import SpillFile
from nacre.result import Spill


def test_empty_spill_file_is_removed(tmp_path: Path) -> None:
    file = SpillFile(lambda: str(tmp_path / "made"), "bash", 0)
    file.write(b"too much")
    assert (file.finish(), os.listdir(tmp_path / "made")) == (None, [])


def test_discard_removes_a_spill_file_and_ignores_one_never_created(
    tmp_path: Path,
) -> None:
    file = SpillFile(lambda: str(tmp_path), "bash", 3)
    file.write(b"four")
    assert file.finish() == Spill(file.path, 3, complete=False)
    file.discard()
    assert os.listdir(tmp_path) == []
    (tmp_path / "file").touch()
    SpillFile(lambda: str(tmp_path / "file"), "bash", 3).discard()
    assert os.listdir(tmp_path) == ["file"]
