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
from typing import TYPE_CHECKING

from nacre.environment import host_environment
from nacre.errors import InvalidRequest
from nacre.hidden import Hidden
from nacre.observe.events import Observed, Observer, RunBegan, RunEnded, finite
from nacre.profiles import Profile
from nacre.result import Chunk, Ended, Event, Refused, Result
from nacre.types import Plan, Request, ToolContext
from nacre.verdict import Decision, Verdict

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
        from nacre.observe.spans import tracing

        implied += tracing()
    if not observers and not implied:
        return None
    return Watch((*observers, *implied), request, ctx, profile, digests=bool(observers))


def implied_by_environment() -> tuple[Observer, ...]:
    """An audit trail, if `NACRE_AUDIT` asks for one."""
    if "NACRE_AUDIT" not in os.environ:
        return ()
    from nacre.observe.audit import from_environment

    audit = from_environment()
    return () if audit is None else (audit,)


async def watched(watch: Watch, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
    """The same events."""
    watch.time = time.time()
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Chunk):
                    watch.printed(event.data)
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
        self.time = time.time()
        self._observers = tuple(observers)
        self._asked = request, ctx, profile
        self._began: RunBegan | None = None
        self._verdict: Verdict | None = None
        self._over = False
        self._digest: _Hash | None = None
        self._digests = digests

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
            time=self.time,
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

    def heard(self, verdict: Verdict) -> None:
        """So says the checker."""
        self._verdict = verdict

    def printed(self, data: bytes) -> None:
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
            self.printed(result.both.head + result.both.tail)  # of a task that has ended at once
        self._tell(
            RunEnded(
                began=self._began,
                time=time.time(),
                verdict=self._verdict,
                approved=self._approved(result),
                result=result,
                error=error,
                digest="" if self._digest is None else self._digest.hexdigest(),
            )
        )

    def _approved(self, result: Result | None) -> bool | None:
        asked = self._verdict is not None and self._verdict.decision is Decision.ASK
        if not asked or self._asked[1].approve is None or result is None:
            return None
        return not isinstance(result.outcome, Refused)

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
