"""These tests are for `make test-agents`, which installs the agents; otherwise they are not collected."""

from __future__ import annotations

import os

collect_ignore_glob = [] if "NACRE_AGENTS" in os.environ else ["test_*.py"]
