"""A run as the host sees it: asked for, started, printing, ended. One per call, on the event loop of that call.

The shell's end is the run's end. Closing it in mid-run is all it takes to cancel: one non-blocking step, no awaiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import threading
from collections import deque
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from nacre.blocking import beside
from nacre.errors import KeeperFailed
from nacre.keeper import client as keepers
from nacre.keeper.client import Asked, Client, Folder
from nacre.keeper.happenings import (
    Adopted,
    Began,
    Going,
    Happening,
    LastWord,
    NeverBegan,
    NotAdopted,
    Printed,
    Vanished,
    stopped,
)
from nacre.keeper.intake import Intake
from nacre.keeper.orphans import end_orphans
from nacre.keeper.run import ENDER, GIVE_UP
from nacre.keeper.scratch import remove_tree
from nacre.keeper.wire import CANCEL, Adoption
from nacre.result import StreamName, TaskRef
from nacre.types import Plan

_BUSY = 0.002
_DYING = 0.02
_KEEPER_LATE = 10.0
"""Seconds after which a keeper that should have ended a run counts as dead (somebody stopped it)."""


class Live(Protocol):
    """A run that was asked for. Closing it in mid-run is all it takes to cancel."""

    @property
    def last_output(self) -> float:
        """Seconds from its start to the last that it printed."""

    @property
    def listening(self) -> bool:
        """No last word has been heard yet."""

    async def next(self) -> Happening:
        """What happens, in its order; a `LastWord` is the last."""

    def cancel(self) -> None:
        """From any thread; the end arrives as usual."""

    def close(self) -> None:
        """Let go. If it still runs, it is ended."""

    def let_go(self) -> None:
        """Of a task: it needs nobody."""

    def pause(self) -> list[Printed]:
        """Read no more; gives what was read and not taken yet."""

    def resume(self) -> None: ...


class Beyond(Protocol):
    """The far end of a run whose process here is only an engine's client."""

    def conclude(self, word: LastWord) -> LastWord:
        """What its last word means, there."""

    def cancel(self) -> None:
        """It is about to be ended: what has not begun there must not, from now on."""

    def close(self) -> None:
        """Nothing more is heard of it."""


@runtime_checkable
class Elsewhere(Protocol):
    """A run that is looked after where it is: it goes on as a task there, by itself, and so does what it leaves."""

    task: TaskRef | None
    """What goes on, when its last word has been heard."""
    remarks: tuple[str, ...]


