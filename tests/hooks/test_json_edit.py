"""Adding nacre's entry to a JSON file and removing it, with all other bytes unchanged."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.base.jsonc import JsoncSyntaxError, parse, to_python
from nacre.hooks.install.json_edit import CannotEdit, add, entries, remove

PATH = ("hooks", "PreToolUse")
ENTRY = {"matcher": "Bash", "hooks": [{"type": "command", "command": "nacre hook"}]}


def ours(entry: object) -> bool:
    return "nacre hook" in json.dumps(entry)


def add_entry(text: str) -> str:
    return add(text, PATH, ENTRY, {})


FILES = {
    "nothing in it": "{}",
    "nothing, and a line end": "{}\n",
    "other settings": '{\n  "model": "opus",\n  "env": {\n    "A": "1"\n  }\n}\n',
    "four spaces": '{\n    "model": "opus",\n    "hooks": {\n        "Stop": []\n    }\n}\n',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "in one line": '{"model":"opus"}',
    "hooks in one line": '{\n  "hooks": {"Stop": []}\n}\n',
    "other hooks": '{\n  "hooks": {\n    "Stop": [\n      {"hooks": []}\n    ]\n  },\n  "z": 1\n}\n',
    "another hook for the same": (
        '{\n  "hooks": {\n    "PreToolUse": [\n      {\n        "matcher": "Write"\n      }\n    ]\n  }\n}\n'
    ),
    "in a line of its own": '{\n  "hooks": {\n    "PreToolUse": [{"matcher": "Write", "hooks": []}]\n  }\n}\n',
    "line ends of Windows": '{\r\n  "model": "opus"\r\n}\r\n',
    "comments": '// mine\n{\n  // which\n  "model": "opus" // the best\n  /* the end */\n}\n// really\n',
    "comments after a comma": '{\n  "model": "opus", // the best\n  // "x": 1\n}\n',
    "a comma at the end": '{\n  "a": 1,\n  "b": [1, 2,],\n}\n',
    "a comment after what stands in one line": '{"a": 1 // x\n}\n',
    "a comment after a hook in one line": '{"hooks": {"PreToolUse": [{"matcher": "Write"} // x\n]}}\n',
    "texts like comments": '{\n  "a": "// no",\n  "b": "/* no */ , }"\n}\n',
    "no line end": '{\n  "a": 1\n}',
    "not ASCII": '{\n  "a": "é\U0001f600"\n}\n',
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_json_hook_entry_is_added_and_other_settings_stay(text: str) -> None:
    before: Any = to_python(parse(text))
    after: Any = to_python(parse(add_entry(text)))
    assert after["hooks"].pop("PreToolUse") == [*before.get("hooks", {}).pop("PreToolUse", []), ENTRY]
    if not after["hooks"] and "hooks" not in before:
        del after["hooks"]
    assert after == before


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_json_hook_entry_is_removed_without_a_trace(text: str) -> None:
    assert remove(add_entry(text), PATH, ours) == text


def test_json_hook_entry_has_the_indentation_of_the_file() -> None:
    assert add_entry('{\n    "a": 1 // one\n}\n') == (
        "{\n"
        '    "a": 1, // one\n'
        '    "hooks": {\n'
        '        "PreToolUse": [\n'
        "            {\n"
        '                "matcher": "Bash",\n'
        '                "hooks": [\n'
        "                    {\n"
        '                        "type": "command",\n'
        '                        "command": "nacre hook"\n'
        "                    }\n"
        "                ]\n"
        "            }\n"
        "        ]\n"
        "    }\n"
        "}\n"
    )


def test_json_edit_adds_top_level_fields_only_if_missing() -> None:
    assert json.loads(add("{}", PATH, ENTRY, {"version": 1})) == {"version": 1, "hooks": {"PreToolUse": [ENTRY]}}
    assert json.loads(add('{"version": 2}', PATH, ENTRY, {"version": 1}))["version"] == 2


def test_json_edit_removal_keeps_another_hook_of_the_same_entry() -> None:
    text = json.dumps(
        {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"command": "mine"}, {"command": "nacre hook"}]}]}}
    )
    assert entries(remove(text, PATH, ours), PATH) == [{"matcher": "Bash", "hooks": [{"command": "mine"}]}]


def test_json_edit_removal_keeps_entries_added_later() -> None:
    text = add_entry('{\n  "hooks": {\n    "PreToolUse": [\n      // first\n      {"a": 1}\n    ]\n  }\n}\n')
    more = add(text, PATH, {"theirs": 1}, {})
    assert remove(more, PATH, ours) == add(remove(text, PATH, ours), PATH, {"theirs": 1}, {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1, column 2: a quoted key is missing"),
        ("{'a': 1}", "line 1, column 2: a quoted key is missing"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3: a comma or `}` is missing"),
        ('{"a": }', "line 1, column 7: a value is missing"),
        ('{"a" 1}', "line 1, column 6: a colon is missing"),
        ('{"a": NaN}', "line 1, column 7: a value is missing"),
        ('{"a": 1} x', "line 1, column 10: extra text after the end"),
        ('{"a": "x\ny"}', "line 1, column 7: the string is unterminated or has an unescaped control character"),
        ("{} /* x", "line 1, column 4: the comment is unterminated"),
        ('{"a": 1, "a": 2}', "line 1, column 10: duplicate key 'a'"),
        ("[" * 1000, "line 1, column 202: nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "line 1, column 7: the number is too long"),
    ],
)
def test_json_edit_reports_the_position_of_a_syntax_error(text: str, why: str) -> None:
    with pytest.raises(JsoncSyntaxError) as raised:
        add_entry(text)
    assert str(raised.value) == why


@pytest.mark.parametrize("text", ["[]", "1", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}', '{"hooks": null}'])
def test_json_edit_rejects_settings_of_an_unexpected_shape(text: str) -> None:
    with pytest.raises(CannotEdit):
        add_entry(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('a/*"{[,: \n', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('ab/"', max_size=2), inner, max_size=3),
    max_leaves=6,
)


@given(
    settings=st.dictionaries(st.text("abc", min_size=1, max_size=2), VALUES, max_size=3),
    hooks=st.none()
    | st.dictionaries(st.sampled_from(["PreToolUse", "Stop"]), st.lists(VALUES, min_size=1, max_size=2), max_size=2),
    indent=st.sampled_from([None, 2, 4, "\t"]),
    end=st.sampled_from(["", "\n"]),
)
def test_json_edit_add_and_remove_restore_any_settings(
    settings: dict[str, Any], hooks: dict[str, Any] | None, indent: Any, end: str
) -> None:
    value = settings if hooks is None else {**settings, "hooks": hooks}
    text = json.dumps(value, indent=indent) + end
    assert to_python(parse(text)) == value
    changed = add_entry(text)
    assert ENTRY in entries(changed, PATH)
    if hooks != {}:  # removing the last entry removes an empty `hooks` object, too; the backup has it
        assert remove(changed, PATH, ours) == text
