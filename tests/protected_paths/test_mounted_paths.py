"""Whether a path stayed mounted over during the whole run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from nacre.protected_paths.birth_time import birth_ns
from nacre.protected_paths.mounted_paths import MountedPaths
from tests.support.waiting import wait_until

pytestmark = pytest.mark.linux


def test_recreated_directory_with_the_same_inode_is_detected(tmp_path: Path) -> None:
    """ext4 reuses the number of a removed inode at once."""
    place = tmp_path / "place"
    place.mkdir()
    if not birth_ns(str(place)):
        pytest.skip("this file system reports no creation times")
    inode, mounted = place.stat().st_ino, MountedPaths([str(place)])
    assert mounted.find_replaced() == []
    before = time.time_ns()
    (tmp_path / "clock").touch()

    def has_ticked() -> bool:
        (tmp_path / "clock").unlink()
        (tmp_path / "clock").touch()
        return birth_ns(str(tmp_path / "clock")) > before

    wait_until(has_ticked, "the clock of the file system")
    place.rmdir()
    place.mkdir()
    assert mounted.find_replaced() == [str(place)], f"inode {inode}, then {place.stat().st_ino}"


def tick(directory: Path) -> None:
    """Wait for the next tick of the file system's clock: two changes within one tick have the same time."""
    directory.mkdir(exist_ok=True)
    (directory / "first").touch()
    before = (directory / "first").stat().st_ctime_ns

    def has_ticked() -> bool:
        (directory / "next").unlink(missing_ok=True)
        (directory / "next").touch()
        return (directory / "next").stat().st_ctime_ns > before

    wait_until(has_ticked, "the clock of the file system")


@pytest.mark.parametrize("moved", ["place/inner/key", "place/inner", "place"])
def test_path_moved_away_and_back_is_detected(tmp_path: Path, moved: str) -> None:
    """The mount moves with its path: meanwhile another file could be there."""
    key = tmp_path / "top" / "place" / "inner" / "key"
    key.parent.mkdir(parents=True)
    key.touch()
    mounted = MountedPaths([str(key)])
    tick(tmp_path / "clock")
    assert mounted.find_replaced() == []
    (tmp_path / "top" / moved).rename(tmp_path / "top" / "away")
    (tmp_path / "top" / "away").rename(tmp_path / "top" / moved)
    assert mounted.find_replaced() == [str(key)]
    assert mounted.find_changed() == []


def test_changes_beside_a_mounted_path_are_not_replacements(tmp_path: Path) -> None:
    key = tmp_path / "top" / "inner" / "key"
    key.parent.mkdir(parents=True)
    key.touch()
    mounted = MountedPaths([str(key)])
    tick(tmp_path / "clock")
    (key.parent / "new").touch()
    (key.parent / "new").rename(key.parent / "other")
    (tmp_path / "top" / "new").mkdir()
    key.parent.chmod(0o700)
    os.utime(tmp_path / "top", (1, 1))
    assert mounted.find_replaced() == []
    key.chmod(0o600)
    assert mounted.find_changed() == [str(key)]


def test_birth_time_survives_writes_and_is_0_for_missing_files(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    born = birth_ns(str(tmp_path / "file"))
    (tmp_path / "file").write_text("changed")
    assert birth_ns(str(tmp_path / "file")) == born
    assert birth_ns(str(tmp_path / "missing")) == 0