class LiveRun:
    def __init__(self, keeper: Client, asked: Asked, plan: Plan) -> None:
        self._loop = asyncio.get_running_loop()
        self._keeper = keeper
        control, self._tag, self._private = asked
        self._apart = plan.apart
        self._own_keeper = 0
        """The process that keeps it, if that is not the host's one keeper."""
        self._control = control
        self._pid: int | None = None
        self._names: tuple[StreamName, ...] = ("stdout",) if plan.merge else ("stdout", "stderr")
        self._intake = Intake(self._loop, self._print)
        self._happened: deque[Happening] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._lock = threading.RLock()
        self._closed = False
        self._listening = True
        self._hearing = True
        """There is more to be heard on its channel, after its last word too: what becomes of what it left running."""
        self._asked = False
        """Whether it can be made a task."""
        self._recorded = plan.background
        """It is one from the start: its output is none of ours."""
        self._lost = False
        self._alone = False
        """Lost, and nothing else is."""
        self._why = ""
        """If not because of the keeper."""
        self._began = self._last_output = self._loop.time()
        self._loop.add_reader(control.fileno(), self._hear)
        self.beyond: Beyond | None = None
        """What it is the near end of."""
        bound = plan.timeout + plan.grace + (ENDER if plan.ender else 0) + GIVE_UP + _KEEPER_LATE
        self._watchdog = self._loop.call_later(bound, self._overdue) if bound < threading.TIMEOUT_MAX else None
        keepers.enlist(self)

    # for the caller

    async def next(self) -> Happening:
        while not self._happened:
            if self._lost:
                return await self._clean_up()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        happening = self._happened.popleft()
        if isinstance(happening, Printed):
            self._intake.taken(len(happening.data))
        return happening

    @property
    def last_output(self) -> float:
        """Seconds from its start to the last that it printed."""
        return self._last_output - self._began

    @property
    def began(self) -> bool:
        """Its process here was seen to start."""
        return self._pid is not None

    @property
    def listening(self) -> bool:
        """No last word has been heard yet."""
        return self._listening

    def pause(self) -> list[Printed]:
        """Read no more; gives what was read and not taken yet. What is not read stays, for whoever reads on."""
        self._intake.pause()
        taken = [happening for happening in self._happened if isinstance(happening, Printed)]
        self._happened = deque(happening for happening in self._happened if not isinstance(happening, Printed))
        self._intake.taken(sum(len(printed.data) for printed in taken))
        return taken

    def resume(self) -> None:
        self._intake.resume()

    def ask_adoption(self, adoption: Adoption, folder: int) -> bool:
        """Have it made a task; `Adopted` or `NotAdopted` is among what happens next. False: there is nobody to ask."""
        try:
            self._control.send(adoption.message(), [folder])
        except OSError:
            return False
        self._listen_again()
        return True

    def wake_keeper(self) -> None:
        """Somebody may have stopped it."""
        self._signal_own_keeper(signal.SIGCONT)
        self._keeper.wake()

    def let_go(self) -> None:
        """Of a task: it needs nobody."""
        self._listening = False
        self.close()

    def cancel(self) -> None:
        """From any thread; the end arrives as usual."""
        with self._lock:
            if not self._closed:
                self._say_cancel()

    def close(self) -> None:
        """Let go. If it still runs, the keeper ends it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._listening:
                self._say_cancel()  # said, not only meant: a process that this one forked may hold the channel open
            if not self._loop.is_closed():
                self._loop.remove_reader(self._control.fileno())
                if self._watchdog is not None:
                    self._watchdog.cancel()
            self._control.close()
            self._intake.close()
            if self.beyond is not None:
                self.beyond.close()

    def _say_cancel(self) -> None:
        if self.beyond is not None:
            self.beyond.cancel()
        with contextlib.suppress(OSError):
            self._control.send(CANCEL)
        self.wake_keeper()

    def _signal_own_keeper(self, number: int) -> None:
        if self._own_keeper:
            with contextlib.suppress(OSError):
                os.kill(self._own_keeper, number)

    def abandon_copies(self) -> None:
        """In a forked child: the run goes on in the parent."""
        self._closed = True
        self._control.close()
        self._intake.close(forked=True)

    # from the keeper

    def _hear(self) -> None:
        try:
            while self._hearing and (message := self._control.receive()) is not None:
                self._understand(message[0].split(b"\0"), message[1])
        except EOFError:
            self._hearing = False
            self._loop.remove_reader(self._control.fileno())
            # A dying keeper's descriptors close one after another: look at the main one when all are.
            self._loop.call_later(_DYING, self._explain)

    def _explain(self) -> None:
        """The keeper has closed this run's channel without a last word."""
        if self._asked:
            self._answer(NotAdopted("it has ended", gone=True))
        if not self._listening:
            return  # it had ended
        if self._pid is None and not self._own_keeper and self._keeper.alive:  # nobody has heard of it
            self._fail(errno.EMFILE, "the keeper has no descriptor left for it")
        else:
            self._lose(alone=self._apart or self._keeper.alive)

    def _understand(self, fields: Sequence[bytes], fds: Sequence[int]) -> None:
        match fields:
            case [b"handed", keeper]:
                self._own_keeper = int(keeper)
            case [b"started", pid, keeper]:
                self._own_keeper = int(keeper) if self._apart else 0
                self._start_reading(int(pid), fds)
            case [b"going"]:
                self._happen(Going())
            case [b"adopted", pid, pgid]:
                self._answer(Adopted(int(pid), int(pgid)))
            case [b"failed", number, reason] if self._asked:
                gone = int(number) == errno.ESRCH
                self._answer(NotAdopted(reason.decode("utf-8", "replace"), gone=gone))
            case [b"failed", number, reason]:
                self._fail(int(number), reason.decode("utf-8", "replace"))
            case [b"ended", *account]:
                self._listening = False
                if not self._asked:
                    self._stop_listening()
                self._intake.drain()
                self._conclude(stopped(account))
            case _:
                raise AssertionError(f"the keeper said {fields[0]!r}")

    def _start_reading(self, pid: int, fds: Sequence[int]) -> None:
        self._pid = pid
        if self._recorded:
            self._happen(Began(pid))
            return
        if len(fds) < len(self._names):  # another thread has taken those that were kept for it
            for fd in fds:
                os.close(fd)
            self._lose(alone=True, why="this process had no descriptor left for its output")
            return
        self._happen(Began(pid))
        self._intake.open(dict(zip(fds, self._names, strict=True)))

    def _fail(self, number: int, reason: str) -> None:
        if not self._closed:
            self._stop_listening()
            self._conclude(NeverBegan(number, reason))

    def _answer(self, answer: Adopted | NotAdopted) -> None:
        self._asked = False
        self._happen(answer)

    def _listen_again(self) -> None:
        self._asked = True
        if not self._hearing:
            self._hearing = True
            self._loop.add_reader(self._control.fileno(), self._hear)

    def _stop_listening(self) -> None:
        self._listening = self._hearing = False
        self._loop.remove_reader(self._control.fileno())

    def _overdue(self) -> None:
        """The keeper should have ended it long ago. Unless it was this event loop that stood still."""
        if not self._closed:
            self._hear()
            self._lose(alone=self._apart)

    def _lose(self, *, alone: bool, why: str = "") -> None:
        """The keeper is gone without a word about this run, or does not answer in time; or `why`. `alone`: what else it
        keeps is well."""
        if self._listening and not self._closed:
            self._stop_listening()
            self._signal_own_keeper(signal.SIGKILL)
            if not alone:
                self._keeper.bury()
            self._alone, self._why = alone, why
            self._lost = True
            self._wake()

    async def _clean_up(self) -> Happening:
        first, last = (self._tag, self._tag) if self._alone else (self._keeper.prefix, self._keeper.last_tag)
        left = await end_orphans(first, last, self._pid)
        if self._private:
            await beside(remove_tree, self._private)  # whoever was to keep it is dead, or has never heard of it
        self._intake.drain()
        words = self._keeper.last_words
        reason = f"nacre's keeper process was killed{': ' + words if words else ''}"
        if self._alone and not self._apart:
            reason = "nacre's keeper said nothing of its end"
        self._lost = False
        self._conclude(Vanished(self._why or reason, self._loop.time() - self._began, left))
        return await self.next()

    # to the caller

    def _print(self, stream: StreamName, data: bytes) -> None:
        self._last_output = self._loop.time()
        self._happen(Printed(stream, data))

    def _conclude(self, word: LastWord) -> None:
        self._happen(word if self.beyond is None else self.beyond.conclude(word))

    def _happen(self, happening: Happening) -> None:
        self._happened.append(happening)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Stillborn:
    """A run that never was: it could not even be asked for, or was called off before."""

    last_output = 0.0
    listening = False

    def __init__(self, word: LastWord) -> None:
        self._word = word

    async def next(self) -> LastWord:
        return self._word

    def cancel(self) -> None: ...

    def close(self) -> None: ...

    def let_go(self) -> None: ...

    def pause(self) -> list[Printed]:
        return []

    def resume(self) -> None: ...


async def start(plan: Plan, state: int | None = None, folder: Folder | None = None) -> LiveRun | Stillborn:
    """Hand a plan to the keeper. `state` is a file for the shell's last directory and environment, `folder` that of a
    task.

    What is lacking for it just now, descriptors most likely, is the run's first and last word. KeeperFailed: no keeper
    can be had at all.
    """
    while True:
        try:
            keeper = keepers.client()
        except KeeperFailed as error:
            if error.lack:
                return Stillborn(NeverBegan(error.lack, os.strerror(error.lack)))
            raise
        try:
            asked = keeper.start(plan, state, folder)
        except BlockingIOError:
            await asyncio.sleep(_BUSY)
        except ConnectionError:
            keeper.bury()  # it died since the last run: the next one will do, and what it kept ends with it
            await end_orphans(keeper.prefix, keeper.last_tag)
        except OSError as error:
            return Stillborn(NeverBegan(error.errno or 0, error.strerror or str(error)))
        else:
            return LiveRun(keeper, asked, plan)
