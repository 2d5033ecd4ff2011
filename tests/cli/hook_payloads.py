"""One hook payload for each decision."""

from __future__ import annotations

import json

from tests.hooks.fixtures import payload_of

REFUSED = json.dumps(payload_of("claude-code", "refused")).encode()
ALLOWED = json.dumps(payload_of("claude-code", "no opinion")).encode()
ASKED = json.dumps(payload_of("claude-code", "asked")).encode()
