"""The gitlinks of an index that git has written."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from nacre.protected_paths.git_index import Index, read_index
from tests.support.repositories import git, repository


def index_of(repo: Path) -> bytes:
    return (repo / ".git" / "index").read_bytes()


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_gitlinks_are_found_in_every_index_version(tmp_path: Path, version: str) -> None:
    repo = repository(tmp_path / "repo")
    for name in ("inner", "über/deep er", f"long/{'x' * 200}"):
        repository(repo / name)
        git(repo, "add", name)
    (repo / "later").write_text("x")
    git(repo, "add", *(["--intent-to-add"] if version == "3" else []), "later")
    git(repo, "update-index", "--index-version", version)
    assert set(read_index(index_of(repo), 20).gitlinks) == {"inner", "über/deep er", f"long/{'x' * 200}"}


def test_gitlinks_are_found_in_a_sha256_index(tmp_path: Path) -> None:
    for place in (tmp_path / "repo", tmp_path / "repo" / "inner"):
        place.mkdir()
        git(place, "init", "-q", "--object-format=sha256")
        (place / "file").write_text("x")
        git(place, "add", "file")
        git(place, "commit", "-q", "-m", "first")
    git(tmp_path / "repo", "add", "inner")
    assert read_index(index_of(tmp_path / "repo"), 32) == Index(("inner",), False, ())


def test_index_without_gitlinks_has_none(tmp_path: Path) -> None:
    assert read_index(index_of(repository(tmp_path / "repo")), 20) == Index((), False, ())
    assert read_index(b"", 20) == Index((), False, ())


def test_split_index_names_its_shared_index(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    (repo / "inner").write_text("x")
    git(repo, "add", "inner")
    git(repo, "update-index", "--split-index")
    (repo / "inner").unlink()
    repository(repo / "inner")
    git(repo, "add", "inner")
    index = read_index(index_of(repo), 20)
    (shared,) = (repo / ".git").glob("sharedindex.*")
    assert index == Index((), True, (shared.name.partition(".")[2],))
    assert read_index(shared.read_bytes(), 20, with_files=True).gitlinks == ("file", "inner")


@pytest.mark.parametrize("mode", [0o160000, 0o160755, 0xFFFF0000 | 0o160000])
def test_gitlink_with_extra_mode_bits_is_found(tmp_path: Path, mode: int) -> None:
    data = bytearray(index_of(repository(tmp_path / "repo")))
    data[12 + 24 : 12 + 28] = struct.pack(">I", mode)
    assert read_index(bytes(data), 20).gitlinks == ("file",)


def test_entry_name_has_the_length_stated_in_its_header(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo")
    repository(repo / "inner")
    git(repo, "add", "inner")
    data = bytearray(index_of(repo))
    data[12 + 62] = 0  # the name of the first entry ends before it begins
    assert read_index(bytes(data), 20).gitlinks == ("inner",)
    data[12 + 62 + 4] = 1  # and the bytes after it are not zero
    with pytest.raises(ValueError, match="does not write"):
        read_index(bytes(data), 20)


@pytest.mark.parametrize(
    "data",
    [
        b"DIRC",
        b"DIRC" + bytes(8) + b"\0\0\xe0\0",
        b"x" * 100,
        b"DIRC\0\0\0\2\0\0\0\5" + bytes(90),
        b"DIRC\0\0\0\5\0\0\0\0" + bytes(20),
        b"DIRC\0\0\0\2\0\0\0\0EOIE\0\0\0\4\0\0\0\1" + bytes(20),
        b"DIRC\0\0\0\2\0\0\0\0link\0\0\1\0" + bytes(40),
        b"DIRC\0\0\0\4\0\0\0\0IEOT\0\0\0\14\0\0\0\1\0\0\0\11\0\0\0\1" + bytes(20),
    ],
)
def test_invalid_index_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"index|end|extensions|block"):
        read_index(data, 20)
