"""Pass on the events of a run and notify its observers.

Without observers, a run costs two checks: whether the log level is enabled, and whether OpenTelemetry is loaded.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING

from nacre.environment import host_environment
from nacre.errors import InvalidRequest
from nacre.observe.events import ByteCounts, Observed, Observer, RunBegan, RunEnded, finite
from nacre.profiles import Profile
from nacre.redact.redactor import Redactor
from nacre.result import Chunk, Ended, Event, Result, Started, StreamName
from nacre.types import Plan, Request, ToolContext
from nacre.verdict import Verdict

if TYPE_CHECKING:
    from hashlib import _Hash

LOG = logging.getLogger("nacre.run")
ABANDONED = "abandoned"


def reporter_for(
    observers: tuple[Observer, ...], request: Request, ctx: ToolContext, profile: Profile
) -> RunReporter | None:
    """Return the reporter of a run; None if there are no observers."""
    implied: list[Observer] = []
    if LOG.isEnabledFor(logging.INFO):
        from nacre.observe.logs import log

        implied.append(log)
    if "opentelemetry.trace" in sys.modules:  # a program that set a tracer provider has imported this
        implied += _tracing_observers()
    if not observers and not implied:
        return None
    return RunReporter((*observers, *implied), request, ctx, profile, digests=bool(observers))


def _tracing_observers() -> list[Observer]:
    """Return the tracing observers; none if a third-party installation or its settings are broken: runs must not
    fail."""
    try:
        from nacre.observe.spans import tracing_observers

        return tracing_observers()
    except Exception:
        _warn_about_tracing()
        return []


@cache
def _warn_about_tracing() -> None:
    LOG.warning("Runs cannot be traced", exc_info=True)


def observers_from_env(given: tuple[Observer, ...]) -> tuple[Observer, ...]:
    """Return an audit trail if `NACRE_AUDIT` requests one that is not among the given observers."""
    if "NACRE_AUDIT" not in os.environ:
        return ()
    from nacre.observe.audit import Audit, from_environment

    audit = from_environment()
    if audit is None or any(isinstance(each, Audit) and each.path == audit.path for each in given):
        return ()
    return (audit,)


async def report_events(watch: RunReporter, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """Yield the events unchanged, and notify the observers."""
    watch.on_begin()
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Chunk):
                    watch.on_output(event.stream, event.data)
                elif isinstance(event, Started):
                    watch.pid = event.pid
                elif isinstance(event, Ended):
                    watch.on_end(event.result)
                yield event
    except Exception as error:
        watch.on_end(error=_code(error))
        raise
    finally:
        watch.on_end(error=ABANDONED)


class RunReporter:
    """Collects the facts of one run and notifies its observers."""

    def __init__(
        self, observers: Iterable[Observer], request: Request, ctx: ToolContext, profile: Profile, *, digests: bool
    ) -> None:
        self.on_begin()
        self.pid: int | None = None
        self._observers = tuple(observers)
        self._request = request, ctx, profile
        self._began: RunBegan | None = None
        self._verdict: Verdict | None = None
        self._approved: bool | None = None
        self._read: dict[StreamName, int] = {"stdout": 0, "stderr": 0}
        self._is_ended = False
        self._digest: _Hash | None = None
        self._digests = digests

    def on_begin(self) -> None:
        """Record the start time, by the wall clock and by the monotonic clock."""
        self._time, self._start = time.time(), time.monotonic()

    def on_plan(self, plan: Plan | None) -> None:
        """Notify observers that the run was planned. None: the request could not be planned."""
        try:
            self._began = self._beginning(plan)
        except Exception:  # the request is so malformed that it cannot be described
            LOG.warning("A run could not be observed", exc_info=True)
            self._is_ended = True
        else:
            self._notify(self._began)

    def _beginning(self, plan: Plan | None) -> RunBegan:
        request, ctx, profile = self._request
        redactor = Redactor(ctx.secrets, host_environment()) if plan is None else plan.redactor
        mask = str if redactor is None else redactor.mask
        return RunBegan(
            id=os.urandom(8).hex(),
            time=self._time,
            command=mask(str(request.command)),
            description=mask(str(request.description)),
            profile=profile.name,
            tool=profile.tool.name,
            caller=mask(str(ctx.caller)),
            conversation_id=mask(str(ctx.conversation_id)),
            mode=request.mode,
            access=ctx.access,
            cwd="" if plan is None else mask(plan.cwd),
            timeout=None if plan is None else finite(plan.timing.timeout),
            yield_after=None if plan is None else finite(plan.timing.yield_after),
            enforced=() if plan is None else plan.enforced,
            redactor=redactor,
        )

    def on_verdict(self, verdict: Verdict, approved: bool | None) -> None:
        """Record the checker's verdict, and a person's decision if there is one."""
        self._verdict, self._approved = verdict, approved

    def on_output(self, stream: StreamName, data: bytes) -> None:
        self._read[stream] += len(data)
        self._update_digest(data)

    def _update_digest(self, data: bytes) -> None:
        if not self._digests:
            return
        if self._digest is None:
            from hashlib import sha256

            self._digest = sha256()
        self._digest.update(data)

    def on_end(self, result: Result | None = None, *, error: str = "") -> None:
        """Notify observers of the end of the run. Only the first call counts."""
        if self._began is None and not self._is_ended:
            self.on_plan(None)
        if self._began is None or self._is_ended:
            return
        self._is_ended = True
        if result is not None and self._digest is None and result.both.total_bytes and not result.both.dropped_bytes:
            self._update_digest(result.both.head + result.both.tail)  # of a task that ended at once
        self._notify(
            RunEnded(
                began=self._began,
                time=time.time(),
                verdict=self._verdict,
                approved=self._approved,
                result=result,
                error=error,
                elapsed=time.monotonic() - self._start,
                pid=self.pid if result is None else result.pid,
                byte_counts=self._byte_counts(result),
                digest="" if self._digest is None else self._digest.hexdigest(),
            )
        )

    def _byte_counts(self, result: Result | None) -> ByteCounts:
        if result is None:
            return ByteCounts(**self._read, output=sum(self._read.values()))
        return ByteCounts(stdout=result.out.total_bytes, stderr=result.err.total_bytes, output=result.both.total_bytes)

    def _notify(self, event: Observed) -> None:
        for observer in self._observers:
            try:
                observer(event)
            except Exception:
                LOG.warning("An observer of runs failed: %r", observer, exc_info=True)


def _code(error: Exception) -> str:
    if isinstance(error, InvalidRequest):
        return error.code
    name = type(error).__name__
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in name).lstrip("_")
