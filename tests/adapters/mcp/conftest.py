"""The suite needs the SDK: without it there is nothing here to collect. `make test-mcp` installs it."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("mcp_types") else ["test_*.py"]
