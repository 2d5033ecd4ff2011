"""Decoding bytes to text that survives JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre.ansi.decode import clean, decode, decode_wide, has_controls, is_plain, wide_encoding
from nacre.ansi.render import render

FORBIDDEN = {
    *map(chr, range(9)),
    *map(chr, range(11, 32)),
    *map(chr, range(127, 160)),
    *map(chr, range(0xD800, 0xE000)),
}


@given(st.binary())
@settings(deadline=None)
def test_decoded_bytes_are_valid_json_text(data: bytes) -> None:
    text = clean(decode(data))
    assert not FORBIDDEN & set(text)
    assert json.loads(json.dumps(text)) == text
    assert text.encode().decode() == text


@given(st.text(st.characters()))
@settings(deadline=None)
def test_clean_is_idempotent_and_removes_control_characters(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not FORBIDDEN & set(once)
    assert not has_controls(once)


@given(st.text())
@settings(deadline=None)
def test_decode_is_idempotent(text: str) -> None:
    once = decode(text.encode("utf-8", "surrogatepass"))
    assert decode(once.encode()) == once.removeprefix("\ufeff")


@given(st.binary())
@settings(deadline=None)
def test_plain_bytes_are_unchanged_by_clean_and_render(data: bytes) -> None:
    if is_plain(data):
        text = decode(data)
        assert clean(text) == text
        assert render(text).text == text
    else:
        assert has_controls(decode(data))


def test_decode_and_clean_replace_invalid_bytes_and_drop_controls() -> None:
    assert decode(b"a\xffb") == "a\ufffdb"
    assert decode(b"\xef\xbb\xbfa") == "a"
    assert clean("a\0b\x07c\x7f\x85\t\n\ud800") == "a␀bc\t\n\ufffd"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_byte_order_mark_determines_the_wide_encoding(encoding: str) -> None:
    data = ("\ufeff" + "häß 👋").encode(encoding)
    assert wide_encoding(data) == encoding
    assert decode_wide(data, encoding) == "häß 👋"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
def test_decode_wide_starts_at_the_first_whole_character(encoding: str) -> None:
    data = "\ufeffabcdef".encode(encoding)
    for start in range(1, len(data)):
        part = decode_wide(data[start:], encoding, start)
        assert part == "abcdef"[max(0, 6 - len(part)) :]
        assert "abcdef".endswith(part)


def test_utf8_is_not_detected_as_a_wide_encoding() -> None:
    assert wide_encoding("häß".encode()) == ""
    assert wide_encoding(b"\xef\xbb\xbfa") == ""
