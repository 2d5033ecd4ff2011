"""A second, strict parser of hook payloads, written from the agents' contracts alone (listed in tests/hooks/payloads).

It shares nothing with `nacre.hooks` but the names of events and tools. `Call` is a shell command that is about to run,
`ELSE` a payload that does not concern one, `UNCLEAR` everything else: no JSON object, no known format, a call whose
command or directory cannot be read. `UNCLEAR` must be refused.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

_MAX_COMMAND_CHARS = 256 * 1024
"""Maximum length of a command, in characters."""
_CURSOR_EVENTS = ("beforeShellExecution", "beforeMCPExecution", "beforeReadFile", "preToolUse")
_GEMINI_EVENTS = (
    "BeforeTool AfterTool BeforeAgent AfterAgent BeforeModel AfterModel BeforeToolSelection PreCompress".split()
)
_ASKING_MODES = ("default", "acceptEdits", "plan")
"""Modes of Claude Code in which a person is prompted."""
UNCLEAR, ELSE = "unclear", "something else"


class Call(NamedTuple):
    command: str
    cwd: str | None
    asks: bool
    """True if the agent prompts a person when the answer is "ask"."""


def parse_payload(payload: bytes) -> Call | str:
    try:
        fields = json.loads(payload.decode(), object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant)
    except (ValueError, RecursionError):
        return UNCLEAR
    if not isinstance(fields, dict):
        return UNCLEAR
    event = fields.get("hook_event_name")
    if "cursor_version" in fields or event in _CURSOR_EVENTS:
        return _from_cursor(fields, event)
    if event in _GEMINI_EVENTS:
        return _from_gemini(fields) if event == "BeforeTool" else ELSE
    codex = "turn_id" in fields or "model" in fields
    if "hook_event_name" not in fields or not (codex or "session_id" in fields) or not isinstance(event, str):
        return UNCLEAR
    if event != "PreToolUse":
        return ELSE
    given = _input(fields, "Bash", "Monitor")
    if isinstance(given, dict) and fields["tool_name"] == "Monitor" and "command" not in given:
        return ELSE
    return _call(given, fields.get("cwd"), asks=not codex and fields.get("permission_mode") in _ASKING_MODES)


def _from_cursor(fields: dict[str, Any], event: object) -> Call | str:
    if not isinstance(event, str):
        return UNCLEAR
    roots = fields.get("workspace_roots")
    cwd = fields.get("cwd") or (roots[0] if isinstance(roots, list) and len(roots) == 1 else None)
    if event.lower() == "beforeshellexecution":
        return _call(fields, cwd, asks=True)
    if event.lower() != "pretooluse":
        return ELSE
    given = _input(fields, "Shell", "Bash")
    own = given.get("working_directory") if isinstance(given, dict) else None
    return _call(given, own or cwd, asks=False)


def _from_gemini(fields: dict[str, Any]) -> Call | str:
    given = _input(fields, "run_shell_command")
    call = _call(given, fields.get("cwd"), asks=False)
    if isinstance(call, str) or isinstance(given, str):
        return call
    below = next((given[name] for name in ("dir_path", "directory") if given.get(name) is not None), "")
    if not isinstance(below, str) or "\0" in below:
        return UNCLEAR
    if below.startswith("/") or (below and call.cwd is None):
        return call._replace(cwd=below)
    return call._replace(cwd=f"{call.cwd}/{below}") if below else call


def _input(fields: dict[str, Any], *shells: str) -> dict[str, Any] | str:
    tool, given = fields.get("tool_name"), fields.get("tool_input")
    if not isinstance(tool, str):
        return UNCLEAR
    if tool not in shells:
        return ELSE
    return given if isinstance(given, dict) else UNCLEAR


def _call(given: dict[str, Any] | str, cwd: object, *, asks: bool) -> Call | str:
    if isinstance(given, str):
        return given
    command = given.get("command")
    if not isinstance(command, str) or not command.strip() or "\0" in command or len(command) > _MAX_COMMAND_CHARS:
        return UNCLEAR
    if cwd is None or cwd == "":
        return Call(command, None, asks)
    return Call(command, cwd, asks) if isinstance(cwd, str) and "\0" not in cwd else UNCLEAR


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate key")
    return found


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")
