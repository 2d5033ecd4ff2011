"""Formats of a tool's answer: a closed union with one class for each; the profile sets the sizes. Data only.

`nacre.views.answers` renders the answers.
"""

from __future__ import annotations

from typing import TypeAlias

from nacre.base.frozen import frozen
from nacre.types import KIB, MIB


@frozen(kw_only=True)
class Text:
    """nacre's own format: one text with output and explanations, within a limit."""

    chars: int = 30_000
    """Characters of the whole text; at least 1,000."""
    lines: int = 1_000
    tokens: int | None = None
    """Approximate limit; None: tokens are not counted."""
    separate_streams: bool = False
    """Show stdout and stderr separately."""


@frozen(kw_only=True)
class Fields:
    """An object with success, both streams, exit code and duration."""

    limit: int = 30_000
    """Characters of each stream; of a longer one, the first and the last half of this."""


@frozen(kw_only=True)
class Report:
    """A labelled text: command, exit code, working directory, stdout, stderr."""

    truncate_above: int = 3500
    """Characters; longer output is cut to its `start` and `end`."""
    start: int = 2500
    end: int = 1000
    most: int = 5000
    """Limit in characters for the whole answer."""
    longest: int = 300
    """Longest timeout in seconds that the answer suggests after a timeout."""


@frozen(kw_only=True)
class Combined:
    """A single stream, with notes on how the command ended."""

    truncate_above: int = 128 * KIB
    """Bytes; longer output is cut."""
    ends: int = 4 * KIB
    """Bytes kept of the beginning and of the end of cut output."""


@frozen(kw_only=True)
class Summary:
    """A line about the command, and the end of its output; a file has all of it."""

    lines: int = 80
    bytes: int = 12 * KIB
    window: int = 256 * KIB
    """Bytes at the end of the output from which the lines are taken."""
    command: int = 80
    """Characters of the command in the first line."""


@frozen(kw_only=True)
class SeparateStreams:
    """Both streams up to a limit, and how the command ended."""

    limit: int = 10 * MIB
    """Bytes of each stream."""


AnswerFormat: TypeAlias = Text | Fields | Report | Combined | Summary | SeparateStreams
