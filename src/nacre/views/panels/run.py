"""The panel of one command, in four zones (T-11).

── $ pytest -q ──────────────────────────────────────── exit 1 ──
cwd: /home/ada/shop  timeout: 120s
─────────────────────────────────────────────────────────────────
what it printed; stderr in red
─────────────────────────────────────────────────────────────────
(truncated) stdout: 12 lines  stderr: 3 lines  1240ms
"""

from __future__ import annotations

from typing import assert_never

from rich.text import Text

from nacre.ansi.width import columns
from nacre.base.units import format_duration
from nacre.result import (
    Cancelled,
    Exited,
    Killed,
    Lost,
    NotStarted,
    Outcome,
    OverLimit,
    Refused,
    Result,
    Running,
    Signalled,
    TimedOut,
)
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.escape import cut, escape_text
from nacre.views.console.highlight import highlights
from nacre.views.console.masked import mask_result, masked_description
from nacre.views.console.short_command import split_shortened
from nacre.views.console.viewport import MAX_LINES, Counts, Viewport, ViewportLine, count_lines, viewport
from nacre.views.panels.style import Drawing, rule, style, styled_line, titled_rule, wrap_text


def panel(
    result: Result,
    look: TerminalCapabilities,
    *,
    timeout: float | None = None,
    description: str = "",
    lines: Counts | None = None,
    most: int = MAX_LINES,
) -> Drawing:
    """Draw a result. `lines`: the numbers of lines of stdout and stderr if the caller has counted them, else those of
    the capture. `most`: lines of output to show."""
    result, description = mask_result(result), masked_description(result, description)
    view = viewport(result, most=most)
    state = status(result.outcome)
    above: list[Text] = [
        header(result, look, state),
        *parameters(result, timeout=timeout, description=description),
        rule(look),
        *contents(view),
        rule(look),
    ]
    below = notes(result, view, look)
    tall = 0 < look.height <= sum(-(-columns(each.plain) // look.width) or 1 for each in above) + len(below) + 1
    return [*above, footer(result, view, lines, state if tall else None), *below]


def status(outcome: Outcome) -> tuple[str, str]:
    """Return the outcome in a word or two, and its style."""
    match outcome:
        case Exited(0):
            return "ok", "bold green"
        case Running(_, promoted):
            return ("goes on", "bold magenta") if promoted else (outcome.word, "bold green")
        case Cancelled() | Killed():
            return outcome.word, "bold magenta"
        case Exited() | Signalled() | TimedOut() | OverLimit() | Refused() | NotStarted() | Lost():
            return escape_text(outcome.word), "bold red"
        case _:
            assert_never(outcome)


def header(result: Result, look: TerminalCapabilities, state: tuple[str, str]) -> Text:
    room = look.width - columns(state[0]) - (10 if look.utf8 else 14)  # ASCII needs "..." for "…"
    return titled_rule(look, command_line(result, room), styled_line(state))


def command_line(result: Result, room: int) -> Text:
    """Return `$ command` on one line of `room` columns, with a count of what is cut."""
    room = max(room - 2, 16)
    gist, remark = split_shortened(result.command, result.cwd, most=room)
    line = cut(gist + remark, room)
    return styled_line(("$ ", "faint"), (line[: len(gist)], "command"), (line[len(gist) :], "note"))


def parameters(result: Result, *, timeout: float | None, description: str) -> list[Text]:
    parts: list[str | tuple[str, str]] = [("cwd: ", "faint"), escape_text(result.cwd)]
    if timeout is not None:
        parts += [("  timeout: ", "faint"), f"{timeout:g}s" if timeout != float("inf") else "none"]
    if result.pid is not None and isinstance(result.outcome, Running):
        parts += [("  pid: ", "faint"), str(result.pid)]
    if result.enforced:
        parts += [("  confined: ", "faint"), escape_text(", ".join(result.enforced))]
    lines = [styled_line((escape_text(description), "italic"))] if description else []
    return [*lines, styled_line(*parts)]


def contents(view: Viewport) -> list[Text]:
    """Draw the lines of output."""
    if not view.lines:
        return [styled_line(("(no output)", "note"))]
    return [_line(line, view) for line in view.lines]


def _line(line: ViewportLine, view: Viewport) -> Text:
    if line.origin == "note":
        return styled_line((line.text, "note"))
    if line.origin == "err":
        return styled_line((line.text, "bad"))
    text = styled_line(line.text)
    for start, end, name in highlights(view.kind, line.text):
        text.stylize(style(name), start, end)
    return text


def footer(result: Result, view: Viewport, lines: Counts | None, state: tuple[str, str] | None = None) -> Text:
    """Draw the line below the output. `state`: repeated here if the header is out of sight."""
    parts: list[str | tuple[str, str]] = [] if state is None else [state, "  "]
    if view.cut or result.dropped_bytes:
        parts.append(("(truncated) ", "bold magenta"))
    for name, part, counted in (("stdout", result.out, 0), ("stderr", result.err, 1)):
        count, exact = count_lines(part) if lines is None else (lines[counted], lines.exact)
        parts.append((f"{name}: {count:,}{'' if exact else '+'} line{'' if count == 1 else 's'}  ", "faint"))
    if view.erased:
        parts.append((f"erased by it: {view.erased:,} line{'' if view.erased == 1 else 's'}  ", "faint"))
    return styled_line(*parts, (format_duration(result.duration, precise=True), "faint"))


def notes(result: Result, view: Viewport, look: TerminalCapabilities) -> Drawing:
    """Draw nacre's notes. Each begins with `nacre: `, on a line of its own."""
    found: list[str] = []
    outcome = result.outcome
    match outcome:
        case TimedOut() | OverLimit() | Killed() | Lost() | Signalled() | NotStarted():
            found.append(result.summary)
    match outcome:
        case NotStarted(_, hint) if hint:
            found.append(hint)
        case Refused(_, _, instead) if instead:
            found.append(f"Instead: {instead}")
    found += result.notes
    if result.task is not None:
        id = result.task.id
        found.append(f"{id}: `nacre output {id}` reads it, `nacre kill {id}` ends it")
    if (spill := result.spill) is not None:
        found.append(f"{'all' if spill.complete else 'the first'} {spill.bytes:,} bytes are in {spill.path}")
    if view.ignored_sequences:
        found.append(
            f"It wrote to the terminal behind the screen ({', '.join(view.ignored_sequences)}); that was not passed on"
        )
    return [line for each in found for line in wrap_text(each, look, "nacre: ")]
