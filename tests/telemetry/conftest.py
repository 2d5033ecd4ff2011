"""Only where OpenTelemetry is: `make test-telemetry` sees to it."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore = [] if find_spec("opentelemetry") else ["test_spans.py"]
