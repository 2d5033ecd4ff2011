"""The helpers of these tests: shapes compare equal, a diff is readable, no snapshot is without a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.interface.shapes import describe_shape, split_common, strip_prose
from tests.interface.snapshot import DIRECTORY, UPDATE_VARIABLE, check_snapshot


def test_shape_describes_types_keywords_and_distinct_items() -> None:
    data = {"pid": 7, "kind": "exited", "at": 1.5, "rows": [{"a": None}, {"a": None}, True], "bash-0123abcd": "x"}
    assert describe_shape(data) == {
        "pid": "int",
        "kind": "= exited",
        "at": "float",
        "rows": ["bool", {"a": "null"}],
        "ID": "str",
    }


def test_shape_of_notes_is_the_same_when_empty() -> None:
    assert describe_shape({"notes": []}) == describe_shape({"notes": ["slow"]}) == {"notes": "list of str"}


def test_split_common_lists_shared_keys_once() -> None:
    cases = {"one": {"a": "int", "b": "str"}, "two": {"a": "int", "b": "null"}}
    assert split_common(cases) == {"in every case": {"a": "int"}, "one": {"b": "str"}, "two": {"b": "null"}}


def test_strip_prose_keeps_a_property_called_description() -> None:
    schema = {"description": "Runs it.", "properties": {"description": {"type": "string", "description": "Why."}}}
    assert strip_prose(schema) == {"properties": {"description": {"type": "string"}}}


def test_snapshot_mismatch_shows_the_differing_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.interface.snapshot.DIRECTORY", tmp_path)
    monkeypatch.delenv(UPDATE_VARIABLE, raising=False)
    (tmp_path / "sample.json").write_text(json.dumps({"pid": "int", "notes": []}, indent=2) + "\n")
    with pytest.raises(pytest.fail.Exception) as caught:
        check_snapshot("sample", {"pid": "int", "notes": []})
    lines = str(caught.value).splitlines()
    assert '-  "notes": []' in lines
    assert '+  "notes": [],' in lines
    assert "make snapshots" in lines[-1]


def test_every_snapshot_belongs_to_a_test() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    exact = set(re.findall(r'check_snapshot\(\s*"(\w+)"', text))
    prefixes = tuple(re.findall(r'check_snapshot\(\s*f"(\w+)\{', text))
    names = {path.stem for path in DIRECTORY.glob("*.json")}
    assert sorted(name for name in names if name not in exact and not name.startswith(prefixes)) == []
