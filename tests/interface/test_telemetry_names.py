"""Names in telemetry: spans and their attributes, loggers and the fields of their records, events of observers.

OpenTelemetry need not be installed: a small stand-in module records nacre's calls. `make test-telemetry` uses the real
one.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest

import nacre
from nacre import Bash, NacreError, Request, ToolContext
from nacre.observe import Audit
from tests.interface.shapes import describe_shape
from tests.interface.snapshot import check_snapshot
from tests.support.hosts import run_host

SPANS = """
    import asyncio, json, sys, types
    SPANS = []
    class Span:
        def __init__(self, name, kind, attributes):
            self.data = {"name": name, "kind": kind, "attributes": dict(attributes), "status": None}
        def set_attribute(self, name, value):
            self.data["attributes"][name] = value
        def set_status(self, status):
            self.data["status"] = status
        def end(self, end_time):
            assert type(end_time) is int
            SPANS.append(self.data)
    class Tracer:
        def start_span(self, name, *, kind, attributes, start_time):
            assert type(start_time) is int
            return Span(name, kind, attributes)
    def get_tracer(name, version):
        assert name == "nacre"
        return Tracer()
    trace = types.ModuleType("opentelemetry.trace")
    trace.Span, trace.ProxyTracerProvider = Span, type("ProxyTracerProvider", (), {})
    trace.SpanKind = types.SimpleNamespace(INTERNAL="INTERNAL")
    trace.StatusCode = types.SimpleNamespace(ERROR="ERROR")
    trace.Status = lambda code, description: code
    trace.get_tracer_provider, trace.get_tracer = object, get_tracer
    package = types.ModuleType("opentelemetry")
    package.trace = trace
    sys.modules.update({"opentelemetry": package, "opentelemetry.trace": trace})

    import os, nacre
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "true"
    from nacre import Bash, Limits, Request, ToolContext
    async def main():
        bash, place = Bash(), sys.argv[1]
        ctx = ToolContext(working_dir=place, conversation_id="c", caller="me", output_dir=place)
        await bash.run("true", ctx)
        await bash.run("exit 3", ToolContext(working_dir=place, limits=Limits(open_files=100)))
        await bash.run("git push --force", ctx)
        await bash.run("kill -9 $$", ctx)
        await bash.run(Request("sleep 60", timeout=0.3), ctx)
        await bash.run(Request("sleep 60", mode="background", timeout=0.3), ctx)
        try:
            await bash.run(Request("ls", cwd="/no/such/directory"), ctx)
        except nacre.InvalidRequest:
            pass
        await nacre.Tasks(place).wait(nacre.Tasks(place).list()[0].id)
    asyncio.run(main())
    print(json.dumps(SPANS))
"""
WORDS = (
    "name",
    "kind",
    "status",
    "error.type",
    "nacre.outcome",
    "nacre.decision",
    "nacre.mode",
    "gen_ai.operation.name",
    "gen_ai.tool.type",
    "process.executable.name",
)


def test_spans_of_runs_match_their_snapshot(tmp_path: Path) -> None:
    names = ("exited", "exit 3", "refused", "signalled", "timed out", "background", "bad request")
    spans = json.loads(run_host(SPANS, tmp_path))
    found = {name: describe_shape(span, words=WORDS) for name, span in zip(names, spans, strict=True)}
    check_snapshot("spans", found)


def describe_record(record: logging.LogRecord) -> dict[str, Any]:
    fields = {name: value for name, value in vars(record).items() if name.startswith("nacre")}
    words = ("nacre_outcome", "nacre_error", "nacre_decision", "nacre_access", "nacre_profile")
    return {"logger": record.name, "level": record.levelname, "fields": describe_shape(fields, words=words)}


async def test_log_records_match_their_snapshot(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def failing(_: object) -> None:
        raise ZeroDivisionError

    caplog.set_level(logging.DEBUG, "nacre")
    ctx = ToolContext(working_dir=tmp_path, caller="me", conversation_id="c")
    found = {}

    async def keep(name: str, bash: Bash, command: str, **more: Any) -> None:
        caplog.clear()
        with contextlib.suppress(NacreError):
            await bash.run(Request(command, **more), ctx)
        found[name] = [describe_record(record) for record in caplog.records if record.name.startswith("nacre")]

    await keep("exited", Bash(), "true")
    await keep("refused", Bash(), "git push --force")
    await keep("bad request", Bash(), "true", cwd="/no/such/place")
    await keep("an observer that raises", Bash(observers=(failing,)), "true")
    await keep("a trail that cannot be written", Bash(observers=(Audit(tmp_path),)), "true")
    check_snapshot("log_records", found)


def test_logger_names_in_the_code_match_their_snapshot() -> None:
    """Including loggers that are used only if something is missing."""
    names: set[str] = set()
    for path in Path(nacre.__file__).parent.rglob("*.py"):
        names.update(re.findall(r"getLogger\((.*?)\)", path.read_text(encoding="utf-8")))
    check_snapshot("loggers", sorted(name.strip('"') for name in names))


async def test_observer_events_match_their_snapshot(tmp_path: Path) -> None:
    events: list[Any] = []
    ctx = ToolContext(working_dir=tmp_path)
    await Bash(observers=(events.append,)).run("true", ctx)
    found = {type(event).__name__: sorted(name for name in dir(event) if not name.startswith("_")) for event in events}
    check_snapshot("observer_events", {"fields": found, "RunEnded.to_dict": describe_shape(events[-1].to_dict())})
