"""Types and helpers that all hook protocols share. Pure.

A payload is one of three: `HookRequest`, a shell command that an agent is about to run; `OtherEvent`, another event of
a known agent; `BadPayload`, invalid and therefore refused. The answer is a `HookReply`.
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
"""Exit code that stops the call, for every agent. Any other except 0 lets it pass with a warning."""
MAX_REASON_CHARS = 2000
"""Maximum length of a reason: a model reads it, and one command can hold megabytes."""

MAX_COMMAND_CHARS = 256 * 1024
"""Twice what Linux accepts as one argument. Checking megabytes would take longer than agents wait."""


@frozen
class HookRequest:
    """A shell command that an agent is about to run."""

    command: str
    cwd: str | None
    """Working directory; None if the payload has none: then that of the hook itself applies."""
    asks: bool = False
    """The agent can prompt a person about this call."""
    event: str = ""
    """Name of the hook event."""


@frozen
class OtherEvent:
    """An event that is not about a shell command."""

    event: str


@frozen
class BadPayload:
    """A payload that is invalid."""

    reason: str


@frozen
class HookReply:
    """The answer of a hook: exit code, stdout and stderr."""

    code: int
    out: str = ""
    err: str = ""


NO_REPLY = HookReply(0)
"""No opinion: the agent continues as if there were no hook."""


if TYPE_CHECKING:
    ParsedPayload: TypeAlias = HookRequest | OtherEvent | BadPayload

    class AgentProtocol(Protocol):
        """The interface of a module in `agents`.

        `read` parses a payload that was recognised. `reply`, `ignore` and `refuse` return the answer to a checked
        command, to another event, and to a payload that cannot be checked.
        """

        NAME: str

        def recognises(self, fields: PayloadFields, /) -> bool:
            """Return whether this agent has sent the payload."""

        def read(self, fields: PayloadFields, /) -> ParsedPayload: ...

        def reply(self, request: HookRequest, verdict: Verdict, /) -> HookReply: ...

        def ignore(self, event: OtherEvent, /) -> HookReply: ...

        def refuse(self, reason: str, /) -> HookReply: ...


def tool_input(fields: PayloadFields, shells: tuple[str, ...], event: str) -> PayloadFields | OtherEvent | BadPayload:
    """Return the arguments of the tool that is about to be called, if it is one of `shells`."""
    tool = fields.get("tool_name")
    if not isinstance(tool, str):
        return BadPayload("it does not name the tool")
    if tool not in shells:
        return OtherEvent(event)
    given = fields.get("tool_input")
    return given if isinstance(given, dict) else BadPayload("its `tool_input` is not an object")


def command_in(fields: PayloadFields, *, cwd: object, asks: bool, event: str) -> HookRequest | BadPayload:
    """Return the command in `fields`, the arguments of a shell tool, as a request."""
    command = fields.get("command")
    if not isinstance(command, str):
        return BadPayload("the shell call has no `command`" if command is None else "its `command` is not a string")
    if not command.strip():
        return BadPayload("its `command` is empty")
    if len(command) > MAX_COMMAND_CHARS:
        return BadPayload(f"its `command` is longer than {MAX_COMMAND_CHARS // 1024} KiB")
    if "\0" in command:
        return BadPayload("its `command` contains a NUL byte, which a shell cannot read")
    if cwd is None or cwd == "":
        return HookRequest(command, None, asks, event)
    if not isinstance(cwd, str) or "\0" in cwd:
        return BadPayload("its directory is not a path")
    return HookRequest(command, cwd, asks, event)


def refusal_text(verdict: Verdict, *, asks: bool) -> str:
    """Return the reason, rule and alternative, for the model or for the person who is prompted."""
    text = f"nacre ({verdict.rule}): {verdict.reason}"
    if verdict.decision is Decision.ASK and not asks:
        text = f"{text.rstrip('.')}. It needs approval, which this hook cannot request: ask the user to run it."
    return shorten_reason(text)


def shorten_reason(text: str) -> str:
    """Replace unprintable characters and limit the length."""
    text = "".join(letter if letter.isprintable() or letter == "\n" else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return text if len(text) <= MAX_REASON_CHARS else f"{text[: MAX_REASON_CHARS - 1]}…"


def refusal(reason: str) -> HookReply:
    """Return the reply that refuses a call, for every agent except Cursor. It always has a reason: without one, two of
    the agents run the command."""
    return HookReply(EXIT_BLOCK, err=f"{shorten_reason(reason) or 'nacre refused this command.'}\n")
