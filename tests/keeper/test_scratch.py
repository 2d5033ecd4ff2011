"""Private directories are created at their intended path, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre.keeper.protocol.private_tmpdir import make_private_tmpdir
from tests.support.users import free_uid


def test_each_private_tmpdir_is_new_with_mode_0700(tmp_path: Path) -> None:
    root = os.fsencode(tmp_path)
    made = [Path(os.fsdecode(make_private_tmpdir(root))) for _ in range(3)]
    assert sorted(tmp_path.iterdir()) == sorted(made)
    assert {path.stat().st_mode & 0o777 for path in made} == {0o700}


def test_private_tmpdir_is_not_created_through_a_symlinked_root(tmp_path: Path) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    other.mkdir()
    root.symlink_to(other)
    with pytest.raises(OSError):  # noqa: PT011  # the system chooses the errno
        make_private_tmpdir(os.fsencode(root))
    assert list(other.iterdir()) == []


def test_private_tmpdir_is_not_created_in_another_users_directory(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can change the owner of a file")
    uid = free_uid()
    os.chown(tmp_path, uid, uid)
    with pytest.raises(NotADirectoryError):
        make_private_tmpdir(os.fsencode(tmp_path))
    assert list(tmp_path.iterdir()) == []
