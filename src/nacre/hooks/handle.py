"""Answers a hook call: payload bytes in, reply out. Never raises: on any failure the command is refused.

Contains no agent's name: each of `PROTOCOLS` in turn tries to recognise the payload.
"""

from __future__ import annotations

from nacre.approval.check import check_script
from nacre.config import load_if_configured
from nacre.errors import InvalidConfig
from nacre.hooks.agents import claude_code, codex, cursor, gemini
from nacre.hooks.agents.protocol import BadPayload, HookReply, HookRequest, OtherEvent, refusal
from nacre.policy.policy import DEFAULT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nacre.config.config import Config
    from nacre.hooks.agents.protocol import AgentProtocol
    from nacre.verdict import Verdict

PROTOCOLS: tuple[AgentProtocol, ...] = (cursor, gemini, codex, claude_code)
"""Most specific first: Claude Code's payload is a subset of Codex's."""
MAX_PAYLOAD_BYTES = 16 * 1024 * 1024
"""Maximum size of a payload; no command line is as long."""
_HELP = "Nothing was run. `nacre hook --help` lists the supported agents"


def answer(payload: bytes, *, ask: bool = True) -> HookReply:
    """Return the reply to a payload. With `ask=False`, a command that needs approval is refused."""
    try:
        fields = decode_payload(payload)
        if isinstance(fields, BadPayload):
            return refusal(f"nacre hook cannot read its input: {fields.reason}. {_HELP}.")
        for dialect in PROTOCOLS:
            if dialect.recognises(fields):
                return _answer_as(dialect, fields, ask=ask)
        return refusal(f"nacre hook does not recognise the agent. {_HELP}.")
    except Exception as error:
        return refusal(f"nacre hook failed ({type(error).__name__}: {error}), so the command is refused.")


def check_command(request: HookRequest, config: Config | None) -> Verdict:
    """Check a command with the policy of `config`; None: the default policy."""
    policy = DEFAULT if config is None else config.policy
    return check_script(request.command, cwd=request.cwd, policy=policy, want_harmless=False)[1]


def _answer_as(dialect: AgentProtocol, fields: dict[str, Any], *, ask: bool) -> HookReply:
    try:
        parsed = dialect.read(fields)
        if isinstance(parsed, OtherEvent):
            return dialect.ignore(parsed)
        if isinstance(parsed, BadPayload):
            return dialect.refuse(
                f"nacre hook cannot read this call of {dialect.NAME}: {parsed.reason}. Nothing was run."
            )
        if not ask:
            parsed = HookRequest(parsed.command, parsed.cwd, False, parsed.event)
        config = load_if_configured(parsed.cwd)
        verdict = check_command(parsed, config)
        reply = dialect.reply(parsed, verdict)
        if config is not None and config.get("audit"):
            from nacre.hooks.audit import keep_record

            keep_record(config, dialect.NAME, _conversation(fields), parsed, verdict, reply)
        return reply
    except InvalidConfig as error:
        return dialect.refuse(f"nacre's settings cannot be used; the command is refused until they are fixed. {error}")
    except Exception as error:
        return dialect.refuse(f"nacre hook failed ({type(error).__name__}: {error}), so the command is refused.")


def _conversation(fields: dict[str, Any]) -> str:
    """Return the agent's name for the conversation; empty if it sent none."""
    names = (fields.get("session_id"), fields.get("conversation_id"))
    return next((name for name in names if isinstance(name, str)), "")


def decode_payload(payload: bytes) -> dict[str, Any] | BadPayload:
    """Decode a JSON object in UTF-8 without duplicate names."""
    import json

    if len(payload) > MAX_PAYLOAD_BYTES:
        return BadPayload(f"it is larger than {MAX_PAYLOAD_BYTES // 1024 // 1024} MiB")
    if not payload.strip():
        return BadPayload("it is empty")
    try:
        fields = json.loads(payload.decode(), object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant)
    except UnicodeDecodeError:
        return BadPayload("it is not UTF-8")
    except RecursionError:
        return BadPayload("it is nested too deeply")
    except _DuplicateKey as error:
        return BadPayload(f"it contains {error.args[0]!r} twice")
    except ValueError as error:
        return BadPayload(f"it is not valid JSON ({error})")
    return fields if isinstance(fields, dict) else BadPayload("it is not a JSON object")


def _reject_constant(name: str) -> None:
    """Reject `NaN` and `Infinity`, which Python accepts and JSON does not have."""
    raise ValueError(f"{name} is not a JSON number")


class _DuplicateKey(Exception):
    pass


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Reject duplicate names: some readers take the first value, others the last."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _DuplicateKey(name[:40])
            seen.add(name)
    return found
