"""Planted defects for the fuzz target of the MCP server: it must find messages altered after the handshake."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fuzz.target import TARGETS, attack

pytestmark = pytest.mark.mcp

_BETWEEN = """#!{python}
import subprocess, sys

with subprocess.Popen([{real!r}, *sys.argv[1:]], stdout=subprocess.PIPE) as server:
    for number, line in enumerate(server.stdout):
        for said in [line] if number == 0 else {change}:
            sys.stdout.buffer.write(said)
        sys.stdout.buffer.flush()
"""
CHANGES = {
    "each answer twice": "[line, line]",
    "no errors": "[] if b'\"error\"' in line else [line]",
    "other words between": "[b'hello\\n', line]",
    "a result that is an error too": '[line.replace(b\'"result":\', b\'"error":{},"result":\')]',
    "the id of another": "[line.replace(b'\"id\":1,', b'\"id\":2,')]",
    "a question to the client": '[b\'{"jsonrpc":"2.0","id":1,"method":"roots/list"}\\n\', line]',
}


@pytest.fixture(autouse=True)
def _skip_missing_target() -> None:
    if TARGETS["mcp"].missing:
        pytest.skip(TARGETS["mcp"].missing)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_fuzzer_detects_an_mcp_server_with_altered_messages(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.adapters.mcp import clients

    between = tmp_path / "between"
    between.write_text(_BETWEEN.format(python=sys.executable, real=clients.PYTHON, change=change))
    between.chmod(0o755)
    monkeypatch.setattr(clients, "PYTHON", str(between))
    assert any(attack("mcp", first, 10) for first in range(0, 50, 10))
