"""How a result is given back: a closed sum, one kind for each shape there is; the numbers are the profile's. Data only.

`nacre.views.answers` makes the answers.
"""

from __future__ import annotations

from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.types import KIB, MIB


@frozen(kw_only=True)
class Text:
    """Our own: one text, shaped, explained, within a limit."""

    chars: int = 30_000
    """Characters of all of it; at least 1,000."""
    lines: int = 1_000
    tokens: int | None = None
    """About so many; None: not counted."""
    separate_streams: bool = False
    """stdout and stderr by themselves."""


@frozen(kw_only=True)
class Fields:
    """An object: success, both streams, exit code, duration."""

    limit: int = 30_000
    """Characters of each stream: beyond, its first and last halves."""


@frozen(kw_only=True)
class Report:
    """A labelled text: command, exit code, directory, stdout, stderr."""

    truncate_above: int = 3500
    """Characters; above, it is cut."""
    start: int = 2500
    end: int = 1000
    most: int = 5000
    """It is never longer."""
    longest: int = 300
    """Seconds that may be asked for, as who ran out of time is told."""


@frozen(kw_only=True)
class Combined:
    """One stream, with what there is to say about its end."""

    truncate_above: int = 128 * KIB
    """Bytes; above, it is cut."""
    ends: int = 4 * KIB
    """Bytes of its beginning, and of its end, that are left then."""


@frozen(kw_only=True)
class Summary:
    """A line about the command, and the end of what it printed; a file has all of it."""

    lines: int = 80
    bytes: int = 12 * KIB
    window: int = 256 * KIB
    """Bytes of the end of the output that are looked at."""
    command: int = 80
    """Characters of the command in its line."""


@frozen(kw_only=True)
class SeparateStreams:
    """Both streams whole, as far as they may go, with how it ended."""

    limit: int = 10 * MIB
    """Bytes of each."""


AnswerFormat: TypeAlias = Text | Fields | Report | Combined | Summary | SeparateStreams
