"""Spill files are removed when they are of no use."""

from __future__ import annotations

import os
from pathlib import Path

from nacre.capture.spill import SpillFile
from nacre.result import Spill


def test_one_with_nothing_in_it_does_not_stay(tmp_path: Path) -> None:
    file = SpillFile(lambda: str(tmp_path / "made"), "bash", 0)
    file.write(b"too much")
    assert (file.finish(), os.listdir(tmp_path / "made")) == (None, [])


def test_one_that_nobody_is_to_read_is_removed_and_one_that_was_never_made_is_not_looked_for(
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
