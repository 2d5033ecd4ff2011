"""Whether a mount was still on at the end of a run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from nacre.guard.birth_time import birth_ns
from nacre.guard.mounted_paths import MountedPaths
from tests.support.waiting import wait_until

pytestmark = pytest.mark.linux


def test_a_directory_made_anew_is_seen_though_it_has_the_old_inode(tmp_path: Path) -> None:
    """ext4 gives the number of a removed inode to the next one at once."""
    place = tmp_path / "place"
    place.mkdir()
    if not birth_ns(str(place)):
        pytest.skip("this file system does not tell when a file was made")
    inode, mounted = place.stat().st_ino, MountedPaths([str(place)])
    assert mounted.replaced() == []
    before = time.time_ns()
    (tmp_path / "clock").touch()

    def ticked() -> bool:
        (tmp_path / "clock").unlink()
        (tmp_path / "clock").touch()
        return birth_ns(str(tmp_path / "clock")) > before

    wait_until(ticked, "the clock of the file system")
    place.rmdir()
    place.mkdir()
    assert mounted.replaced() == [str(place)], f"inode {inode}, then {place.stat().st_ino}"


def test_what_is_the_same_was_made_when_it_was_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    born = birth_ns(str(tmp_path / "file"))
    (tmp_path / "file").write_text("changed")
    assert birth_ns(str(tmp_path / "file")) == born
    assert birth_ns(str(tmp_path / "missing")) == 0
