"""Standby processes: shells and dedicated keepers that are started before a run needs them.

They are stopped when resources are short, and no more are started for a while.
"""

from __future__ import annotations

import time

from nacre.base.shortages import SHORTAGE_HINTS
from nacre.keeper.protocol.messages import StartMessage
from nacre.keeper.spawn.standby_keepers import StandbyKeepers
from nacre.keeper.spawn.standby_shells import IDLE_TIMEOUT_S, StandbyShells

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Callable

_EXIT_TIMEOUT_S = 1.0
"""Seconds to wait until standby processes have exited."""
_EXIT_POLL_S = 0.0002


class StandbyDemand:
    """Tells which run is likely to come next, and whether resources suffice to start something for it."""

    __slots__ = ("_next_start", "_short_until")

    def __init__(self) -> None:
        self._next_start: StartMessage | None = None
        self._short_until = 0.0

    def expect(self, like: StartMessage) -> None:
        """Note that the next run is likely to resemble this one."""
        if like.standby_ok:
            self._next_start = like

    def take(self) -> StartMessage | None:
        """Return the start message that the next one is likely to resemble, but only once."""
        like, self._next_start = self._next_start, None
        return like

    def note_shortage(self) -> None:
        self._short_until = time.monotonic() + IDLE_TIMEOUT_S

    @property
    def resources_short(self) -> bool:
        """Whether resources were short a short while ago."""
        return time.monotonic() < self._short_until


class Standby:
    """The standby processes of a keeper."""

    __slots__ = ("_dedicated", "_demand", "_reap", "keepers", "shells")

    def __init__(
        self,
        shells: StandbyShells,
        keepers: StandbyKeepers,
        demand: StandbyDemand,
        reap: Callable[[], None],
        *,
        dedicated: bool,
    ) -> None:
        """`reap` reaps dead children. `dedicated`: of a dedicated keeper, which starts no keepers."""
        self.shells = shells
        self.keepers = keepers
        self._demand = demand
        self._reap = reap
        self._dedicated = dedicated

    def expect(self, like: StartMessage) -> None:
        """Note that the next run is likely to resemble this one."""
        self._demand.expect(like)

    def prepare_expected(self) -> None:
        """Start what the expected run needs."""
        like = self._demand.take()
        if like is not None:
            self.prepare(like)

    def prepare(self, like: StartMessage) -> None:
        """Start what a run like this one needs: a shell or a dedicated keeper."""
        if self._demand.resources_short:
            return
        try:
            if like.dedicated and not self._dedicated:
                self.keepers.prefork(like)
            elif not like.private_dir:  # the directory differs each time: no shell would match
                self.shells.prepare(like)
        except OSError as error:
            self.stop_on_shortage(error)  # the next command itself reports the failure

    def next_expiry(self) -> float | None:
        """Return the time at which one of them is to be stopped."""
        shells, keepers = self.shells.next_expiry(), self.keepers.next_expiry()
        return keepers if shells is None else shells if keepers is None else min(shells, keepers)

    def expire(self) -> None:
        """Stop those that have been idle for too long."""
        self.shells.expire()
        self.keepers.expire()

    def stop_all(self) -> None:
        self.shells.discard_all()
        self.keepers.stop_all()

    def stop_on_shortage(self, error: OSError) -> bool:
        """If the error is a resource shortage, stop all standby processes and start no more for a while. Returns
        whether that freed any, so that a retry makes sense."""
        if error.errno not in SHORTAGE_HINTS:
            return False
        self._demand.note_shortage()
        self.stop_all()
        freed, until = self._has_processes(), time.monotonic() + _EXIT_TIMEOUT_S
        while self._has_processes() and time.monotonic() < until:
            time.sleep(_EXIT_POLL_S)  # a zombie still counts
            self._reap()
        return freed

    def _has_processes(self) -> bool:
        """Return whether there is a shell or idle keeper, dead ones included that were not reaped yet."""
        return bool(self.shells.pids) or self.keepers.has_idle
