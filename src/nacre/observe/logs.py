"""Log runs under `nacre.run`: one line when a run begins (DEBUG) and one when it has ended (INFO).

Each record has the same data fields, whose names begin with `nacre_`. No outcome of a command is logged as a warning,
because it is no fault of this program. The command is on one line, escaped, masked and cut.
"""

from __future__ import annotations

import logging

from nacre.observe.events import Observed, RunBegan, RunEnded

LOG = logging.getLogger("nacre.run")
_MAX_MESSAGE_COLUMNS = 200
"""Maximum width of a command or a directory in a message, in columns; the field has all of it."""


def log(event: Observed) -> None:
    """Log an event of a run."""
    if isinstance(event, RunBegan):
        LOG.debug(
            "began in %s: %s", _LazyLine(event.cwd or "?"), _LazyLine(event.command), extra=_request_fields(event)
        )
    else:
        _log_end(event)


def _log_end(ended: RunEnded) -> None:
    result, verdict = ended.result, ended.verdict
    fields = {
        **_request_fields(ended.began),
        "nacre_outcome": "" if result is None else result.outcome.kind,
        "nacre_error": ended.error,
        "nacre_exit_code": None if result is None else result.exit_code,
        "nacre_duration": ended.duration,
        "nacre_bytes": ended.byte_counts.output,
        "nacre_pid": ended.pid,
        "nacre_task": None if result is None or result.task is None else result.task.id,
        "nacre_decision": "" if verdict is None else verdict.decision.value,
        "nacre_rule": "" if verdict is None else verdict.rule,
    }
    LOG.info(
        "%s after %.3f s: %s", _LazyLine(ended.summary), ended.duration, _LazyLine(ended.began.command), extra=fields
    )


def _request_fields(began: RunBegan) -> dict[str, object]:
    return {
        "nacre_run": began.id,
        "nacre_command": began.command,
        "nacre_cwd": began.cwd,
        "nacre_access": began.access,
        "nacre_profile": began.profile,
        "nacre_caller": began.caller,
        "nacre_conversation": began.conversation_id,
    }


class _LazyLine:
    """A text that is formatted as one line only if it is written."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        from nacre.views.console.escape import fit

        return fit(self._text, _MAX_MESSAGE_COLUMNS)
