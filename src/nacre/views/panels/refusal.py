"""What is not a command's output: a command that was not run."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.policy.rules import MODULES_BY_ID
from nacre.result import Exited, Refused, Result
from nacre.views.console.capabilities import Look
from nacre.views.console.escape import escaped
from nacre.views.console.masked import masked
from nacre.views.console.viewport import viewport
from nacre.views.console.wrap_command import continued
from nacre.views.panels.run import notes
from nacre.views.panels.style import Drawing, rule, said, titled, wrapped


def refusal(result: Result, look: Look) -> Drawing:
    """A command that was not run, all of it, why, and what to do instead (M-10)."""
    result = masked(result)
    outcome = result.outcome
    if not isinstance(outcome, Refused):
        raise ValueError("it was not refused")
    name = escaped(outcome.rule)
    page = f"  (nacre rules {name})" if name in MODULES_BY_ID else ""  # one of the caller's own has none
    return [
        titled(look, said(("Command blocked", "bold red")), said(("not run", "bold red")), "bad"),
        *_whole(result.command, look),
        rule(look),
        *wrapped(outcome.reason, look, "Why:     ", copied=False),
        *wrapped(outcome.instead, look, "Instead: "),
        said(("Rule:    ", "faint"), name, (page, "faint")),
        rule(look, "bad"),
        *notes(replace(result, outcome=Exited(0)), viewport(result), look),  # the rest has been said
    ]


def _whole(command: str, look: Look) -> Drawing:
    """For copying: of several lines, each begins where it begins. Only what we have broken is indented."""
    if many := command.strip("\n").count("\n"):
        lines = continued(command, look.width)
        return [said((f"$ ({many + 1:,} lines)", "faint")), *(said((line, "command")) for line in lines)]
    lines = continued(command, look.width - 2)
    return [said(("  " if number else "$ ", "faint"), (line, "command")) for number, line in enumerate(lines)]
