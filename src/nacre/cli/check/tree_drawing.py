"""Draws a tree and a verdict as lines for a reader. Pure.

    sudo
    └─ bash -c
       └─ rm -rf /          refuse: rm-root-or-home

Newlines and control characters in a command are replaced: they neither break a line nor reach the terminal.
"""

from __future__ import annotations

from nacre.ansi.width import columns
from nacre.cli.common.messages import printable
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from nacre.cli.check.tree import Branch
    from nacre.shell import Script
    from nacre.verdict import Finding, Verdict

MAX_COLUMNS = 100
MAX_BRANCHES = 200
MAX_FINDINGS = 50
MAX_LINES = 5
"""Lines in the excerpt of one finding."""

_COLOURS = {Decision.ALLOW: "32", Decision.ASK: "33", Decision.REFUSE: "31"}
_UNNAMED = "a command's name"
_MARKS = {Decision.ALLOW: "~", Decision.ASK: "~", Decision.REFUSE: "^"}


def draw(script: Script, verdict: Verdict, roots: list[Branch], *, colour: bool) -> Iterator[str]:
    """Yield the lines of the tree, the findings and the verdict."""
    paint = TreeStyle(colour)
    yield from _tree(roots, paint)
    for finding in verdict.findings[:MAX_FINDINGS]:
        yield ""
        yield f"{paint(finding.decision)} {paint.bold(finding.rule)}"
        yield from _excerpt(script.text, finding, paint)
        yield f"  {printable(_one_line(finding.what))}."
        yield f"  Instead: {printable(_one_line(finding.instead))}"
    yield ""
    if (more := len(verdict.findings) - MAX_FINDINGS) > 0:
        yield f"… and {more:,} more: --json has them all"
    if not verdict.findings:
        yield paint(verdict.decision) + (f": {verdict.reason}" if verdict.reason else ": no rule stops it")
    if script.syntax_error:
        yield "syntax: bash would report a syntax error here, after running what comes before"
    if script.gave_up:
        yield f"unread: {script.gave_up}"
    yield "unknown: " + (
        ", ".join(_UNNAMED if what == "…" else printable(what) for what in verdict.unknown) or "nothing"
    )
    yield "plain: " + ("yes, provably harmless" if verdict.plain else "no, not provably harmless")


class TreeStyle:
    """Colours of the drawing; without `colour`, text stays as it is."""

    def __init__(self, colour: bool) -> None:
        self._colour = colour

    def __call__(self, decision: Decision, text: str = "") -> str:
        return self._apply_style(_COLOURS[decision], text or decision.value)

    def bold(self, text: str) -> str:
        return self._apply_style("1", text)

    def _apply_style(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self._colour else text


# the tree


def _tree(roots: list[Branch], paint: TreeStyle) -> Iterator[str]:
    drawn = 0
    for root in roots:
        for line in _branch(root, "", "", paint):
            drawn += 1
            if drawn > MAX_BRANCHES:
                yield "…"
                return
            yield line
    if not roots:
        yield "(nothing would run)"


def _branch(branch: Branch, first: str, rest: str, paint: TreeStyle) -> Iterator[str]:
    line = first + _short(branch.words or "(nothing)", MAX_COLUMNS - len(first))
    if branch.findings:
        notes = "; ".join(paint(each.decision, f"{each.decision}: {each.rule}") for each in branch.findings)
        line += f"    ← {notes}"
    yield line
    for child in branch.children:
        last = child is branch.children[-1]
        yield from _branch(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "), paint)


def _short(text: str, width: int) -> str:
    text = printable(_one_line(text))
    return text if len(text) <= width else text[: max(width, 20) - 1] + "…"


def _one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text or "\t" in text else text


# the excerpt of the script


def _excerpt(text: str, finding: Finding, paint: TreeStyle) -> Iterator[str]:
    """Yield the lines of the script that contain the finding, with the finding underlined."""
    lines = text.split("\n")
    many = len(lines) > 1 and bool("".join(lines[1:]).strip())
    start, shown = 0, 0
    for number, line in enumerate(lines, 1):
        left, right = max(finding.start - start, 0), min(finding.end - start, len(line))
        start += len(line) + 1
        if left >= right:
            continue
        if shown == MAX_LINES:
            yield "  …"
            return
        shown += 1
        margin = f"{number:>4} │ " if many else "  "
        line, left, right = _window(line.replace("\t", " "), left, right)
        before, found, after = (printable(part) for part in (line[:left], line[left:right], line[right:]))
        yield margin + before + found + after
        blank = " " * len(margin) if not many else "     │ "
        indent, end = columns(before), columns(before + found)  # a combining accent takes no column
        yield blank + " " * indent + paint(finding.decision, _MARKS[finding.decision] * max(end - indent, 1))


def _window(line: str, left: int, right: int) -> tuple[str, int, int]:
    """Cut a long line to the part around the finding. Return it, with where the finding begins and ends in it."""
    if len(line) <= MAX_COLUMNS:
        return line, left, right
    first = max(0, left - 20)
    cut = line[first : first + MAX_COLUMNS]
    before, after = "…" if first else "", "…" if first + MAX_COLUMNS < len(line) else ""
    left, right = left - first, min(right - first, MAX_COLUMNS)
    return before + cut + after, left + len(before), right + len(before)
