"""Runs as spans of the real SDK, kept in memory.

Names: semantic conventions for GenAI (execute tool span) and for CLI programs, both in development; read 2026-11-16 at
opentelemetry.io/docs/specs/semconv (gen-ai/gen-ai-spans, cli/cli-spans).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from nacre import Bash, Request, ToolContext
from nacre.observe.spans import CONTENT
from tests.support.hosts import run_host

pytestmark = pytest.mark.telemetry

EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module", autouse=True)
def _provider() -> None:
    """Set the tracer provider: a program can do that only once."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(EXPORTER))
    trace.set_tracer_provider(provider)


@pytest.fixture(autouse=True)
def _clear_spans() -> None:
    EXPORTER.clear()


def only_span() -> ReadableSpan:
    (span,) = EXPORTER.get_finished_spans()
    return span


async def test_run_becomes_an_execute_tool_span(bash: Bash, tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, conversation_id="c-1", caller="me")
    result = await bash.run("echo hi", ctx)
    span = only_span()
    assert (span.name, span.kind, span.status.status_code) == (
        "execute_tool Bash",
        SpanKind.INTERNAL,
        StatusCode.UNSET,
    )
    attributes = dict(span.attributes or {})
    assert len(str(attributes.pop("nacre.run.id"))) == 16
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "Bash",
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": "c-1",
        "process.executable.name": "bash",
        "process.working_directory": str(tmp_path),
        "process.pid": result.pid,
        "process.exit.code": 0,
        "nacre.profile": "default",
        "nacre.caller": "me",
        "nacre.mode": "default",
        "nacre.access": "unrestricted",
        "nacre.timeout": 120.0,
        "nacre.decision": "allow",
        "nacre.outcome": "exited",
        "nacre.output.bytes": 3,
    }
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time >= result.duration * 0.9e9
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "nacre"


async def test_run_span_is_a_child_of_the_span_of_the_caller(bash: Bash) -> None:
    with trace.get_tracer("agent").start_as_current_span("turn") as turn:
        await bash.run("true")
    run, _ = EXPORTER.get_finished_spans()
    assert run.parent is not None
    assert run.parent.span_id == turn.get_span_context().span_id


@pytest.mark.parametrize(
    ("command", "kind"), [("exit 3", "nonzero_exit"), ("rm -rf ~", "refused"), ("kill -9 $$", "signalled")]
)
async def test_failed_run_sets_error_status_and_error_type(command: str, kind: str, bash: Bash) -> None:
    await bash.run(command)
    span = only_span()
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == kind


async def test_timeout_and_invalid_request_set_the_error_type(bash: Bash) -> None:
    await bash.run(Request("sleep 60", timeout=0.2))
    with pytest.raises(Exception, match="does not exist"):
        await bash.run(Request("ls", cwd="/no/such/directory"))
    kinds = [(span.attributes or {})["error.type"] for span in EXPORTER.get_finished_spans()]
    assert kinds == ["timed_out", "cwd_missing"]


async def test_command_is_recorded_only_on_opt_in_and_masked(bash: Bash, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = ToolContext(secrets=("hunter2-secret",))
    await bash.run("echo hunter2-secret", ctx)
    assert "hunter2" not in only_span().to_json()
    assert "echo" not in only_span().to_json()
    EXPORTER.clear()
    monkeypatch.setenv(CONTENT, "true")
    await bash.run("echo hunter2-secret", ctx)
    assert "hunter2" not in only_span().to_json()
    arguments = (only_span().attributes or {})["gen_ai.tool.call.arguments"]
    assert json.loads(str(arguments)) == {"command": "echo [secret]"}


def test_tracing_has_no_observers_without_a_provider() -> None:
    program = """
        import asyncio, nacre, opentelemetry.trace
        from nacre.observe.spans import tracing_observers
        assert asyncio.run(nacre.run("true")).ok
        print(tracing_observers())
    """
    assert run_host(program) == "[]\n"


def test_broken_tracer_provider_does_not_disturb_a_run() -> None:
    program = """
        import os
        os.environ["OTEL_PYTHON_TRACER_PROVIDER"] = "no_such_provider"
        import asyncio, logging, nacre, opentelemetry.trace
        logging.disable()
        print(asyncio.run(nacre.run("true")).ok)
    """
    assert run_host(program) == "True\n"


def test_program_without_tracing_does_not_load_opentelemetry() -> None:
    program = """
        import asyncio, sys, nacre
        assert asyncio.run(nacre.run("true")).ok
        print([name for name in sys.modules if name.startswith("opentelemetry")])
    """
    assert run_host(program) == "[]\n"
