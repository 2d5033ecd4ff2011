"""What every dialect has in common: the nouns, and how a refusal sounds. Pure.

A payload is one of three things: `Asked`, a shell command that an agent is about to run; `NotOurs`, something else that
happens in a known agent; `Bad`, what cannot be understood, and is refused for that. A `Reply` is all that a hook can
say.
"""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol, TypeAlias

    from nacre.verdict import Verdict

    Fields: TypeAlias = Mapping[str, Any]

REFUSE = 2
"""The exit code that stops the call, in all of them. Any other but 0 lets it pass, with a warning."""
LONGEST = 2000
"""Characters of a reason: a model reads it, and one command can hold megabytes."""

LONGEST_COMMAND = 256 * 1024
"""Characters. Linux takes half of it as an argument, and to read megabytes would take longer than agents wait."""


@frozen
class Asked:
    """A shell command that an agent is about to run."""

    command: str
    cwd: str | None
    """Where; None: not said, so it is where the hook itself runs."""
    asks: bool = False
    """The agent would put a question to a person, here and now."""
    event: str = ""


@frozen
class NotOurs:
    """Not about a shell command."""

    event: str


@frozen
class Bad:
    """Not to be understood."""

    reason: str


@frozen
class Reply:
    """What a hook can say."""

    code: int
    out: str = ""
    err: str = ""


NOTHING = Reply(0)
"""No opinion: the agent goes on as if there were no hook."""


if TYPE_CHECKING:
    Heard: TypeAlias = Asked | NotOurs | Bad

    class Dialect(Protocol):
        """What a module of a dialect has."""

        NAME: str

        def speaks(self, fields: Fields, /) -> bool:
            """Is it this agent that says so?"""

        def read(self, fields: Fields, /) -> Heard: ...

        def reply(self, asked: Asked, verdict: Verdict, /) -> Reply: ...

        def unconcerned(self, event: NotOurs, /) -> Reply: ...

        def refuse(self, reason: str, /) -> Reply: ...


def called(fields: Fields, shells: tuple[str, ...], event: str) -> Fields | NotOurs | Bad:
    """The arguments of a tool that is about to be called, if it is one of these."""
    tool = fields.get("tool_name")
    if not isinstance(tool, str):
        return Bad("it does not say which tool is called")
    if tool not in shells:
        return NotOurs(event)
    given = fields.get("tool_input")
    return given if isinstance(given, dict) else Bad("its `tool_input` is no object")


def command_in(fields: Fields, *, cwd: object, asks: bool, event: str) -> Asked | Bad:
    """`fields`: the arguments of a shell tool."""
    command = fields.get("command")
    if not isinstance(command, str):
        return Bad("the call of a shell has no `command`" if command is None else "its `command` is no text")
    if not command.strip():
        return Bad("its `command` is empty")
    if len(command) > LONGEST_COMMAND:
        return Bad(f"its `command` is longer than {LONGEST_COMMAND // 1024} KiB")
    if "\0" in command:
        return Bad("its `command` holds a NUL byte, which no shell can take")
    if cwd is None or cwd == "":
        return Asked(command, None, asks, event)
    if not isinstance(cwd, str) or "\0" in cwd:
        return Bad("its directory is no path")
    return Asked(command, cwd, asks, event)


def because(verdict: Verdict, *, asks: bool) -> str:
    """For the model, or for the person who is asked: what, why, and what to do instead."""
    text = f"nacre ({verdict.rule}): {verdict.reason}"
    if verdict.decision is Decision.ASK and not asks:
        text = f"{text.rstrip('.')}. It needs a person's word, which this hook cannot get: ask the user to run it."
    return short(text)


def short(text: str) -> str:
    text = "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def refusal(reason: str) -> Reply:
    """As all but Cursor want it. Never without a reason: two of them let the command run where there is none."""
    return Reply(REFUSE, err=f"{short(reason) or 'nacre refused this command.'}\n")
