"""Result → two streams and a number, for interfaces that have a place for nothing else. Pure.

What nacre has to say (why it was not run, what goes on as a task) stands at the end of stderr, in lines of its own.
Secrets are masked.
"""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.execution.outcome import exit_status
from nacre.output.notes import nacre_note
from nacre.result import Exited, Result
from nacre.views.model.text import DEFAULT, describe_end


@frozen
class CommandStreams:
    stdout: str
    stderr: str
    code: int
    """The outcome as a shell would report it: 124 out of time, 126 refused."""


def read_streams(result: Result) -> CommandStreams:
    ended = "" if isinstance(result.outcome, Exited) else describe_end(result, DEFAULT)
    said = "\n".join(nacre_note(text) for text in (ended, *result.notes) if text)
    redactor = result.redactor
    if said and redactor is not None:
        said = redactor.mask(said)
    err = result.err.masked_text(redactor)
    if said and err and not err.endswith("\n"):
        err += "\n"
    return CommandStreams(
        result.out.masked_text(redactor), f"{err}{said}\n" if said else err, exit_status(result.outcome)
    )
