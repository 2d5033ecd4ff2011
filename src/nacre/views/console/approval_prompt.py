"""Builds the question that asks a person to approve a command, as lines for a terminal. Pure.

Shows everything that would run, behind a bar, and then the reasons, just above the question. No line is wider than the
terminal: a line that the terminal wraps would continue in the first column, where it could imitate a line of nacre's.
"""

from __future__ import annotations

from nacre.ansi.width import max_columns
from nacre.verdict import ApprovalInput, Verdict
from nacre.views.console.escape import escape_command, escape_text, to_ascii

QUESTION = "Run it? [y/N] "
_MAX_FINDINGS = 10
"""Findings listed in a question."""
_MAX_INPUT_LINES, _MAX_INPUT_CHARS = 20, 2000
"""Lines and characters shown of an input that no command runs."""
_OURS = "nacre: "
_MIN_COLUMNS = 20


def prompt_lines(verdict: Verdict, width: int, *, utf8: bool = True) -> list[str]:
    """Return every line except the question itself."""
    page = _Page(width, utf8=utf8)
    if (approval_request := verdict.approval_request) is not None:
        page.say(f"this would run in {approval_request.cwd}:")
        page.show(approval_request.command)
        for each in approval_request.inputs:
            page.say(f"with {each.label}{', which it would run' if each.executed else ''}:")
            page.show(text := _excerpt(each))
            if more := len(each.text.strip("\n")) - len(text):
                page.say(f"… and {more:,} more characters, which nothing is known to run")
    for finding in verdict.findings[:_MAX_FINDINGS]:
        many = approval_request is not None and "\n" in approval_request.command.strip("\n")
        line = (
            f", line {approval_request.command.count(chr(10), 0, finding.start) + 1}"
            if many and approval_request
            else ""
        )
        page.say(f"{finding.rule}{line}: {finding.message}")
    if (more := len(verdict.findings) - _MAX_FINDINGS) > 0:
        page.say(f"… and {more:,} more; `nacre explain` shows them")
    if not verdict.findings:
        page.say(verdict.reason)
    return page.lines


def _excerpt(given: ApprovalInput) -> str:
    """Return all of an input that would run; of any other, enough to recognise it."""
    text = given.text.strip("\n")
    return text if given.executed else "\n".join(text.split("\n")[:_MAX_INPUT_LINES])[:_MAX_INPUT_CHARS]


class _Page:
    def __init__(self, width: int, *, utf8: bool) -> None:
        self.lines: list[str] = []
        self._room = max(width, _MIN_COLUMNS) - 1  # some terminals wrap once the last column is written
        self._utf8 = utf8
        self._bars = ("  │ ", "  ┆ ") if utf8 else ("  | ", "  : ")

    def say(self, text: str) -> None:
        """Add a line of nacre's, wrapped between words."""
        self._add(escape_text(text), _OURS, " " * len(_OURS), between_words=True)

    def show(self, text: str) -> None:
        """Add the lines of a command or input, escaped, behind a bar."""
        for line in text.strip("\n").split("\n"):
            self._add(escape_command(line), *self._bars)

    def _add(self, text: str, first: str, others: str, *, between_words: bool = False) -> None:
        text = text if self._utf8 else to_ascii(text)
        rows = _rows(text, self._room - len(first), between_words=between_words)
        self.lines += [(others if number else first) + row for number, row in enumerate(rows)]


def _rows(text: str, room: int, *, between_words: bool) -> list[str]:
    rows = []
    while (end := _chars_that_fit(text, room)) < len(text):
        if between_words and (blank := text.rfind(" ", 1, end + 1)) > 0:
            rows.append(text[:blank])
            text = text[blank + 1 :]
        else:
            rows.append(text[:end])
            text = text[end:]
    return [*rows, text]


def _chars_that_fit(text: str, room: int) -> int:
    """Return the number of characters that fit in any terminal. Terminals disagree on the width of some characters:
    assume the larger one."""
    if text.isascii():
        return room
    for place, letter in enumerate(text):
        room -= max_columns(letter)
        if room < 0:
            return max(place, 1)
    return len(text)
