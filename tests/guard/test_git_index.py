"""The gitlinks of an index, as git has written it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nacre.guard.git_index import gitlinks_in
from tests.support.repositories import git, repository


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_gitlinks_are_found_in_every_version(tmp_path: Path, version: str) -> None:
    repo = repository(tmp_path / "repo")
    for name in ("inner", "über/deep er"):
        repository(repo / name)
        git(repo, "add", name)
    (repo / "later").write_text("x")
    git(repo, "add", *(["--intent-to-add"] if version == "3" else []), "later")
    git(repo, "update-index", "--index-version", version)
    assert gitlinks_in((repo / ".git" / "index").read_bytes()) == ["inner", "über/deep er"]


def test_without_gitlinks_there_are_none(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    assert gitlinks_in((repo / ".git" / "index").read_bytes()) == []


@pytest.mark.parametrize(
    "data", [b"", b"DIRC", b"DIRC" + bytes(8) + b"\0\0\xe0\0", b"x" * 100, b"DIRC\0\0\0\2\0\0\0\5\0\0\xe0\0"]
)
def test_what_is_no_index_has_none(data: bytes) -> None:
    assert gitlinks_in(data) == []
