"""Recognition of the kind of output, for highlighting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nacre.views.console import highlight
from nacre.views.console.highlight import ContentKind, highlights, kind_of
from nacre.views.console.viewport import viewport
from scripts.gallery import results

KINDS: dict[str, tuple[str, ContentKind]] = {
    "json": ('{"a": [1, 2]}', "json"),
    "json-lines": ('{"a": 1}\n{"a": 2}', "json"),
    "json-cut": ('{\n  "a": 1,\n  "b": [\n    1,', "json"),
    "not-json": ("[INFO] ready\n[INFO] steady", "log"),
    "a-list-of-words": ("[a] one\n[b] two\n[c] three", "plain"),
    "diff": ("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y", "diff"),
    "traceback": ('Traceback (most recent call last):\n  File "x", line 1\nKeyError: 1', "traceback"),
    "log": ("10:00:01 ready\n10:00:02 done", "log"),
    "xml": ("<a>\n<b/>\n</a>", "xml"),
    "html": ("<!DOCTYPE html>\n<html></html>", "xml"),
    "yaml": ("a: 1\nb:\n  - c\n  - d: 2", "yaml"),
    "yaml-list": ("- a: 1\n- b: 2\n- c: 3", "yaml"),
    "svn-diff": ("Index: a.c\n======\n-x\n+y", "diff"),
    "pytest": ("==== FAILURES ====\n>  assert a\nE   assert 1 == 2", "traceback"),
    "an-index": ("Index: 5\n- item\n- other", "plain"),
    "physics": ("E   is the energy\nm   is the mass", "plain"),
    "notes": ("Note: all is well\nWarning: not quite\nHint: look again", "plain"),
    "times": ("real: 0.1\nuser: 0.2\nsys: 0.3", "plain"),
    "types": ("<int> foo\n<str> bar>", "plain"),
    "prose": ("All is well.\nIt took a while: yes.", "plain"),
    "files": ("total 8\n-rw-r--r-- 1 ada ada 12 Mar  1 10:00 a\ndrwxr-xr-x 2 ada ada 40 Mar  1 10:00 b", "plain"),
    "nothing": ("", "plain"),
    "blank": (" \n\n", "plain"),
}


@pytest.mark.req("T-11")
@pytest.mark.parametrize(("text", "kind"), KINDS.values(), ids=KINDS)
def test_content_kind_of_a_text_is_recognised(text: str, kind: ContentKind) -> None:
    assert kind_of(text.split("\n")) == kind


@pytest.mark.req("T-11")
def test_content_kind_of_sample_results_is_recognised() -> None:
    found = {
        name: viewport(getattr(results, name)).kind
        for name in ("JSON", "DIFF", "TRACEBACK_MERGED", "LOG", "XML", "YAML", "BUILD")
    }
    assert found == {
        "JSON": "json",
        "DIFF": "diff",
        "TRACEBACK_MERGED": "traceback",
        "LOG": "log",
        "XML": "xml",
        "YAML": "yaml",
        "BUILD": "plain",
    }


@pytest.mark.req("T-11")
def test_json_highlight_separates_keys_and_strings_and_skips_unterminated() -> None:
    line = r'  "a\"b" : "c", -1.5, true, "d": "no end \"'
    assert [(line[start:end], style) for start, end, style in highlights("json", line)] == [
        (r'"a\"b"', "key"),
        ('"c"', "text"),
        ("-1.5", "value"),
        ("true", "value"),
        ('"d"', "key"),
    ]


def test_json_highlight_matches_an_unterminated_string_in_one_pass() -> None:
    """A search for a missing end quote from every other quote took seconds for a hundred lines."""
    line = '"' + '\\"' * 990
    assert [found.span() for found in highlight._JSON.finditer(line)] == [(0, len(line))]
    assert list(highlights("json", line)) == []


@given(st.text(), st.sampled_from(["json", "diff", "traceback", "log", "xml", "yaml", "plain"]))
def test_highlight_ranges_lie_within_the_line(line: str, kind: ContentKind) -> None:
    assert all(0 <= start <= end <= len(line) for start, end, _ in highlights(kind, line))


@given(st.lists(st.text(alphabet=st.characters(exclude_characters="\n"), max_size=50), max_size=8))
def test_content_kind_accepts_any_text(lines: list[str]) -> None:
    kind_of(lines)
