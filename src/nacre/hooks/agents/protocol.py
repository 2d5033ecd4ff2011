"""What every dialect has in common: the nouns, and how a refusal sounds. Pure.

A payload is one of three things: `HookRequest`, a shell command that an agent is about to run; `OtherEvent`, something
else that happens in a known agent; `BadPayload`, what cannot be understood, and is refused for that. A `HookReply` is
all that a hook can say.
"""

from __future__ import annotations

from nacre.base.frozen import frozen
from nacre.verdict import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol, TypeAlias

    from nacre.verdict import Verdict

    PayloadFields: TypeAlias = Mapping[str, Any]

EXIT_BLOCK = 2
"""The exit code that stops the call, in all of them. Any other but 0 lets it pass, with a warning."""
MAX_REASON_CHARS = 2000
"""Characters of a reason: a model reads it, and one command can hold megabytes."""

MAX_COMMAND_CHARS = 256 * 1024
"""Characters. Linux takes half of it as an argument, and to read megabytes would take longer than agents wait."""


@frozen
class HookRequest:
    """A shell command that an agent is about to run."""

    command: str
    cwd: str | None
    """Where; None: not said, so it is where the hook itself runs."""
    asks: bool = False
    """The agent would put a question to a person, here and now."""
    event: str = ""


@frozen
class OtherEvent:
    """Not about a shell command."""

    event: str


@frozen
class BadPayload:
    """Not to be understood."""

    reason: str


@frozen
class HookReply:
    """What a hook can say."""

    code: int
    out: str = ""
    err: str = ""


NO_REPLY = HookReply(0)
"""No opinion: the agent goes on as if there were no hook."""


if TYPE_CHECKING:
    ParsedPayload: TypeAlias = HookRequest | OtherEvent | BadPayload

    class AgentProtocol(Protocol):
        """What a module of a dialect has."""

        NAME: str

        def recognises(self, fields: PayloadFields, /) -> bool:
            """Is it this agent that says so?"""

        def read(self, fields: PayloadFields, /) -> ParsedPayload: ...

        def reply(self, request: HookRequest, verdict: Verdict, /) -> HookReply: ...

        def ignore(self, event: OtherEvent, /) -> HookReply: ...

        def refuse(self, reason: str, /) -> HookReply: ...


def tool_input(fields: PayloadFields, shells: tuple[str, ...], event: str) -> PayloadFields | OtherEvent | BadPayload:
    """The arguments of a tool that is about to be called, if it is one of these."""
    tool = fields.get("tool_name")
    if not isinstance(tool, str):
        return BadPayload("it does not say which tool is called")
    if tool not in shells:
        return OtherEvent(event)
    given = fields.get("tool_input")
    return given if isinstance(given, dict) else BadPayload("its `tool_input` is no object")


def command_in(fields: PayloadFields, *, cwd: object, asks: bool, event: str) -> HookRequest | BadPayload:
    """`fields`: the arguments of a shell tool."""
    command = fields.get("command")
    if not isinstance(command, str):
        return BadPayload("the call of a shell has no `command`" if command is None else "its `command` is no text")
    if not command.strip():
        return BadPayload("its `command` is empty")
    if len(command) > MAX_COMMAND_CHARS:
        return BadPayload(f"its `command` is longer than {MAX_COMMAND_CHARS // 1024} KiB")
    if "\0" in command:
        return BadPayload("its `command` holds a NUL byte, which no shell can take")
    if cwd is None or cwd == "":
        return HookRequest(command, None, asks, event)
    if not isinstance(cwd, str) or "\0" in cwd:
        return BadPayload("its directory is no path")
    return HookRequest(command, cwd, asks, event)


def refusal_text(verdict: Verdict, *, asks: bool) -> str:
    """For the model, or for the person who is asked: what, why, and what to do instead."""
    text = f"nacre ({verdict.rule}): {verdict.reason}"
    if verdict.decision is Decision.ASK and not asks:
        text = f"{text.rstrip('.')}. It needs a person's word, which this hook cannot get: ask the user to run it."
    return shorten_reason(text)


def shorten_reason(text: str) -> str:
    text = "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return text if len(text) <= MAX_REASON_CHARS else f"{text[: MAX_REASON_CHARS - 1]}…"


def refusal(reason: str) -> HookReply:
    """As all but Cursor want it. Never without a reason: two of them let the command run where there is none."""
    return HookReply(EXIT_BLOCK, err=f"{shorten_reason(reason) or 'nacre refused this command.'}\n")
