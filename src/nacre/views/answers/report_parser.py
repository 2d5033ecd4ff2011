"""A report's text in, what it tells out: the other way round from `report`. Pure; raises for no text.

Exact for a text that was not cut and whose streams hold no line that is a heading, whatever the command is. Headings in
stdout do no harm unless there is a whole head among them, from `Exit Code:` to `STDOUT:`. It is read from its end: the
last `STDERR:` after an empty line is the heading, and the last head before it is the head. A stream that
is `(no output)` or `(no errors)` itself cannot be told from one that is empty.
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
    command: str
    exit_code: int
    working_dir: str
    stdout: str
    stderr: str
    notes: tuple[str, ...] = ()
    """nacre's own lines."""
    is_truncated: bool = False


def parse_report(text: str, *views: Report) -> ParsedReport | None:
    """None: it is no report, or what tells so was cut out. `views`: how it may have been cut."""
    cut = next((view.start for view in views if was_cut(text, view)), None)
    top, heading, err = text.rpartition(_STDERR)
    if not heading and cut is not None:  # it was in the middle
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
    whole = view.start + len(MARK) + view.end
    return len(text) == min(whole, view.most) and text.startswith(MARK, view.start)


def _split_notes(err: str) -> tuple[str, tuple[str, ...]]:
    """Without nacre's own lines."""
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
