"""What is not a command's output: a task that was started, a command that was not run, a stream that has ended."""

from __future__ import annotations

from nacre.frozen import replace
from nacre.policy.rules import LISTED
from nacre.result import Exited, Refused, Result
from nacre.views.continued import continued
from nacre.views.escape import escaped
from nacre.views.look import Look
from nacre.views.masked import described, masked
from nacre.views.panels.paint import Drawing, rule, said, titled, wrapped
from nacre.views.panels.run import command_line, contents, duration, notes, status
from nacre.views.viewport import MOST, viewport


def refusal(result: Result, look: Look) -> Drawing:
    """A command that was not run, all of it, why, and what to do instead (M-10)."""
    result = masked(result)
    outcome = result.outcome
    if not isinstance(outcome, Refused):
        raise ValueError("it was not refused")
    lines = continued(result.command, look.width - 2)
    name = escaped(outcome.rule)
    page = f"  (nacre rules {name})" if name.replace("-", "_") in LISTED else ""  # one of the caller's own has none
    return [
        titled(look, said(("Command blocked", "bold red")), said(("not run", "bold red")), "bad"),
        *(said(("  " if number else "$ ", "faint"), (line, "command")) for number, line in enumerate(lines)),
        rule(look),
        *wrapped(outcome.reason, look, "Why:     "),
        *wrapped(outcome.instead, look, "Instead: "),
        said(("Rule:    ", "faint"), name, (page, "faint")),
        rule(look, "bad"),
        *notes(replace(result, outcome=Exited(0)), viewport(result), look),  # the rest has been said
    ]


def streamed(result: Result, look: Look, *, description: str = "", most: int = MOST) -> Drawing:
    """What is left of the streaming view when the command has ended (M-10): rules, exit code, duration."""
    result, description = masked(result), described(result, description)
    view = viewport(result, most=most)
    word, name = status(result.outcome)
    code = result.exit_code
    return [
        said(("Running: ", "faint"), (escaped(description), "command"))
        if description
        else command_line(result, look.width),
        rule(look),
        *contents(view),
        rule(look),
        said((word, name)) if code is None else said(("Exit code: ", "faint"), (str(code), name)),
        said(("Duration: ", "faint"), duration(result.duration)),
        *notes(result, view, look),
    ]
