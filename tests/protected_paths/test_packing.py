"""Snapshots of protected paths, packed for another process: they come back whole, and other data is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nacre.protected_paths.git_directories import GitState
from nacre.protected_paths.mounted_paths import Marks
from nacre.protected_paths.nested_repositories import Repository
from nacre.protected_paths.packing import Scope, pack, unpack
from nacre.protected_paths.snapshot import PathEntry

pytestmark = [pytest.mark.req("P-008"), pytest.mark.linux]

NODE = PathEntry(0o40755, (), None, {"caf\udce9": PathEntry(0o100644, (7,), bytes(range(256)), {})})
PLANTED = GitState("/a/.git", {"a": "b"}, {"c": 5}, {"d": ("exec x",)}, b"ref: x", ["/a/.git"], [], ["/a/.git/b"])
VALUES: list[Any] = [
    None,
    (1, "two", b"three", True),
    {(1, 2): frozenset({"a", "b"}), "key": None},
    [NODE, Marks((1, 2, 3), 4, True, (5, 6, 7, 8)), PLANTED, Repository(frozenset({"hooks:x"}), PLANTED)],
    Scope(("/a",), (), ("/b",)),
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_packed_value_unpacks_to_an_equal_value(value: Any) -> None:
    found = unpack(pack(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'["os.system", "x"]', b'["PathEntry"]', b'["bytes", "?"]', b"[1.5]", b"[[]]", b'["dict", 1]']
)
def test_invalid_packed_data_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        unpack(data)


def test_only_known_types_are_packed() -> None:
    with pytest.raises(TypeError):
        pack(object())
    assert json.loads(pack((1,))) == ["tuple", 1]
