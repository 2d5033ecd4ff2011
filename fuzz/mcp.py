"""Fuzz the MCP server's stdin: bytes, JSON and JSON-RPC, valid and damaged.

For any input, every line on stdout must be a message, every request gets its answer, nothing else gets one, and the
next call works.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fuzz.files import damage_bytes
from tests.adapters.mcp.clients import Raw, raw

_CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "0"}}
_CURRENT = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
_MAX_SAFE_INT = 1 << 53
"""Bound of the integers that all JSON parsers accept."""
_TOOLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Bash", {"command": "echo hello", "timeout": 1000, "description": "Say hello"}),
    ("Bash", {"command": "echo 'a\\u0000b'", "run_in_background": True}),
    ("Bash", {"command": ""}),
    ("TaskOutput", {"task_id": "bash-00000000", "timeout": 10}),
    ("TaskWait", {"task_ids": ["bash-00000000"], "timeout": 0.1}),
    ("TaskList", {"all": True}),
    ("KillShell", {"shell_id": "bash-00000000"}),
    ("CheckCommand", {"command": "rm -rf /", "cwd": "/tmp", "env": {"A": "1"}, "stdin": "x"}),
    ("NoSuchTool", {}),
)
_METHODS: tuple[tuple[str, dict[str, Any] | None], ...] = (
    ("ping", None),
    ("initialize", _CLIENT),
    ("tools/list", {"cursor": "x"}),
    ("tools/list", None),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "nacre://tasks/bash-00000000/log"}),
    ("resources/read", {"uri": "file:///etc/passwd"}),
    ("resources/subscribe", {"uri": "nacre://tasks/bash-00000000/log"}),
    ("prompts/list", {}),
    ("logging/setLevel", {"level": "debug"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
    ("tasks/get", {"taskId": "bash-00000000"}),
    ("tasks/cancel", {"taskId": "bash-00000000"}),
    ("server/discover", {"_meta": _CURRENT}),
    *(("tools/call", {"name": name, "arguments": arguments}) for name, arguments in _TOOLS),
)
_NOTES: tuple[dict[str, Any] | list[Any], ...] = (
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 2}},
    {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
    {"jsonrpc": "2.0", "method": "notifications/none/such", "params": {}},
    {"jsonrpc": "2.0", "id": 77, "result": {}},
    {"jsonrpc": "2.0", "id": 78, "error": {"code": -1, "message": "no"}},
    {"jsonrpc": "1.0", "id": 79, "method": "ping"},
    {"jsonrpc": "2.0", "id": None, "method": "ping"},
    {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
    {"jsonrpc": "2.0", "id": {}, "method": "ping"},
    [],
    [{"jsonrpc": "2.0", "id": 80, "method": "ping"}],
)


class Mcp:
    """A case is a few lines, sent after the handshake. One server is used for many cases."""

    def __init__(self) -> None:
        self._place = Path(tempfile.mkdtemp(prefix="nacre-fuzz-"))
        self._opened = ExitStack()
        self._client: Raw | None = None
        self._sent = 0

    def close(self) -> None:
        self._end()
        shutil.rmtree(self._place, ignore_errors=True)

    def invent(self, seed: int) -> bytes:
        made = random.Random(seed)
        lines = [_line(number, made) for number in range(made.choice((1, 1, 2, 4)))]
        return b"\n".join(lines)

    def wrong(self, case: bytes) -> str:
        client = self._connect()
        self._sent += 1
        last = f"after {self._sent}"
        asked = _request_ids(case)
        client.send(*case.split(b"\n"))
        client.send({"id": last, "method": "ping"})
        try:
            return _check_answers(client, asked, last)
        except pytest.fail.Exception as error:
            self._end()
            return str(error)
        except BaseException:
            self._end()
            raise

    def _connect(self) -> Raw:
        if self._client is None:
            place = {name: str(self._place / name) for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME")}
            self._client = self._opened.enter_context(raw("--budget", "2", cwd=self._place, env=place))
            self._client.initialize("2025-11-25")
        return self._client

    def _end(self) -> None:
        self._client = None
        self._opened.close()


def _line(number: int, made: random.Random) -> bytes:
    if made.random() < 0.1:
        return made.randbytes(made.randrange(200)).replace(b"\n", b"")
    if made.random() < 0.2:
        message: Any = made.choice(_NOTES)
    else:
        method, params = made.choice(_METHODS)
        id = made.choice((number + 1, f"id {number}", 1 << 40, ""))
        message = {"jsonrpc": "2.0", "id": id, "method": method, **({} if params is None else {"params": params})}
        if made.random() < 0.1:
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}
            return json.dumps(message).encode() + b"\n" + json.dumps(cancelled).encode()
    return damage_bytes(json.dumps(message).encode(), made).replace(b"\n", b" ")


def _request_ids(case: bytes) -> Counter[int | str]:
    """Return the ids of the requests that must be answered; cancelled ones are excluded."""
    messages = [message for line in case.split(b"\n") if (message := _message(line)) is not None]
    asked: Counter[int | str] = Counter(message["id"] for message in messages if _is_id(message.get("id")))
    for message in messages:
        if message["method"] == "notifications/cancelled":
            asked.pop(message.get("params", {}).get("requestId"), None)
    return asked


def _message(line: bytes) -> dict[str, Any] | None:
    """Return a request or a notification according to the protocol; None if it is neither."""
    try:
        message = json.loads(line.decode(), parse_constant=lambda _: 1 / 0)
        json.dumps(message, ensure_ascii=False).encode()
    except (ValueError, ArithmeticError, RecursionError):
        return None
    whole = isinstance(message, dict) and message.get("jsonrpc") == "2.0" and isinstance(message.get("method"), str)
    return message if whole and isinstance(message.get("params", {}), dict) else None


def _is_id(id: object) -> bool:
    return isinstance(id, str) or (isinstance(id, int) and not isinstance(id, bool) and abs(id) < _MAX_SAFE_INT)


def _check_answers(client: Raw, asked: Counter[int | str], last: str) -> str:
    """Wait for all answers and return what is wrong with them; empty if nothing is."""
    waiting = asked + Counter([last])
    seen: Counter[int | str] = Counter()
    while +waiting:
        message = client.receive()
        if "method" in message:
            if "id" in message:
                return f"a request to a client that can answer none: {message}"
            continue
        if ("result" in message) is ("error" in message):
            return f"neither a result nor an error: {message}"
        id = message.get("id")
        if id is None:
            continue
        seen[id] += 1
        waiting[id] -= 1
        if id in asked and seen[id] > asked[id]:
            return f"a second answer to {id!r}: {message}"
    return ""
