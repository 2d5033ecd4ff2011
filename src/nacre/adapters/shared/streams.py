"""Converts a Result to stdout, stderr and an exit status, for interfaces that have nothing else. Pure.

nacre's own messages (why a command was not run, what continues as a task) are separate lines at the end of stderr.
Secrets are masked.
"""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.output.notes import nacre_note
from nacre.result import Exited, Result
from nacre.views.model.text import DEFAULT, describe_end


@frozen
class CommandStreams:
    """The output and exit status of a command."""

    stdout: str
    stderr: str
    code: int
    """Exit status as a shell would report it: 124 for a timeout, 126 for a refusal."""


def read_streams(result: Result) -> CommandStreams:
    """Return the streams of a result, with nacre's messages at the end of stderr."""
    ended = "" if isinstance(result.outcome, Exited) else describe_end(result, DEFAULT)
    said = "\n".join(nacre_note(text) for text in (ended, *result.notes) if text)
    redactor = result.redactor
    if said and redactor is not None:
        said = redactor.mask(said)
    err = result.err.masked_text(redactor)
    if said and err and not err.endswith("\n"):
        err += "\n"
    return CommandStreams(
        result.out.masked_text(redactor), f"{err}{said}\n" if said else err, result.outcome.exit_status
    )
