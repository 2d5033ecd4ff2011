"""Report runs as OpenTelemetry spans, if the program has set a tracer provider. Imported only then; needs only its API.

Each run is a span, a child of the caller's current one, with the names of the semantic conventions for tool execution
(`gen_ai.*`) and for programs (`process.*`), and `nacre.*` for everything else. An exit status other than 0 is an error
in these conventions, and so here. The command is recorded only if content capture is enabled, as in other
instrumentations.
"""

from __future__ import annotations

import json
import os
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import ProxyTracerProvider, Span, SpanKind, Status, StatusCode

from nacre import __version__
from nacre.observe.events import Observed, Observer, RunBegan, RunEnded
from nacre.result import Exited

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_YES = ("true", "span_only", "span_and_event")


def tracing_observers() -> list[Observer]:
    """Return the span observer; none while no provider is set."""
    return [] if isinstance(trace.get_tracer_provider(), ProxyTracerProvider) else [_spans]


class Spans:
    """Observer that starts and ends a span for each run."""

    def __init__(self) -> None:
        self._open: dict[str, Span] = {}

    def __call__(self, event: Observed) -> None:
        if isinstance(event, RunBegan):
            self._open[event.id] = _start_span(event)
        elif (span := self._open.pop(event.began.id, None)) is not None:
            _end(span, event)


_spans = Spans()


def _start_span(began: RunBegan) -> Span:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": began.tool,
        "gen_ai.tool.type": "function",
        "gen_ai.conversation.id": began.conversation_id,
        "process.executable.name": "bash",
        "process.working_directory": began.cwd,
        "nacre.run.id": began.id,
        "nacre.profile": began.profile,
        "nacre.caller": began.caller,
        "nacre.mode": began.mode,
        "nacre.access": began.access,
        "nacre.enforced": began.enforced,
        "nacre.timeout": began.timeout,
    }
    if os.environ.get(CONTENT, "").lower() in _YES:
        attributes["gen_ai.tool.call.arguments"] = json.dumps({"command": began.command})
    return trace.get_tracer("nacre", __version__).start_span(
        f"execute_tool {began.tool}",
        kind=SpanKind.INTERNAL,
        attributes={name: _clean(value) for name, value in attributes.items() if value not in ("", (), None)},
        start_time=round(began.time * 1e9),
    )


def _clean(value: Any) -> Any:
    """Escape bytes that are not UTF-8: one such value would lose all spans that are exported with it."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _end(span: Span, ended: RunEnded) -> None:
    result, verdict = ended.result, ended.verdict
    if verdict is not None:
        span.set_attribute("nacre.decision", verdict.decision.value)
        if verdict.rule:
            span.set_attribute("nacre.rule", verdict.rule)
    if ended.pid is not None:
        span.set_attribute("process.pid", ended.pid)
    if result is not None or ended.pid is not None:
        span.set_attribute("nacre.output.bytes", ended.byte_counts.output)
    if result is not None:
        span.set_attribute("nacre.outcome", result.outcome.kind)
        if isinstance(result.outcome, Exited):
            span.set_attribute("process.exit.code", result.outcome.code)
        if result.task is not None:
            span.set_attribute("nacre.task.id", result.task.id)
    if kind := _error(ended):
        span.set_attribute("error.type", kind)
        span.set_status(Status(StatusCode.ERROR, _clean(ended.summary)))
    span.end(end_time=round((ended.began.time + ended.elapsed) * 1e9))


def _error(ended: RunEnded) -> str:
    """Return the error type: `nonzero_exit`, another kind of outcome, or the code of a request that was not run."""
    if ended.result is None:
        return ended.error
    kind = ended.result.outcome.kind
    return "" if ended.ok or kind == "running" else "nonzero_exit" if kind == "exited" else kind
