"""Fuzz hook payloads: JSON of the agents, intact or damaged, with commands of the corpus.

An invalid payload must be refused; a command must get the verdict of `check`, as its agent understands it; everything
else must be allowed.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from fuzz.corpus import commands
from fuzz.hook_payloads import ELSE, UNCLEAR, Call, parse_payload
from nacre import check
from nacre.config import policy_for
from nacre.hooks.agents.protocol import HookReply
from nacre.hooks.handle import answer
from nacre.verdict import Decision

_HERE = Path(__file__).parents[1]
_HOSTILE = (
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"[" * 3000,
    b"{" * 300,
    b"9" * 5000,
    b"1e999",
    b"NaN",
    b"\\ud800",
    b"null",
    b"true",
    b"-1",
    b'""',
    b"\n",
    b"\r\n",
    b"'''",
    b'"""',
    b"[[x]]\n",
    b"a.b.c=1\n",
    b"\x1b[31m",
)


def damage_bytes(data: bytes, made: random.Random) -> bytes:
    for _ in range(made.choice((0, 1, 1, 2, 6))):
        at = made.randrange(len(data) + 1)
        match made.randrange(4):
            case 0:
                data = data[:at] + made.choice(_HOSTILE) + data[at:]
            case 1:
                data = data[:at] + data[at + made.randint(1, 30) :]
            case 2:
                data = data[:at] + made.randbytes(made.randint(1, 4)) + data[at + 1 :]
            case _:
                data = data[:at] + data[at : at + made.randint(1, 60)] + data[at:]
    return data


class Hook:
    """A case is a payload on stdin."""

    def __init__(self) -> None:
        folder = _HERE / "tests" / "hooks" / "payloads"
        cases = [case for file in sorted(folder.glob("*.json")) for case in json.loads(file.read_text())["cases"]]
        self._payloads: list[dict[str, Any]] = [case["payload"] for case in cases]

    def close(self) -> None:
        pass

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        payload = made.choice(self._payloads)
        if made.random() < 0.5:
            payload = _with(made.choice(commands()), payload)
        return damage_bytes(json.dumps(payload).encode(), made)

    def wrong(self, case: bytes) -> str:
        reply = answer(case)
        if reply.code not in (0, 2):
            return f"exit code {reply.code}"
        if reply.code == 2 and not reply.err.strip():
            return "a refusal without a reason"
        if "nacre hook failed" in reply.err:
            return "nacre itself failed: " + reply.err
        return _find_wrong_answer(reply, parse_payload(case))


def _with(command: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Return the payload with another command, if it has one."""
    given = payload.get("tool_input")
    if isinstance(given, dict) and isinstance(given.get("command"), str):
        return {**payload, "tool_input": {**given, "command": command}}
    return {**payload, "command": command} if isinstance(payload.get("command"), str) else payload


def _find_wrong_answer(reply: HookReply, asked: Call | str) -> str:
    said = _agent_decision(reply)
    if asked == UNCLEAR:
        return "" if said == "refuse" else f"it cannot be understood, and the answer is {said}"
    if isinstance(asked, str):
        assert asked == ELSE
        return "" if said == "allow" else f"it is about no command, and the answer is {said}"
    verdict = check(asked.command, cwd=asked.cwd, policy=policy_for(asked.cwd))
    wanted = verdict.decision.value if verdict.decision is not Decision.ASK or asked.asks else "refuse"
    if said != wanted:
        return f"the verdict is {verdict.decision.value} ({verdict.rule}), and the answer is {said}"
    return "" if said == "allow" or f"({verdict.rule})" in reply.err + reply.out else f"it is not for {verdict.rule}"


def _agent_decision(reply: HookReply) -> str:
    """Return the decision as an agent understands it. Exit status 2 stops a call, regardless of the output."""
    if reply.code:
        return "refuse"
    out = json.loads(reply.out) if reply.out else {}
    said: str = out.get("hookSpecificOutput", {}).get("permissionDecision") or out.get("permission", "allow")
    return said
