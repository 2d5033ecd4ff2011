"""`nacre mcp` in its own process, and clients for it: the SDK's, and a raw one that can send anything."""

from __future__ import annotations

import atexit
import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from tests.support.census import MARK
from tests.support.waiting import HANG_TIMEOUT_S

PYTHON = os.environ.get("NACRE_MCP_PYTHON", sys.executable)
"""Python of the environment with only `nacre[mcp]`, if `make test-mcp` has made one."""
MODES = ("legacy", "2026-07-28")
"""The handshake of the older revisions, and the current revision, which has none."""
ASKS = "git reset --hard"
"""A command that needs approval; outside a repository it does nothing."""


_SHIM = Path(__file__).with_name("older-node.mjs")


@cache
def _home() -> str:
    made = tempfile.mkdtemp(prefix="nacre-mcp-home-")
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def environment(own: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment that a client passes on, plus the mark of this test run. Its home is empty."""
    passed = ("PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "NACRE_PORTABLE", "LD_LIBRARY_PATH", "TMPDIR", MARK)
    own = own or {}
    home = own.get("HOME") or _home()
    return {"HOME": home, **{name: os.environ[name] for name in passed if name in os.environ}, **own}


def node(program: str) -> list[str]:
    """Return the argv of a program from the packages that `make test-mcp-tools` installs."""
    return ["node", "--import", str(_SHIM), str(package(program))]


def package(path: str) -> Path:
    return Path(os.environ["NACRE_MCP_TOOLS"], "@modelcontextprotocol", path)


def parameters(*options: str, cwd: Path, env: Mapping[str, str] | None = None) -> StdioServerParameters:
    return StdioServerParameters(
        command=PYTHON,
        args=["-W", "error", "-m", "nacre", "mcp", *options],
        env=environment(env),
        cwd=str(cwd),
    )


def text_of(result: Any) -> str:
    [content] = result.content
    assert content.type == "text"
    return str(content.text)


class Raw:
    """Raw client: sends and receives lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._read = b""
        self._answers: dict[int, dict[str, Any]] = {}

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        for message in messages:
            line = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
            self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """Return the next line, which must be a JSON-RPC message."""
        assert self.process.stdout is not None
        while b"\n" not in self._read:
            if not select.select([self.process.stdout], [], [], HANG_TIMEOUT_S)[0]:
                pytest.fail(f"no answer; so far: {self._read!r}")
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, f"the server has exited; so far: {self._read!r}"
            self._read += data
        line, _, self._read = self._read.partition(b"\n")
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return dict(message)

    def answer(self, id: int) -> dict[str, Any]:
        """Return the answer to request `id`; skip notifications and keep other answers."""
        while id not in self._answers:
            message = self.receive()
            if "method" not in message:
                self._answers[message["id"]] = message
        return self._answers.pop(id)

    def initialize(self, version: str) -> dict[str, Any]:
        client = {"name": "test", "version": "0"}
        self.send(
            {
                "id": 0,
                "method": "initialize",
                "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": client},
            }
        )
        answer = self.answer(0)
        self.send({"method": "notifications/initialized"})
        return dict(answer["result"])

    def call(self, id: int, name: str, *, meta: Mapping[str, Any] | None = None, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments, **({} if meta is None else {"_meta": meta})}
        self.send({"id": id, "method": "tools/call", "params": params})


@contextmanager
def raw(
    *options: str, cwd: Path, stderr: int = subprocess.DEVNULL, env: Mapping[str, str] | None = None
) -> Iterator[Raw]:
    with subprocess.Popen(
        [PYTHON, "-W", "error", "-m", "nacre", "mcp", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        cwd=cwd,
        env=environment(env),
    ) as process:
        try:
            yield Raw(process)
        finally:
            process.kill()


@contextmanager
def start_http_server(
    *options: str,
    cwd: Path,
    token: str = "",
    env: Mapping[str, str] | None = None,
    pids: list[int] | None = None,
) -> Iterator[tuple[str, str]]:
    """Start a server on HTTP; yield its URL and its stderr so far."""
    env = {**environment(), **(env or {}), **({"NACRE_MCP_TOKEN": token} if token else {})}
    with subprocess.Popen(
        [PYTHON, "-W", "error", "-m", "nacre", "mcp", "--http", "0", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
    ) as process:
        try:
            if pids is not None:
                pids.append(process.pid)
            assert process.stderr is not None
            said = process.stderr.readline().decode() + process.stderr.readline().decode()
            url = re.search(r"http://\S+", said)
            assert url is not None, said
            yield url[0], said
        finally:
            process.terminate()
            process.wait(HANG_TIMEOUT_S)


@asynccontextmanager
async def client_at(url: str, token: str, mode: str, **more: Any) -> AsyncIterator[Client]:
    async with (
        create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client,
    ):
        yield client
