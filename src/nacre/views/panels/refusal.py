"""The notice for a command that was not run."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.policy.rules import MODULES_BY_ID
from nacre.result import Exited, Refused, Result
from nacre.views.console.capabilities import TerminalCapabilities
from nacre.views.console.escape import escape_text
from nacre.views.console.masked import mask_result
from nacre.views.console.viewport import viewport
from nacre.views.console.wrap_command import wrap
from nacre.views.panels.run import notes
from nacre.views.panels.style import Drawing, rule, styled_line, titled_rule, wrap_text


def refusal(result: Result, look: TerminalCapabilities) -> Drawing:
    """Draw a refused command: all of it, the reason, and what to do instead (M-10)."""
    result = mask_result(result)
    outcome = result.outcome
    if not isinstance(outcome, Refused):
        raise ValueError("it was not refused")
    name = escape_text(outcome.rule)
    page = f"  (nacre rules {name})" if name in MODULES_BY_ID else ""  # a caller's own rule has none
    return [
        titled_rule(look, styled_line(("Command blocked", "bold red")), styled_line(("not run", "bold red")), "bad"),
        *_full_command(result.command, look),
        rule(look),
        *wrap_text(outcome.reason, look, "Why:     ", copied=False),
        *wrap_text(outcome.instead, look, "Instead: "),
        styled_line(("Rule:    ", "faint"), name, (page, "faint")),
        rule(look, "bad"),
        *notes(replace(result, outcome=Exited(0)), viewport(result), look),  # the outcome is shown above
    ]


def _full_command(command: str, look: TerminalCapabilities) -> Drawing:
    """Draw the command for copying. Each of several lines starts in the first column; only lines that are wrapped here
    are indented."""
    if many := command.strip("\n").count("\n"):
        lines = wrap(command, look.width)
        return [styled_line((f"$ ({many + 1:,} lines)", "faint")), *(styled_line((line, "command")) for line in lines)]
    lines = wrap(command, look.width - 2)
    return [styled_line(("  " if number else "$ ", "faint"), (line, "command")) for number, line in enumerate(lines)]
