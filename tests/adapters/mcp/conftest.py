"""These suites need the SDK, or programs from the npm registry; without them nothing is collected here. `make test-mcp`
and `make test-mcp-tools` install them."""

from __future__ import annotations

import os
from importlib.util import find_spec

_TOOLS = ["test_conformance.py", "test_inspector.py", "test_typescript.py"]

if not find_spec("mcp_types"):
    collect_ignore_glob = ["test_*.py"]
elif "NACRE_MCP_TOOLS" not in os.environ:
    collect_ignore_glob = _TOOLS
