"""Tools of the MCP server as clients list them: names, schemas and hints. Needs the SDK: `make test-mcp`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interface.program import Program, read_line
from tests.interface.shapes import strip_prose
from tests.interface.snapshot import check_snapshot

pytestmark = pytest.mark.mcp

PROFILES = ("default", "mycode", "tunacode", "phoenix", "yoi", "tachikoma")
_VERSION = "2025-06-18"


class Server:
    """Client of a server on stdio: one JSON-RPC message on each line."""

    def __init__(self, process: Any) -> None:
        self._process = process
        self._id = 0

    def ask(self, method: str, **params: Any) -> Any:
        self._id += 1
        self._send({"id": self._id, "method": method, "params": params})
        while True:
            message = json.loads(read_line(self._process))
            if message.get("id") == self._id:
                return message["result"]

    def initialize(self) -> Any:
        found = self.ask(
            "initialize", protocolVersion=_VERSION, capabilities={}, clientInfo={"name": "test", "version": "1"}
        )
        self._send({"method": "notifications/initialized"})
        return found

    def _send(self, message: dict[str, Any]) -> None:
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


def test_mcp_tools_match_their_snapshot(program: Program, tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for profile in PROFILES:
        words = ["mcp", "--no-config", "--access", "unrestricted", "--profile", profile, "--budget", "45"]
        with program.start(*words) as process:
            server = Server(process)
            about = server.initialize()
            tools = {tool["name"]: strip_prose(tool) for tool in server.ask("tools/list")["tools"]}
            if profile == "default":
                found["server"] = {"name": about["serverInfo"]["name"], "capabilities": about["capabilities"]}
                found["resource templates"] = strip_prose(server.ask("resources/templates/list")["resourceTemplates"])
                found["tools"] = tools
            else:
                found[f"tools, profile {profile}"] = {
                    name: tool for name, tool in tools.items() if found["tools"].get(name) != tool
                }
    check_snapshot("mcp_tools", found)
