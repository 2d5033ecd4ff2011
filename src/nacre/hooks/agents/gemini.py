"""Gemini CLI: a `BeforeTool` hook.

Contract: https://geminicli.com/docs/hooks/reference. Exit 2 stops the call, and the model reads stderr. Hooks can allow
and deny; there is no "ask" among their decisions, and where the agent does ask without a person there, it waits for
ever.
"""

from __future__ import annotations

from nacre.hooks.agents.protocol import NOTHING, Asked, Bad, NotOurs, Reply, because, called, command_in, refusal
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.hooks.agents.protocol import Fields, Heard
    from nacre.verdict import Verdict

NAME = "gemini"
_EVENTS = (
    "BeforeTool",
    "AfterTool",
    "BeforeAgent",
    "AfterAgent",
    "BeforeModel",
    "AfterModel",
    "BeforeToolSelection",
    "PreCompress",
)
"""Those that no other agent has."""
_SHELLS = ("run_shell_command",)
_DIRECTORY = ("dir_path", "directory")
"""Where the command runs, seen from the agent's directory; the first is the newer name."""


def speaks(fields: Fields) -> bool:
    return fields.get("hook_event_name") in _EVENTS


def read(fields: Fields) -> Heard:
    event = fields["hook_event_name"]
    if event != "BeforeTool":
        return NotOurs(str(event))
    given = called(fields, _SHELLS, event)
    if isinstance(given, NotOurs | Bad):
        return given
    heard = command_in(given, cwd=fields.get("cwd"), asks=False, event=event)
    for name in _DIRECTORY:
        below = given.get(name)
        if isinstance(heard, Asked) and below is not None:
            if not isinstance(below, str) or "\0" in below:
                return Bad(f"its `{name}` is no path")
            return Asked(heard.command, _joined(heard.cwd, below), False, event)
    return heard


def _joined(place: str | None, below: str) -> str | None:
    if not below:
        return place
    return below if place is None or below.startswith("/") else f"{place.rstrip('/')}/{below}"


def reply(asked: Asked, verdict: Verdict) -> Reply:
    return NOTHING if verdict.decision is Decision.ALLOW else refusal(because(verdict, asks=False))


def unconcerned(event: NotOurs) -> Reply:
    return NOTHING


refuse = refusal
