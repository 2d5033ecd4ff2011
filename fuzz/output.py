"""Fuzz the output of commands: bytes through the pipeline to the text that a model reads."""

from __future__ import annotations

import json
import random
import unicodedata

from fuzz.shaped_output import find_difference, find_miscount, is_plain
from nacre.capture.head_tail import HeadTailBuffer
from nacre.output.error_lines import ErrorScanner
from nacre.output.markers import OmittedMiddle
from nacre.output.shape import ShapeOptions, shape
from nacre.output.tokens import count_tokens
from nacre.redact.mask import mask
from nacre.result import Spill
from tests.support.dumps import DUMPS

_PARTS = (
    b"\r", b"\n", b"\x1b[2K", b"\x1b[1A", b"\x1b[0m", b"\x1b]8;;x\x07", b"\x1b[", b"\x9b", b"\b", b"\xff\xfe",
    b"\xc3", b"\xe2\x82", b"\x00", b"\xf0\x9f\x98\x80", b"error: no\n", b"Traceback (most recent call last):\n",
    b"[nacre: exit 0]\n", b"[n\xcc\x81acre: exit 0]\n", b"[\t\xe3\x80\x80\tna\tcre: exit 0]\n",
    b"line 17\n", b"\t", b" " * 90, b"\xed\xa0\x80", b"secretsecret", b"c2VjcmV0c2VjcmV0",
    b"\x1b[H\x1b[2J", b"\x1b[3;3H", b"\x1b[B[nacre: exit 0]", b"\x1bPq\n\n\x1b\\",
    b"\x1b[?1049h", b"\x7f", b"\xe2\x80\xae", b"%d%%\r",
)  # fmt: skip

_SECRETS = ("jkzqvw7~JKZ", "XYUBGH4^FQW")
"""Two secrets without a character in common."""
_LINES = (
    b"line %d\n", b"line %d\n", b"\n", b"the same\n", b"error: no\n", b"src/a.c:%d: warning: unused\n",
    b"\tx = %d;\n", b"[nacre: exit 0]\n", b"[\xe2\x80\xa6 5 identical lines]\n", b"\\[nacre: exit 0]\n",
    b"[%d%%] Building a.o\n", b"no newline", b"\xc3\xa4\xc3\xb6\xe6\x97\xa5\xf0\x9f\x98\x80\n", b"wide " * 300,
    b"Traceback (most recent call last):\n", b"test a%d ... ok\n", b"12:00:%02d GET /x\n", b"-" * 90 + b"\n",
    b"a ", b"[secret]\n",
)  # fmt: skip
"""Lines without characters that a terminal interprets."""


def _plain(made: random.Random, most: int) -> bytes:
    parts = []
    for _ in range(made.randrange(most)):
        part, times = made.choice(_LINES), made.choice((1, 1, 1, 2, 7, 60))
        number = made.randrange(100)
        parts += [part % (number + at) if b"%" in part else part for at in range(times)]
    return b"".join(parts)


def _noise(made: random.Random, most: int) -> bytes:
    parts = []
    for _ in range(made.randrange(most)):
        part = made.choice(_PARTS) if made.random() < 0.7 else made.randbytes(made.randrange(12))
        parts.append(part * made.choice((1, 1, 1, 2, 50)))
    return b"".join(parts)


class Output:
    """A case is the output of a command; its first byte selects the limits."""

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        invented = _plain if made.random() < 0.4 else _noise
        return bytes([seed % 256]) + invented(made, made.choice((5, 40, 100 if invented is _plain else 300)))

    def wrong(self, case: bytes) -> str:
        which, data = case[0], case[1:]
        options = ShapeOptions(
            chars=(500, 900, 30_000)[which % 3],
            lines=(10, 11, 40, 1_000)[which // 3 % 4],
            tokens=(None, None, 125, 600)[len(data) % 4],
            head=(0.35, 0.0, 0.5, 1.0)[len(data) // 4 % 4],
            errors=(5, 0, 20)[len(data) // 16 % 3],
            fold=bool(which & 64),
        )
        limit = (64, 1_000, 1_000_000)[which // 9 % 3]
        record, size = HeadTailBuffer(limit), max((1, 7, 1_000, 40_000)[len(data) % 4], len(data) // 1_000)
        for at in range(0, len(data), size):
            record.add(data[at : at + size])
        spilled = (None, Spill("/tmp/x.log", len(data), True), Spill("/tmp/日 本", len(data), False))[
            len(data) // 48 % 3
        ]
        captured = record.to_captured()
        if said := find_miscount(captured, data, limit):
            return said
        middle = _middle(data[len(captured.head) : len(captured.head) + captured.dropped_bytes]) if spilled else None
        if is_plain(data) and (
            said := find_difference(shape(captured, options, spill=spilled, middle=middle), captured)
        ):
            return said
        made = shape(captured, options, secrets=("secretsecret",), spill=spilled, middle=middle)
        if len(made.text) > options.chars:
            return f"{len(made.text)} characters, of {options.chars}"
        if options.tokens is not None and count_tokens(made.text) > options.tokens:
            return f"{count_tokens(made.text)} tokens, of {options.tokens}"
        if made.text.count("\n") >= options.lines:
            return f"{made.text.count(chr(10)) + 1} lines, of {options.lines}"
        if "secretsecret" in made.text or "c2VjcmV0c2VjcmV0" in made.text:
            return "the secret is in it"
        if said := _left_in_dump(which, data):
            return said
        if bad := [
            sign
            for sign in made.text
            if sign in "\x00\x1b\x07\b\r\x7f" or "\x80" <= sign <= "\x9f" or "\ud800" <= sign <= "\udfff"
        ]:
            return f"{bad[0]!r} is in it"
        ours = [
            line for line in made.text.split("\n") if _visible_text(line).startswith(("[nacre:", "[…", "[binaryoutput"))
        ]
        if not options.fold and (forged := [line for line in ours if line not in made.notes]):
            return f"{forged[0]!r} looks like a remark"
        return "" if json.loads(json.dumps(made.text)) == made.text else "it does not survive JSON"


def _left_in_dump(which: int, data: bytes) -> str:
    """Return an error if a dump of the case differs after masking, depending on which of two secrets it contains."""
    name, dump = sorted(DUMPS.items())[which % len(DUMPS)]
    place = which * 7 % (min(len(data), 200) + 1)
    before, after = data[:place], data[place:400]
    if any(sign in before + after for secret in _SECRETS for sign in secret.encode()):
        return ""  # they may also occur outside the secret, whole or in part
    one, other = (mask(dump(before + secret.encode() + after), (secret,)) for secret in _SECRETS)
    return "" if one == other else f"of {name} with a secret at {place} something is left"


def _visible_text(line: str) -> str:
    """Return the line without combining marks, spaces and invisible characters."""
    return "".join(sign for sign in line if unicodedata.category(sign) not in ("Mn", "Me", "Mc", "Cf", "Zs", "Cc"))


def _middle(data: bytes) -> OmittedMiddle:
    """Return the facts about the part that was not captured."""
    scanner = ErrorScanner()
    scanner.feed(data)
    errors = scanner.error_lines()
    return OmittedMiddle(scanner.lines, errors, scanner.total)
