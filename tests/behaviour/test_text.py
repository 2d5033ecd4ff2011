"""The command reaches bash byte for byte, whatever it contains."""

from __future__ import annotations

import asyncio

from hypothesis import example, given, settings
from hypothesis import strategies as st

import nacre
from tests.support.plain_bash import parts, run_in_plain_bash
from tests.support.unchecked import UNCHECKED

QUICK = settings(max_examples=60, deadline=None)

ANYTHING = st.binary(max_size=300).map(lambda data: data.replace(b"\0", b""))
ODD_BYTES = st.text(alphabet="\x01\x7f\x80\xff\\'\"$`\n\r\t #!-~", max_size=60).map(lambda text: text.encode("latin-1"))
LETTERS = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=200)
LONG = st.integers(3900, 4200) | st.integers(60_000, 70_000)

SHOW = b'printf %s "$BASH_EXECUTION_STRING"; exit\n'
"""Bash reads line by line: what follows this line is stored, never run."""


def through_nacre(text: bytes) -> tuple[int | None, bytes, bytes]:
    result = asyncio.run(UNCHECKED.run(text.decode("utf-8", "surrogateescape")))
    assert result.dropped_bytes == 0
    return parts(result)


def quote_bytes(data: bytes) -> bytes:
    return b"'" + data.replace(b"'", b"'\\''") + b"'"


@QUICK
@given(ANYTHING | ODD_BYTES)
@example(b"\x01\x01\x7f\x7f\x01")
@example(b"\x01\xc2\x01")  # `read` in a UTF-8 locale drops the last byte
@example(b"\n\n\n")
@example(b"")
@example(bytes(range(1, 256)))
def test_bash_receives_the_command_byte_for_byte(payload: bytes) -> None:
    text = SHOW + payload
    assert through_nacre(text) == (0, text, b"")


@settings(max_examples=20, deadline=None)
@given(ANYTHING | ODD_BYTES, LONG)
@example(b"\x01\x7f\xff\n", 4000)
@example(b"\xe2\x82\xac", 65_536)
@example(b"-\n", 60_000)
@example(b"(", 60_000)
def test_bash_receives_a_long_command_byte_for_byte(payload: bytes, size: int) -> None:
    # as data: the checker would give up on so many commands, and no policy allows what was not read
    text = SHOW + b": <<'no line is like this'\n" + ((payload or b"x") * size)[:size]
    assert through_nacre(text) == (0, text, b"")


@QUICK
@given(ANYTHING | ODD_BYTES | LETTERS.map(str.encode))
@example(b"\x01")
@example(b"\x7f")
@example(b"a\x01b\x7fc\\d")
def test_quoted_text_prints_as_it_does_in_plain_bash(payload: bytes) -> None:
    text = b"printf '<%s>' " + quote_bytes(payload) + b"; printf '%s' \"$0 $#\""
    assert through_nacre(text) == run_in_plain_bash(text)


@settings(max_examples=20, deadline=None)
@given(ANYTHING | ODD_BYTES, st.integers(3900, 4200) | st.integers(20_000, 30_000))  # plain bash takes 128 KiB
def test_long_quoted_text_prints_as_it_does_in_plain_bash(payload: bytes, size: int) -> None:
    text = b"printf %s " + quote_bytes(((payload or b"x") * size)[:size])
    assert through_nacre(text) == run_in_plain_bash(text)


@QUICK
@given(st.lists(ANYTHING | LETTERS.map(str.encode), min_size=1, max_size=5))
def test_a_here_document_prints_as_it_does_in_plain_bash(lines: list[bytes]) -> None:
    body = b"\n".join(line.replace(b"\n", b" ") for line in lines)
    text = b"cat <<'nacre-end'\n" + body + b"\nnacre-end\necho after"
    assert through_nacre(text) == run_in_plain_bash(text)


@QUICK
@given(st.dictionaries(st.from_regex(r"[A-Z][A-Z0-9]{0,8}X", fullmatch=True), LETTERS, max_size=4))
def test_request_env_arrives_unchanged(env: dict[str, str]) -> None:
    names = " ".join(env)
    result = nacre.run_sync(f'for name in {names}; do printf "%s\\0" "${{!name}}"; done', env=env)
    assert result.out.head.decode() == "".join(f"{value}\0" for value in env.values())


@QUICK
@given(st.binary(max_size=2000))
def test_stdin_arrives_byte_for_byte(data: bytes) -> None:
    assert nacre.run_sync("cat", stdin=data).out.head == data
