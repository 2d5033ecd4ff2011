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

from nacre.base.system import LINUX
from nacre.base.threads import beside
from nacre.keeper.client import connection as keepers
from nacre.keeper.client.connection import Asked, Folder, remove_empty
from nacre.keeper.client.events import (
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
from nacre.keeper.client.handle import Beyond, Stillborn
from nacre.keeper.client.orphans import end_orphans, kill_orphans
from nacre.keeper.client.pipe_reader import Intake
from nacre.keeper.client.request import Asking
from nacre.keeper.protocol.ending import ENDER, GIVE_UP
from nacre.keeper.protocol.messages import CANCEL, Adoption
from nacre.keeper.protocol.private_tmpdir import remove_tree
from nacre.keeper.protocol.procfs import computed, is_ending, look
from nacre.result import StreamName
from nacre.types import Plan

_DYING = 0.02
_KEEPER_LATE = 10.0
"""Seconds after which a keeper that should have ended a run counts as dead (somebody stopped it)."""
_STARVED_ROUNDS = 30
"""How often that time is given again to a keeper that is at work: a storm of processes may leave it next to none."""


class LiveRun:
    def __init__(self, asked: Asked, plan: Plan, asking: Asking) -> None:
        self._loop = asyncio.get_running_loop()
        self._asking = asking
        """For as long as nobody has heard of it."""
        self._apart = plan.apart
        self._pid: int | None = None
        self._names: tuple[StreamName, ...] = ("stdout",) if plan.merge else ("stdout", "stderr")
        self._intake = Intake(self._loop, self._print)
        self._happened: deque[Happening] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._lock = threading.RLock()
        self._closed = False
        self._asked = False
        """Whether it can be made a task."""
        self._adoption: tuple[Adoption, int] | None = None
        """That question, until it is withdrawn."""
        self._recorded = plan.background
        """It is one from the start: its output is none of ours."""
        self._lost = False
        self._alone = False
        """Lost, and nothing else is."""
        self._unheard = False
        """Lost before anybody had heard of it."""
        self._why = ""
        """If not because of the keeper."""
        self.beyond: Beyond | None = None
        """What it is the near end of."""
        self._bound = plan.timeout + plan.grace + (ENDER if plan.ender else 0) + GIVE_UP + _KEEPER_LATE
        self._watchdog: asyncio.TimerHandle | None = None
        self._rounds = 0
        self._computed = -1.0
        """The computing of its keeper when it was last found late."""
        self._attend(asked)
        keepers.enlist(self)

    def _attend(self, asked: Asked) -> None:
        """Listen to what is told of it from now on."""
        self._keeper, self._control, self._tag, self._private = asked
        self._own_keeper = 0
        """The process that keeps it, if that is not the host's one keeper."""
        self._listening = True
        self._hearing = True
        """There is more to be heard on its channel, after its last word too: what becomes of what it left running."""
        self._began = self._last_output = self._loop.time()
        self._loop.add_reader(self._control.fileno(), self._hear)
        if self._watchdog is not None:
            self._watchdog.cancel()
        if self._bound < threading.TIMEOUT_MAX:
            self._watchdog = self._loop.call_later(self._bound, self._overdue)

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
            if self._heard_of or not (self._listening or self._unheard):
                return False
            self._asked = True  # whoever hears of it then is asked
        else:
            self._listen_again()
        self._adoption = adoption, folder
        return True

    def withdraw_adoption(self) -> None:
        """An answer that comes all the same is none."""
        self._adoption = None

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
                # said, not only meant: a process that this one forked may hold the channel open
                heard = self._say_cancel()
                if heard and not self._loop.is_closed():
                    self._loop.call_later(_DYING, self._see_it_off)
                else:
                    self._see_it_off()
            if not self._loop.is_closed():
                self._loop.remove_reader(self._control.fileno())
                if self._watchdog is not None:
                    self._watchdog.cancel()
            self._control.close()
            self._intake.close()
            if self._private and self._lost:
                remove_tree(self._private)
            elif self._private and not self._heard_of and not self._keeper.alive:
                remove_empty(self._private)
            if self.beyond is not None:
                self.beyond.close()

    def _see_it_off(self) -> None:
        """Who was told to end it may have been killed, and have taken the message all the same."""
        if not self._keeper.alive:
            self._keeper.bury()
            if self._own_keeper and LINUX and is_ending(self._own_keeper):
                kill_orphans(self._tag, self._tag)
                if self._private:
                    remove_tree(self._private)

    def _say_cancel(self) -> bool:
        """False: there is nobody who would hear it."""
        self._asking.called_off = True
        if self.beyond is not None:
            self.beyond.cancel()
        try:
            self._control.send(CANCEL)
        except OSError:
            return False
        finally:
            self.wake_keeper()
        return True

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
        alive = self._keeper.alive
        handed = self._own_keeper != 0
        self._unheard = self._listening and not self._heard_of and (handed or not alive)
        if not self._unheard:
            self._answer_late()
        if not self._listening:
            return  # it had ended
        if self._heard_of:
            self._lose(alone=self._apart or alive)
        elif alive and not handed:
            self._fail(errno.EMFILE, "the keeper has no descriptor left for it")
        else:
            self._lose(alone=alive)

    @property
    def _heard_of(self) -> bool:
        """It may have begun. A task may have without a word, once it was handed over to a keeper of its own."""
        return self._pid is not None or (self._recorded and self._own_keeper != 0)

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
            case [b"failed", number, reason] if self._asked and self._pid is not None:
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
            self._answer_late()
            self._conclude(NeverBegan(number, reason))

    def _answer(self, answer: Adopted | NotAdopted) -> None:
        self._asked = False
        self._happen(answer)

    def _answer_late(self) -> None:
        """There is nobody left who could."""
        if self._asked:
            self._answer(NotAdopted("it has ended", gone=True))

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
            if self._listening and self._keeper_works():
                self._watchdog = self._loop.call_later(_KEEPER_LATE, self._overdue)
                return
            self._lose(alone=self._apart, why="nacre's keeper did not end it in time" if self._apart else "")

    def _keeper_works(self) -> bool:
        """Whether its keeper is late because it gets no processor, rather than stopped or stuck."""
        pid = self._own_keeper or self._keeper.pid
        seen = look(pid) if LINUX else None  # none where /proc hides it (hidepid)
        if not LINUX or self._rounds >= _STARVED_ROUNDS or (seen is not None and seen.state in "TtZX"):
            return False
        self._rounds += 1
        before = self._computed
        try:
            self._computed = computed(pid)
        except OSError:
            return False
        return self._computed != before or (seen is not None and seen.state == "R")

    def _lose(self, *, alone: bool, why: str = "") -> None:
        """The keeper is gone without a word about this run, or does not answer in time; or `why`. `alone`: what else it
        keeps is well."""
        if self._listening and not self._closed:
            self._stop_listening()
            self._signal_own_keeper(signal.SIGKILL)
            if alone:
                kill_orphans(self._tag, self._tag)
            else:
                self._keeper.bury()
            self._alone, self._why = alone, why
            self._lost = True
            self._wake()

    async def _clean_up(self) -> Happening:
        first, last = (self._tag, self._tag) if self._alone else (self._keeper.prefix, self._keeper.last_tag)
        left = await end_orphans(first, last, self._pid)
        if self._private:
            await beside(remove_tree, self._private)  # whoever was to keep it is dead, or has never heard of it
        stumbled = bool(self._keeper.last_words)  # what has made one do so would make the next
        if self._unheard and not stumbled and await self._ask_again():
            return await self.next()
        self._answer_late()
        self._intake.drain()
        self._keeper.check_fitness()
        reason = "nacre's keeper said nothing of its end" if self._alone and not self._apart else self._keeper.fate
        self._lost = self._unheard = False
        self._conclude(Vanished(self._why or reason, self._loop.time() - self._began, left))
        return await self.next()

    async def _ask_again(self) -> bool:
        """Whether there is more to be heard of it."""
        asked = await self._asking.ask_again()
        if asked is None:
            return False
        with self._lock:
            self._lost = self._unheard = False
            if not isinstance(asked, Asked):
                self._answer_late()
                self._conclude(asked)
                return True
            self._control.close()
            self._attend(asked)
            if self._asking.called_off:
                self._say_cancel()
            elif self._adoption is not None:
                self.ask_adoption(*self._adoption)
            return True

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


async def start(plan: Plan, state: int | None = None, folder: Folder | None = None) -> LiveRun | Stillborn:
    """Hand a plan to the keeper. `state` is a file for the shell's last directory and environment, `folder` that of a
    task.

    What is lacking for it just now, descriptors most likely, is the run's first and last word. KeeperFailed: no keeper
    can be had at all.
    """
    asking = Asking(plan, state, folder)
    asked = await asking.ask()
    return LiveRun(asked, plan, asking) if isinstance(asked, Asked) else Stillborn(asked)
