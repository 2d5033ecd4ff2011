"""Parses the text of a report: the inverse of `report`. Pure; never raises, whatever the text.

Exact for a text that was not cut and whose streams contain no line that is a heading, whatever the command is. Headings
in stdout are harmless unless they form a complete head, from `Exit Code:` to `STDOUT:`. The text is parsed from its
end: the last `STDERR:` after an empty line is the heading, and the last head before it is the head. A stream that
is literally `(no output)` or `(no errors)` cannot be told from an empty one.
"""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.base.lazy_regex import lazy_regex
from nacre.profiles.answer_format import Report
from nacre.views.answers.report import MARK, NO_ERRORS, NO_OUTPUT, NOT_OURS, NOTE

_COMMAND = "Command: "
_STDOUT = "\n\nSTDOUT:\n"
_STDERR = "\n\nSTDERR:\n"
_EXIT = lazy_regex(r"\nExit Code: (-?[0-9]{1,12})\nWorking Directory: ")


@frozen(kw_only=True)
class ParsedReport:
    """The parts of a report."""

    command: str
    exit_code: int
    working_dir: str
    stdout: str
    stderr: str
    notes: tuple[str, ...] = ()
    """nacre's own notes, without their brackets."""
    is_truncated: bool = False


def parse_report(text: str, *views: Report) -> ParsedReport | None:
    """Parse `text`. Return None if it is not a report, or if the parts that identify it were cut out. `views`: formats
    whose limits may have cut it."""
    cut = next((view.start for view in views if was_cut(text, view)), None)
    top, heading, err = text.rpartition(_STDERR)
    if not heading and cut is not None:  # the heading was in the part cut out
        top, err = text[:cut], text[cut + len(MARK) :]
    heads = _EXIT.finditer(top[: max(0, top.rfind(_STDOUT))])
    head = max(heads, key=lambda each: each.start(), default=None)
    if head is None or not top.startswith(_COMMAND):
        return None
    cwd, _, out = top[head.end() :].partition(_STDOUT)
    err, notes = _split_notes(err)
    return ParsedReport(
        command=top[len(_COMMAND) : head.start()],
        exit_code=int(head[1]),
        working_dir=cwd,
        stdout="" if out == NO_OUTPUT else out,
        stderr="" if err == NO_ERRORS else err,
        notes=notes,
        is_truncated=cut is not None,
    )


def was_cut(text: str, view: Report) -> bool:
    """Return whether `text` was cut at the limits of `view`."""
    whole = view.start + len(MARK) + view.end
    return len(text) == min(whole, view.most) and text.startswith(MARK, view.start)


def _split_notes(err: str) -> tuple[str, tuple[str, ...]]:
    """Split nacre's own notes off stderr."""
    lines = err.split("\n")
    ours = len(lines)
    while ours and NOTE.fullmatch(lines[ours - 1]):
        ours -= 1
    after = lines[ours:]
    if NOT_OURS in after:
        ours = len(lines) - after[::-1].index(NOT_OURS)
        after = lines[ours:]
        ours -= 1
    said = tuple(line.removeprefix("[nacre: ").removesuffix("]") for line in after)
    return "\n".join(lines[:ours]), said
