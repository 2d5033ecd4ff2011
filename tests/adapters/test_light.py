"""nacre loads no framework by itself, even when all of them are installed."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.hooks.fixtures import payload_of
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = pytest.mark.framework

FRAMEWORKS = {
    "agents",
    "anthropic",
    "claude_agent_sdk",
    "deepagents",
    "inspect_ai",
    "langchain_core",
    "mcp",
    "pydantic_ai",
}
OTHERS = {"httpx", "openai", "pydantic", "rich"}


@pytest.mark.parametrize(
    "program", ["import nacre", "from nacre.cli import main; main(['hook'])"], ids=["import", "hook"]
)
def test_import_and_hook_load_no_framework(program: str) -> None:
    assert [name for name in FRAMEWORKS if find_spec(name) is None] == []
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {program}; print(*sys.modules, file=sys.stderr)"],
        input=json.dumps(payload_of("claude-code", "no opinion")).encode(),
        capture_output=True,
        timeout=HANG_TIMEOUT_S,
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    assert "nacre" in loaded
    assert not loaded & (FRAMEWORKS | OTHERS)
