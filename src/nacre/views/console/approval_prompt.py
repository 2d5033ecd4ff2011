"""A verdict that asks → the question, as lines of a terminal. Pure.

All of what would run is in it, behind a bar; then why it is asked about, just above the question. No line is wider than
the terminal: what the terminal itself wraps would begin in the first column, and could pass for a line of ours.
"""

from __future__ import annotations

from nacre.ansi.width import max_columns
from nacre.verdict import ApprovalInput, Verdict
from nacre.views.console.escape import escape_command, escape_text, to_ascii

QUESTION = "Run it? [y/N] "
_MAX_FINDINGS = 10
"""Findings that a question lists."""
_MAX_INPUT_LINES, _MAX_INPUT_CHARS = 20, 2000
"""Lines and characters of input that nothing runs."""
_OURS = "nacre: "
_MIN_COLUMNS = 20


def prompt_lines(verdict: Verdict, width: int, *, utf8: bool = True) -> list[str]:
    """Every line but the question itself."""
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
    """All of what would run; of other input, so much that one sees what it is."""
    text = given.text.strip("\n")
    return text if given.executed else "\n".join(text.split("\n")[:_MAX_INPUT_LINES])[:_MAX_INPUT_CHARS]


class _Page:
    def __init__(self, width: int, *, utf8: bool) -> None:
        self.lines: list[str] = []
        self._room = max(width, _MIN_COLUMNS) - 1  # a terminal may wrap as soon as the last column is written
        self._utf8 = utf8
        self._bars = ("  │ ", "  ┆ ") if utf8 else ("  | ", "  : ")

    def say(self, text: str) -> None:
        self._add(escape_text(text), _OURS, " " * len(_OURS), between_words=True)

    def show(self, text: str) -> None:
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
    """How many characters surely fit. Terminals do not agree on how wide some of them are: then the wider one."""
    if text.isascii():
        return room
    for place, letter in enumerate(text):
        room -= max_columns(letter)
        if room < 0:
            return max(place, 1)
    return len(text)
