"""A run and its observers: the run's events in, the same out, and each observer told on the way.

Who asks for no observer pays for two look-ups: is anybody listening to the log, is there a tracer.
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
from nacre.observe.events import Observed, Observer, RunBegan, RunEnded, Seen, finite
from nacre.profiles import Profile
from nacre.redact.redactor import Hidden
from nacre.result import Chunk, Ended, Event, Result, Started, StreamName
from nacre.types import Plan, Request, ToolContext
from nacre.verdict import Verdict

if TYPE_CHECKING:
    from hashlib import _Hash

LOG = logging.getLogger("nacre.run")
ABANDONED = "abandoned"


def watching(observers: tuple[Observer, ...], request: Request, ctx: ToolContext, profile: Profile) -> Watch | None:
    """None: nobody looks."""
    implied: list[Observer] = []
    if LOG.isEnabledFor(logging.INFO):
        from nacre.observe.logs import log

        implied.append(log)
    if "opentelemetry.trace" in sys.modules:  # who has set a provider has loaded it
        implied += _tracing()
    if not observers and not implied:
        return None
    return Watch((*observers, *implied), request, ctx, profile, digests=bool(observers))


def _tracing() -> list[Observer]:
    """Whatever is wrong with what somebody else has installed and set: it is no fault of the run."""
    try:
        from nacre.observe.spans import tracing

        return tracing()
    except Exception:
        _complain_of_tracing()
        return []


@cache
def _complain_of_tracing() -> None:
    LOG.warning("Runs cannot be traced", exc_info=True)


def implied_by_environment(given: tuple[Observer, ...]) -> tuple[Observer, ...]:
    """An audit trail, if `NACRE_AUDIT` asks for one that is not given already."""
    if "NACRE_AUDIT" not in os.environ:
        return ()
    from nacre.observe.audit import Audit, from_environment

    audit = from_environment()
    if audit is None or any(isinstance(each, Audit) and each.path == audit.path for each in given):
        return ()
    return (audit,)


async def watched(watch: Watch, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The same events."""
    watch.begin()
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Chunk):
                    watch.printed(event.stream, event.data)
                elif isinstance(event, Started):
                    watch.pid = event.pid
                elif isinstance(event, Ended):
                    watch.ended(event.result)
                yield event
    except Exception as error:
        watch.ended(error=_code(error))
        raise
    finally:
        watch.ended(error=ABANDONED)


class Watch:
    """One run, as its observers see it."""

    def __init__(
        self, observers: Iterable[Observer], request: Request, ctx: ToolContext, profile: Profile, *, digests: bool
    ) -> None:
        self.begin()
        self.pid: int | None = None
        self._observers = tuple(observers)
        self._asked = request, ctx, profile
        self._began: RunBegan | None = None
        self._verdict: Verdict | None = None
        self._approved: bool | None = None
        self._read: dict[StreamName, int] = {"stdout": 0, "stderr": 0}
        self._over = False
        self._digest: _Hash | None = None
        self._digests = digests

    def begin(self) -> None:
        """Now; by the clock on the wall, and by one that nobody sets."""
        self._time, self._start = time.time(), time.monotonic()

    def planned(self, plan: Plan | None) -> None:
        """This is what will be done, if it may. None: it cannot be."""
        try:
            self._began = self._beginning(plan)
        except Exception:  # what was asked is so odd that it cannot be told
            LOG.warning("A run could not be observed", exc_info=True)
            self._over = True
        else:
            self._tell(self._began)

    def _beginning(self, plan: Plan | None) -> RunBegan:
        request, ctx, profile = self._asked
        hidden = Hidden(ctx.secrets, host_environment()) if plan is None else plan.hidden
        mask = str if hidden is None else hidden.mask
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
            timeout=None if plan is None else finite(plan.timeout),
            yield_after=None if plan is None else finite(plan.yield_after),
            enforced=() if plan is None else plan.enforced,
            hidden=hidden,
        )

    def heard(self, verdict: Verdict, approved: bool | None) -> None:
        """So says the checker; and a person, when one has."""
        self._verdict, self._approved = verdict, approved

    def printed(self, stream: StreamName, data: bytes) -> None:
        self._read[stream] += len(data)
        self._digested(data)

    def _digested(self, data: bytes) -> None:
        if not self._digests:
            return
        if self._digest is None:
            from hashlib import sha256

            self._digest = sha256()
        self._digest.update(data)

    def ended(self, result: Result | None = None, *, error: str = "") -> None:
        """The first word counts."""
        if self._began is None and not self._over:
            self.planned(None)
        if self._began is None or self._over:
            return
        self._over = True
        if result is not None and self._digest is None and result.both.seen and not result.both.dropped:
            self._digested(result.both.head + result.both.tail)  # of a task that has ended at once
        self._tell(
            RunEnded(
                began=self._began,
                time=time.time(),
                verdict=self._verdict,
                approved=self._approved,
                result=result,
                error=error,
                elapsed=time.monotonic() - self._start,
                pid=self.pid if result is None else result.pid,
                seen=self._seen(result),
                digest="" if self._digest is None else self._digest.hexdigest(),
            )
        )

    def _seen(self, result: Result | None) -> Seen:
        if result is None:
            return Seen(**self._read, output=sum(self._read.values()))
        return Seen(stdout=result.out.seen, stderr=result.err.seen, output=result.both.seen)

    def _tell(self, event: Observed) -> None:
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
