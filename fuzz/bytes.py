"""Bytes that commands and keepers send: the pipeline that a model reads, and the messages between host and keeper."""

from __future__ import annotations

import json
import random
from contextlib import suppress

from nacre.capture.record import Record
from nacre.keeper.wire import Adoption, Garbled, Start, environment_of
from nacre.output import Options, shape
from nacre.output.errors import Scanner
from nacre.output.remarks import Middle
from nacre.output.tokens import tokens
from nacre.result import Spill

_PARTS = (
    b"\r", b"\n", b"\x1b[2K", b"\x1b[1A", b"\x1b[0m", b"\x1b]8;;x\x07", b"\x1b[", b"\x9b", b"\b", b"\xff\xfe",
    b"\xc3", b"\xe2\x82", b"\x00", b"\xf0\x9f\x98\x80", b"error: no\n", b"Traceback (most recent call last):\n",
    b"[nacre: exit 0]\n", b"line 17\n", b"\t", b" " * 90, b"\xed\xa0\x80", b"secretsecret", b"c2VjcmV0c2VjcmV0",
    b"\x1b[H\x1b[2J", b"\x1b[3;3H", b"\x1b[B[nacre: exit 0]", b"\x1bPq\n\n\x1b\\",
    b"\x1b[?1049h", b"\x7f", b"\xe2\x80\xae", b"%d%%\r",
)  # fmt: skip


def _noise(made: random.Random, most: int) -> bytes:
    parts = []
    for _ in range(made.randrange(most)):
        part = made.choice(_PARTS) if made.random() < 0.7 else made.randbytes(made.randrange(12))
        parts.append(part * made.choice((1, 1, 1, 2, 50)))
    return b"".join(parts)


class Output:
    """A case is what a command prints; its first byte chooses the limits."""

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        return bytes([seed % 256]) + _noise(made, made.choice((5, 40, 300)))

    def wrong(self, case: bytes) -> str:
        which, data = case[0], case[1:]
        options = Options(
            chars=(500, 900, 30_000)[which % 3],
            lines=(10, 11, 40, 1_000)[which // 3 % 4],
            tokens=(None, None, 125, 600)[len(data) % 4],
            head=(0.35, 0.0, 0.5, 1.0)[len(data) // 4 % 4],
            errors=(5, 0, 20)[len(data) // 16 % 3],
            fold=bool(which & 64),
        )
        record = Record((64, 1_000, 1_000_000)[which // 9 % 3])
        record.add(data)
        spilled = (None, Spill("/tmp/x.log", len(data), True), Spill("/tmp/日 本", len(data), False))[
            len(data) // 48 % 3
        ]
        captured = record.captured()
        middle = _middle(data[len(captured.head) : len(captured.head) + captured.dropped]) if spilled else None
        made = shape(captured, options, secrets=("secretsecret",), spill=spilled, middle=middle)
        if len(made.text) > options.chars:
            return f"{len(made.text)} characters, of {options.chars}"
        if options.tokens is not None and tokens(made.text) > options.tokens:
            return f"{tokens(made.text)} tokens, of {options.tokens}"
        if made.text.count("\n") >= options.lines:
            return f"{made.text.count(chr(10)) + 1} lines, of {options.lines}"
        if "secretsecret" in made.text or "c2VjcmV0c2VjcmV0" in made.text:
            return "the secret is in it"
        if bad := [
            sign
            for sign in made.text
            if sign in "\x00\x1b\x07\b\r\x7f" or "\x80" <= sign <= "\x9f" or "\ud800" <= sign <= "\udfff"
        ]:
            return f"{bad[0]!r} is in it"
        ours = [line for line in made.text.split("\n") if line.startswith(("[nacre: ", "[…", "[binary output"))]
        if not options.fold and (forged := [line for line in ours if line not in made.notes]):
            return f"{forged[0]!r} looks like a remark"
        return "" if json.loads(json.dumps(made.text)) == made.text else "it does not survive JSON"


def _middle(data: bytes) -> Middle:
    """What is told of the part that was not captured."""
    scanner = Scanner()
    scanner.feed(data)
    errors = scanner.found()
    return Middle(scanner.lines, errors, scanner.total)


class Wire:
    """A case is a message: good ones, damaged."""

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        words = [made.randbytes(made.randrange(8)).replace(b"\0", b"") for _ in range(4)]
        start = Start(
            tag=made.randrange(1 << 62), timeout=made.random() * 100, grace=made.random(), merge=made.random() < 0.5,
            keep=made.random() < 0.5, reusable=False, has_stdin=made.random() < 0.5, has_state=made.random() < 0.5,
            bash=words[0], cwd=words[1], text=words[2], env=words[3],
        )  # fmt: skip
        adoption = Adoption(
            task=words[0],
            cap=made.randrange(1 << 40),
            seen=made.randrange(1 << 40),
            detached=True,
            live=made.random() < 0.5,
        )
        message = made.choice((start.message(), adoption.message(), made.randbytes(made.randrange(200))))
        for _ in range(made.choice((0, 1, 1, 3))):
            at = made.randrange(len(message) + 1)
            message = message[:at] + made.randbytes(made.randrange(4)) + message[at + made.randrange(4) :]
        return message

    def wrong(self, case: bytes) -> str:
        for decode in (Start.parse, Adoption.parse, environment_of):
            with suppress(Garbled):
                decode(case)
        return ""
