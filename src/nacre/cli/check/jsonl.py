"""`nacre check --jsonl`: answers each line of stdin with one line, up to EOF.

An invalid line gets an error as its answer; the other lines are not affected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from nacre.approval.check import check
from nacre.base.suggest import find_nearest
from nacre.cli.check.arguments import CheckOptions, check_usable
from nacre.cli.common.exit_codes import EXIT_NO_VERDICT
from nacre.cli.common.messages import write_json
from nacre.cli.common.usage import UsageError
from nacre.errors import InvalidConfig, InvalidRequest
from nacre.policy.policy import Policy

_KNOWN = ("command", "cwd", "env", "stdin")


def check_lines(operands: list[str], defaults: CheckOptions) -> int:
    """Check every line and return the highest exit code."""
    if operands and operands != ["-"]:
        raise UsageError("--jsonl reads the commands from stdin.", "Leave the argument out.", field="command")
    cwd, env, stdin = defaults.cwd, dict(defaults.env or ()), defaults.stdin
    policies: dict[str | None, Policy] = {}
    code = 0
    for number, line in enumerate(_lines(), 1):
        if not line.strip():
            continue
        try:
            wanted = _parse_line(line)
            place = wanted.cwd or cwd
            if place not in policies:
                policies[place] = defaults.load_policy(place)
            verdict = check(
                wanted.command,
                cwd=place,
                env={**env, **(wanted.env or {})},
                stdin=stdin if wanted.stdin is None else wanted.stdin,
                policy=policies[place],
            )
        except InvalidRequest as error:
            problem = {"code": error.code, "message": error.message, "field": error.field, "hint": error.hint}
            write_json({"line": number, "error": problem})
            code = EXIT_NO_VERDICT
        except InvalidConfig as error:
            problem = {"code": "invalid_config", "message": str(error), "field": error.key, "hint": error.hint}
            write_json({"line": number, "error": problem})
            code = EXIT_NO_VERDICT
        except Exception as error:  # a bug of ours: the reader needs an answer, and never "allow"
            message = f"{type(error).__name__}: {error}"
            write_json({"line": number, "error": {"code": "internal", "message": message, "field": None, "hint": ""}})
            code = EXIT_NO_VERDICT
        else:
            write_json({"command": wanted.command, **verdict.to_dict()})
            code = max(code, verdict.decision.strictness)
    return code


def _lines() -> Iterator[bytes]:
    try:
        with open(0, "rb", closefd=False) as file:
            yield from file
    except OSError as error:
        raise UsageError(f"Cannot read standard input: {error.strerror}.", field="stdin") from error


class _CheckLine:
    """One parsed line."""

    __slots__ = ("command", "cwd", "env", "stdin")

    def __init__(
        self, command: str, cwd: str | None = None, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> None:
        self.command = check_usable(command)
        self.cwd = cwd
        self.env = env
        self.stdin = stdin


def _parse_line(line: bytes) -> _CheckLine:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _bad_line(f"Invalid JSON: {error}.", "Write a string, or an object with `command`.") from error
    if isinstance(value, str):
        return _CheckLine(value)
    if not isinstance(value, dict):
        raise _bad_line("The line must be a string or an object.", "Write the command as a JSON string.")
    for name in value:
        if name not in _KNOWN:
            near = find_nearest(name, _KNOWN)
            raise _bad_line(f"Unknown field: {name!r}.", f"Did you mean: {near}" if near else "", name)
    for name in ("command", "cwd", "stdin"):
        if not isinstance(value.get(name), str | None):
            raise _bad_line(f"`{name}` must be a string.", field=name)
    if not isinstance(value.get("command"), str):
        raise _bad_line("`command` is missing.", field="command")
    env = value.get("env")
    if env is not None and not (isinstance(env, dict) and all(isinstance(each, str) for each in env.values())):
        raise _bad_line("`env` must be an object of strings.", field="env")
    return _CheckLine(value["command"], value.get("cwd"), env, value.get("stdin"))


def _bad_line(message: str, hint: str = "", field: str = "") -> InvalidRequest:
    return InvalidRequest("bad_line", message, field=field, hint=hint)
