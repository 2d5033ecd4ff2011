"""What is nacre's own in a text that a model reads, and what only looks like it. Pure.

Whatever nacre says is a line of its own that begins with `[nacre: `; what `output` puts between lines begins with `[…`
or `[binary output`. A line of a command's output that begins like one of these is shown with a backslash before it,
which is all that is ever added to output: without its first backslash, such a line is as it was printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nacre.frozen import replace
from nacre.output import Middle, Options, Shaped, shape
from nacre.patterns import later
from nacre.result import Captured, Spill

_IMITATION = later(r"(?im)(?:^|(?<=[\u2028\u2029]))(?=[^\w\n\[]{0,200}\[[^\w\n]{0,10}nacre)")
_FORMS = ("[…".encode(), b"[binary output")
_FORM = rb"\[(?:\xe2\x80\xa6|binary output)"
_UNSEEN = rb"(?:[ \t]|\x1b\[[0-9;?]*[ -/]*[@-~])*"
_FAR = 200
"""Bytes before it on its line, of blanks and colours, with which it still seems to begin the line."""


def note(text: str) -> str:
    return f"[nacre: {text}]"


def shown(
    captured: Captured,
    options: Options,
    *,
    secrets: Iterable[str] = (),
    spill: Spill | None = None,
    middle: Middle | None = None,
) -> Shaped:
    """What `shape` makes of it, with its imitations marked. Those may make it a little longer than the limits."""
    shaped = shape(marked(captured), options, secrets=secrets, spill=spill, middle=middle)
    return replace(shaped, text=told_apart(shaped.text))


def told_apart(text: str) -> str:
    """Output with its imitations of our own lines marked."""
    return _IMITATION.sub("\\\\", text)


def marked(captured: Captured) -> Captured:
    """Lines that imitate what `output` puts between the lines get their backslash before it does so."""
    if not any(form in part for form in _FORMS for part in (captured.head, captured.tail)):
        return captured
    return replace(captured, head=_marked(captured.head), tail=_marked(captured.tail))


def _marked(data: bytes) -> bytes:
    parts, done = [], 0
    for match in re.finditer(_FORM, data):
        place = match.start()
        before = data[max(0, place - _FAR) : place]
        begin = max(before.rfind(b"\n"), before.rfind(b"\r")) + 1
        if (begin or place <= _FAR) and re.fullmatch(_UNSEEN, before[begin:]):
            parts += [data[done:place], b"\\"]
            done = place
    return b"".join((*parts, data[done:]))
