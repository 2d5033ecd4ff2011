"""Secrets in the output of `xxd`, `od` and `hexdump`: as numbers, broken over lines, with text in between.

Nothing is left of a secret if masking the dump of another secret of the same length gives the same text.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nacre import Bash, Request, ToolContext
from nacre.redact.mask import MASK, mask, mask_ansi, partial_match_length
from nacre.views.model.text import model_text
from tests.support.dumps import DUMPS

LENGTHS = (6, 7, 15, 37)
ONE = "correct-horse=battery+staple/123456789"
OTHER = "".join(chr((ord(char) - 33 + 41) % 94 + 33) for char in ONE)
BEFORE, AFTER = b"A b\n  " * 3, b"\n and more \x00\xff\n"

MORE = (
    "xxd -u", "xxd -g4", "xxd -g0", "xxd -b", "xxd -i", "xxd -p -c 11", "od -An", "od -An -c", "od -tx1c", "od -a",
    "od -x", "od -td1", "od -to1", "od -d", "od -s", "od -Ax", "od -Ad -c", "od -w32 -tx1", "hexdump -c",
    "hexdump -b", "hexdump -o", "hexdump -x", "hexdump -d",
)  # fmt: skip
WIDE = ("od -tx4", "od -tx8", "od -i", "od -to4", "od -td8", "xxd -e -g8")
"""Formats in words of at least four bytes, of which a value must fill one."""

dumps = pytest.mark.parametrize("name", DUMPS)


def pair(length: int) -> tuple[str, str]:
    return ONE[:length], OTHER[:length]


def parts(secret: str) -> list[str]:
    return [secret[at : at + 6] for at in range(len(secret) - 5)]


@pytest.mark.parametrize("length", LENGTHS)
@dumps
def test_no_part_of_a_secret_is_left_in_a_masked_dump(name: str, length: int) -> None:
    for shift in range(17):
        masked = []
        for secret in pair(length):
            text = DUMPS[name](BEFORE + b"q" * shift + secret.encode() + AFTER)
            masked.append(mask(text, [secret]))
            assert MASK in masked[-1], text
            assert masked[-1].count("\n") == text.count("\n")
        assert masked[0] == masked[1]


@pytest.mark.parametrize("command", [*MORE, *WIDE])
def test_no_part_of_a_secret_is_left_in_real_program_output(command: str) -> None:
    program, *options = command.split()
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    for length in LENGTHS[-1:] if command in WIDE else LENGTHS:
        for shift in range(9):
            masked = []
            for secret in pair(length):
                data = BEFORE + b"q" * shift + secret.encode() + AFTER
                done = subprocess.run([program, *options], input=data, stdout=subprocess.PIPE, check=True)
                masked.append(mask(done.stdout.decode(), [secret]))
                assert MASK in masked[-1]
            assert masked[0] == masked[1], command


@dumps
def test_simulated_dumps_match_the_real_programs(name: str) -> None:
    program, *options = name.split()
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    for size in (1, 15, 16, 17, 40):
        data = bytes(range(17, 17 + size))
        done = subprocess.run([program, *options], input=data, stdout=subprocess.PIPE, check=True)
        assert [line.rstrip() for line in done.stdout.decode().splitlines()] == [
            line.rstrip() for line in DUMPS[name](data).splitlines()
        ]


@dumps
def test_partial_secret_is_masked_where_a_dump_was_cut(name: str) -> None:
    """Less than four bytes stay at a cut. A part of six, anywhere in the rest, would be masked."""
    text = DUMPS[name](BEFORE + b"qqq" + ONE.encode() + AFTER)
    for place in range(len(text)):
        for masked in (mask(text[:place], [ONE], ends_cut=True), mask(text[place:], [ONE], starts_cut=True)):
            assert mask(masked, parts(ONE)) == masked, place


@dumps
@given(sizes=st.lists(st.integers(1, 90), max_size=30), shift=st.integers(0, 20))
@settings(deadline=None, max_examples=30)
def test_streaming_a_dump_in_pieces_reveals_no_more_than_masking_at_once(
    name: str, sizes: list[int], shift: int
) -> None:
    shown = []
    for secret in pair(LENGTHS[-1]):
        text, held, place, said = DUMPS[name](b"q" * shift + secret.encode() + AFTER), "", 0, ""
        for size in (*sizes, len(text)):
            held += text[place : place + size]
            place += size
            ready = len(held) - partial_match_length(held, [secret])
            said, held = said + mask(held[:ready], [secret]), held[ready:]
        shown.append(said + mask(held, [secret]))
    assert shown[0] == shown[1]


def test_secret_in_a_coloured_dump_is_masked() -> None:
    text = DUMPS["xxd"](BEFORE + ONE.encode())
    coloured = "".join(f"\x1b[1;32m{char}\x1b[0m" if char.isalnum() else char for char in text)
    masked = mask_ansi(coloured, [ONE])
    assert MASK in masked
    assert ONE[:6].encode().hex()[:4] not in masked.replace("\x1b[1;32m", "").replace("\x1b[0m", "")


def test_dump_without_the_secret_is_unchanged() -> None:
    for name, dump in DUMPS.items():
        text = dump(BEFORE + ONE.encode() + AFTER)
        assert mask(text, [OTHER]) == text, name
        assert mask(dump(b"q" * 16 + ONE.encode()), [ONE]).startswith(dump(b"q" * 16)[:20]), name


@pytest.mark.parametrize(
    "secret", ["пароль-и-слово", "line one of it\nline two of it", "a b  c   d    e", "%s\\n\t\x7f!?"]
)
@dumps
def test_secrets_with_any_characters_are_masked_in_dumps(name: str, secret: str) -> None:
    for shift in range(17):
        assert MASK in mask(DUMPS[name](b"q" * shift + secret.encode() + b"qq"), [secret])


async def test_model_text_masks_a_secret_dumped_by_a_command(bash: Bash, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(BEFORE + ONE.encode() + AFTER)
    result = await bash.run(Request("od -c file; od -An -tx1 file", cwd=tmp_path), ToolContext(secrets=(ONE,)))
    said = model_text(result)
    assert MASK in said
    assert "h   o   r   s   e" not in said
    assert b"horse".hex(" ") not in said
