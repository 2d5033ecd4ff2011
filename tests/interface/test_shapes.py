"""The helpers of these tests: shapes compare equal, a diff is readable, no snapshot is without a test."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.interface.shapes import describe_shape, split_common, strip_prose
from tests.interface.snapshot import DIRECTORY, UPDATE_VARIABLE, check_snapshot


def test_a_shape_has_types_and_words_and_each_kind_of_item_once() -> None:
    data = {"pid": 7, "kind": "exited", "at": 1.5, "rows": [{"a": None}, {"a": None}, True], "bash-0123abcd": "x"}
    assert describe_shape(data) == {
        "pid": "int",
        "kind": "= exited",
        "at": "float",
        "rows": ["bool", {"a": "null"}],
        "ID": "str",
    }


def test_a_list_of_remarks_has_the_same_shape_with_and_without_one() -> None:
    assert describe_shape({"notes": []}) == describe_shape({"notes": ["slow"]}) == {"notes": "list of str"}


def test_keys_of_one_shape_in_every_case_are_listed_once() -> None:
    cases = {"one": {"a": "int", "b": "str"}, "two": {"a": "int", "b": "null"}}
    assert split_common(cases) == {"in every case": {"a": "int"}, "one": {"b": "str"}, "two": {"b": "null"}}


def test_a_property_called_description_is_no_prose() -> None:
    schema = {"description": "Runs it.", "properties": {"description": {"type": "string", "description": "Why."}}}
    assert strip_prose(schema) == {"properties": {"description": {"type": "string"}}}


def test_a_mismatch_shows_the_lines_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
