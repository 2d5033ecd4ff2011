"""Payloads that others write: hooks' JSON. Damaged, they are answered with a refusal, and nothing else."""

from __future__ import annotations

import json
import random
from pathlib import Path

from nacre.hooks.answer import answer

_HERE = Path(__file__).parents[1]
_HOSTILE = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"[" * 3000,
    b"{" * 300,
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"\\ud800",
    b"null",
    b"true",
    b"-1",
    b'""',
    b"\n",
    b"\r\n",
    b"'''",
    b'"""',
    b"[[x]]\n",
    b"a.b.c=1\n",
    b"\x1b[31m",
)


def damaged(data: bytes, made: random.Random) -> bytes:
    for _ in range(made.choice((0, 1, 1, 2, 6))):
        at = made.randrange(len(data) + 1)
        match made.randrange(4):
            case 0:
                data = data[:at] + made.choice(_HOSTILE) + data[at:]
            case 1:
                data = data[:at] + data[at + made.randint(1, 30) :]
            case 2:
                data = data[:at] + made.randbytes(made.randint(1, 4)) + data[at + 1 :]
            case _:
                data = data[:at] + data[at : at + made.randint(1, 60)] + data[at:]
    return data


class Hook:
    """A case is a payload on stdin."""

    def __init__(self) -> None:
        folder = _HERE / "tests" / "hooks" / "payloads"
        cases = [case for file in sorted(folder.glob("*.json")) for case in json.loads(file.read_text())["cases"]]
        self._payloads = [json.dumps(case["payload"]).encode() for case in cases]

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        return damaged(made.choice(self._payloads), made)

    def wrong(self, case: bytes) -> str:
        reply = answer(case)
        if reply.code not in (0, 2):
            return f"exit code {reply.code}"
        if reply.code == 2 and not reply.err.strip():
            return "a refusal without a reason"
        if reply.out:
            json.loads(reply.out)
        return "nacre itself failed: " + reply.err if "nacre hook failed" in reply.err else ""
