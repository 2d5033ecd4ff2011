"""Tests that need OpenTelemetry: `make test-telemetry` installs it."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("opentelemetry") else ["test_spans.py"]
