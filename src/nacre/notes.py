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
_FORM = rb"(?m)((?:^|\r)(?:[ \t]|\x1b\[[0-9;?]*[ -/]*[@-~])*)(\[(?:\xe2\x80\xa6|binary output))"


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
    return replace(shaped, text=_IMITATION.sub("\\\\", shaped.text))


def marked(captured: Captured) -> Captured:
    """Lines that imitate what `output` puts between the lines get their backslash before it does so."""
    if not any(form in part for form in _FORMS for part in (captured.head, captured.tail)):
        return captured
    head, tail = (re.sub(_FORM, rb"\1\\\2", part) for part in (captured.head, captured.tail))
    return replace(captured, head=head, tail=tail)
