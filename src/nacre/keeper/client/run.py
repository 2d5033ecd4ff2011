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
from nacre.base.threads import run_in_thread
from nacre.keeper.client import connection as keepers
from nacre.keeper.client.connection import PendingRun, TaskDirHandle, remove_empty
from nacre.keeper.client.events import (
    Adopted,
    AdoptionFailed,
    FinalEvent,
    KeeperLost,
    OutputChunk,
    RunEvent,
    ShellStarted,
    StartFailed,
    TaskRunning,
    parse_stopped,
)
from nacre.keeper.client.handle import RemoteEnd, UnstartedRun
from nacre.keeper.client.orphans import kill_orphans, kill_tagged_orphans
from nacre.keeper.client.pipe_reader import PipeReader
from nacre.keeper.client.request import RunRequest
from nacre.keeper.protocol.ending import KILL_SCRIPT_TIMEOUT_S, UNKILLABLE_AFTER_S
from nacre.keeper.protocol.messages import CANCEL, AdoptMessage
from nacre.keeper.protocol.private_tmpdir import remove_tree
from nacre.keeper.protocol.procfs import cpu_seconds, is_exiting, read_process
from nacre.result import StreamName
from nacre.types import Plan

_ENSURE_KILLED_DELAY_S = 0.02
_KEEPER_TIMEOUT_S = 10.0
"""Seconds after which a keeper that should have ended a run counts as dead (somebody stopped it)."""
_MAX_STARVED_RETRIES = 30
"""How often that time is given again to a keeper that is at work: a storm of processes may leave it next to none."""


class LocalRun:
    def __init__(self, pending: PendingRun, plan: Plan, request: RunRequest) -> None:
        self._loop = asyncio.get_running_loop()
        self._request = request
        """For as long as nobody has heard of it."""
        self._dedicated_keeper = plan.dedicated_keeper
        self._pid: int | None = None
        self._names: tuple[StreamName, ...] = ("stdout",) if plan.merge else ("stdout", "stderr")
        self._pipe_reader = PipeReader(self._loop, self._print)
        self._events: deque[RunEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._lock = threading.RLock()
        self._closed = False
        self._adoption_reply = False
        """Whether it can be made a task."""
        self._adoption: tuple[AdoptMessage, int] | None = None
        """That question, until it is withdrawn."""
        self._recorded = plan.background
        """It is one from the start: its output is none of ours."""
        self._lost = False
        self._lost_run_only = False
        """Lost, and nothing else is."""
        self._lost_before_start = False
        """Lost before anybody had heard of it."""
        self._loss_reason = ""
        """If not because of the keeper."""
        self.remote_end: RemoteEnd | None = None
        """What it is the near end of."""
        self._bound = (
            plan.timeout
            + plan.grace
            + (KILL_SCRIPT_TIMEOUT_S if plan.kill_script else 0)
            + UNKILLABLE_AFTER_S
            + _KEEPER_TIMEOUT_S
        )
        self._watchdog: asyncio.TimerHandle | None = None
        self._rounds = 0
        self._keeper_cpu_s = -1.0
        """The computing of its keeper when it was last found late."""
        self._listen(pending)
        keepers.register_run(self)

    def _listen(self, pending: PendingRun) -> None:
        """Listen to what is told of it from now on."""
        self._keeper, self._control, self._tag, self._private = pending
        self._own_keeper = 0
        """The process that keeps it, if that is not the host's one keeper."""
        self._listening = True
        self._hearing = True
        """There is more to be heard on its channel, after its last word too: what becomes of what it left running."""
        self._has_started = self._last_output = self._loop.time()
        self._loop.add_reader(self._control.fileno(), self._on_readable)
        if self._watchdog is not None:
            self._watchdog.cancel()
        if self._bound < threading.TIMEOUT_MAX:
            self._watchdog = self._loop.call_later(self._bound, self._on_keeper_timeout)

    # for the caller

    async def next(self) -> RunEvent:
        while not self._events:
            if self._lost:
                return await self._recover()
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        happening = self._events.popleft()
        if isinstance(happening, OutputChunk):
            self._pipe_reader.mark_consumed(len(happening.data))
        return happening

    @property
    def last_output(self) -> float:
        """Seconds from its start to the last that it printed."""
        return self._last_output - self._has_started

    @property
    def has_started(self) -> bool:
        """Its process here was seen to start."""
        return self._pid is not None

    @property
    def is_active(self) -> bool:
        """No last word has been heard yet."""
        return self._listening

    def pause(self) -> list[OutputChunk]:
        """Read no more; gives what was read and not taken yet. What is not read stays, for whoever reads on."""
        self._pipe_reader.pause()
        taken = [happening for happening in self._events if isinstance(happening, OutputChunk)]
        self._events = deque(happening for happening in self._events if not isinstance(happening, OutputChunk))
        self._pipe_reader.mark_consumed(sum(len(printed.data) for printed in taken))
        return taken

    def resume(self) -> None:
        self._pipe_reader.resume()

    def request_adoption(self, adoption: AdoptMessage, folder: int) -> bool:
        """Have it made a task; `Adopted` or `AdoptionFailed` is among what happens next. False: there is nobody to
        ask."""
        try:
            self._control.send(adoption.message(), [folder])
        except OSError:
            if self._may_have_started or not (self._listening or self._lost_before_start):
                return False
            self._adoption_reply = True  # whoever hears of it then is asked
        else:
            self._listen_again()
        self._adoption = adoption, folder
        return True

    def cancel_adoption(self) -> None:
        """An answer that comes all the same is none."""
        self._adoption = None

    def wake_keeper(self) -> None:
        """Somebody may have stopped it."""
        self._signal_own_keeper(signal.SIGCONT)
        self._keeper.resume()

    def detach(self) -> None:
        """Of a task: it needs nobody."""
        self._listening = False
        self.close()

    def cancel(self) -> None:
        """From any thread; the end arrives as usual."""
        with self._lock:
            if not self._closed:
                self._send_cancel()

    def close(self) -> None:
        """Let go. If it still runs, the keeper ends it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._listening:
                # said, not only meant: a process that this one forked may hold the channel open
                heard = self._send_cancel()
                if heard and not self._loop.is_closed():
                    self._loop.call_later(_ENSURE_KILLED_DELAY_S, self._ensure_killed)
                else:
                    self._ensure_killed()
            if not self._loop.is_closed():
                self._loop.remove_reader(self._control.fileno())
                if self._watchdog is not None:
                    self._watchdog.cancel()
            self._control.close()
            self._pipe_reader.close()
            if self._private and self._lost:
                remove_tree(self._private)
            elif self._private and not self._may_have_started and not self._keeper.alive:
                remove_empty(self._private)
            if self.remote_end is not None:
                self.remote_end.close()

    def _ensure_killed(self) -> None:
        """Who was told to end it may have been killed, and have taken the message all the same."""
        if not self._keeper.alive:
            self._keeper.handle_death()
            if self._own_keeper and LINUX and is_exiting(self._own_keeper):
                kill_orphans(self._tag, self._tag)
                if self._private:
                    remove_tree(self._private)

    def _send_cancel(self) -> bool:
        """False: there is nobody who would hear it."""
        self._request.cancelled = True
        if self.remote_end is not None:
            self.remote_end.cancel()
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

    def close_after_fork(self) -> None:
        """In a forked child: the run goes on in the parent."""
        self._closed = True
        self._control.close()
        self._pipe_reader.close(forked=True)

    # from the keeper

    def _on_readable(self) -> None:
        try:
            while self._hearing and (message := self._control.receive()) is not None:
                self._dispatch(message[0].split(b"\0"), message[1])
        except EOFError:
            self._hearing = False
            self._loop.remove_reader(self._control.fileno())
            # A dying keeper's descriptors close one after another: look at the main one when all are.
            self._loop.call_later(_ENSURE_KILLED_DELAY_S, self._on_channel_closed)

    def _on_channel_closed(self) -> None:
        """The keeper has closed this run's channel without a last word."""
        alive = self._keeper.alive
        handed = self._own_keeper != 0
        self._lost_before_start = self._listening and not self._may_have_started and (handed or not alive)
        if not self._lost_before_start:
            self._fail_adoption()
        if not self._listening:
            return  # it had ended
        if self._may_have_started:
            self._mark_lost(alone=self._dedicated_keeper or alive)
        elif alive and not handed:
            self._fail(errno.EMFILE, "the keeper has no descriptor left for it")
        else:
            self._mark_lost(alone=alive)

    @property
    def _may_have_started(self) -> bool:
        """It may have begun. A task may have without a word, once it was handed over to a keeper of its own."""
        return self._pid is not None or (self._recorded and self._own_keeper != 0)

    def _dispatch(self, fields: Sequence[bytes], fds: Sequence[int]) -> None:
        match fields:
            case [b"handed", keeper]:
                self._own_keeper = int(keeper)
            case [b"started", pid, keeper]:
                self._own_keeper = int(keeper) if self._dedicated_keeper else 0
                self._start_reading(int(pid), fds)
            case [b"going"]:
                self._emit(TaskRunning())
            case [b"adopted", pid, pgid]:
                self._answer(Adopted(int(pid), int(pgid)))
            case [b"failed", number, reason] if self._adoption_reply and self._pid is not None:
                gone = int(number) == errno.ESRCH
                self._answer(AdoptionFailed(reason.decode("utf-8", "replace"), gone=gone))
            case [b"failed", number, reason]:
                self._fail(int(number), reason.decode("utf-8", "replace"))
            case [b"ended", *account]:
                self._listening = False
                if not self._adoption_reply:
                    self._stop_listening()
                self._pipe_reader.drain()
                self._emit_final(parse_stopped(account))
            case _:
                raise AssertionError(f"the keeper said {fields[0]!r}")

    def _start_reading(self, pid: int, fds: Sequence[int]) -> None:
        self._pid = pid
        if self._recorded:
            self._emit(ShellStarted(pid))
            return
        if len(fds) < len(self._names):  # another thread has taken those that were kept for it
            for fd in fds:
                os.close(fd)
            self._mark_lost(alone=True, why="this process had no descriptor left for its output")
            return
        self._emit(ShellStarted(pid))
        self._pipe_reader.open(dict(zip(fds, self._names, strict=True)))

    def _fail(self, number: int, reason: str) -> None:
        if not self._closed:
            self._stop_listening()
            self._fail_adoption()
            self._emit_final(StartFailed(number, reason))

    def _answer(self, answer: Adopted | AdoptionFailed) -> None:
        self._adoption_reply = False
        self._emit(answer)

    def _fail_adoption(self) -> None:
        """There is nobody left who could."""
        if self._adoption_reply:
            self._answer(AdoptionFailed("it has ended", gone=True))

    def _listen_again(self) -> None:
        self._adoption_reply = True
        if not self._hearing:
            self._hearing = True
            self._loop.add_reader(self._control.fileno(), self._on_readable)

    def _stop_listening(self) -> None:
        self._listening = self._hearing = False
        self._loop.remove_reader(self._control.fileno())

    def _on_keeper_timeout(self) -> None:
        """The keeper should have ended it long ago. Unless it was this event loop that stood still."""
        if not self._closed:
            self._on_readable()
            if self._listening and self._is_keeper_starved():
                self._watchdog = self._loop.call_later(_KEEPER_TIMEOUT_S, self._on_keeper_timeout)
                return
            self._mark_lost(
                alone=self._dedicated_keeper,
                why="nacre's keeper did not end it in time" if self._dedicated_keeper else "",
            )

    def _is_keeper_starved(self) -> bool:
        """Whether its keeper is late because it gets no processor, rather than stopped or stuck."""
        pid = self._own_keeper or self._keeper.pid
        seen = read_process(pid) if LINUX else None  # none where /proc hides it (hidepid)
        if not LINUX or self._rounds >= _MAX_STARVED_RETRIES or (seen is not None and seen.state in "TtZX"):
            return False
        self._rounds += 1
        before = self._keeper_cpu_s
        try:
            self._keeper_cpu_s = cpu_seconds(pid)
        except OSError:
            return False
        return self._keeper_cpu_s != before or (seen is not None and seen.state == "R")

    def _mark_lost(self, *, alone: bool, why: str = "") -> None:
        """The keeper is gone without a word about this run, or does not answer in time; or `why`. `alone`: what else it
        keeps is well."""
        if self._listening and not self._closed:
            self._stop_listening()
            self._signal_own_keeper(signal.SIGKILL)
            if alone:
                kill_orphans(self._tag, self._tag)
            else:
                self._keeper.handle_death()
            self._lost_run_only, self._loss_reason = alone, why
            self._lost = True
            self._wake()

    async def _recover(self) -> RunEvent:
        first, last = (self._tag, self._tag) if self._lost_run_only else (self._keeper.prefix, self._keeper.last_tag)
        left = await kill_tagged_orphans(first, last, self._pid)
        if self._private:
            await run_in_thread(remove_tree, self._private)  # whoever was to keep it is dead, or has never heard of it
        stumbled = bool(self._keeper.stderr_tail)  # what has made one do so would make the next
        if self._lost_before_start and not stumbled and await self._resubmit():
            return await self.next()
        self._fail_adoption()
        self._pipe_reader.drain()
        self._keeper.raise_if_unsupported()
        reason = (
            "nacre's keeper said nothing of its end"
            if self._lost_run_only and not self._dedicated_keeper
            else self._keeper.death_reason
        )
        self._lost = self._lost_before_start = False
        self._emit_final(KeeperLost(self._loss_reason or reason, self._loop.time() - self._has_started, left))
        return await self.next()

    async def _resubmit(self) -> bool:
        """Whether there is more to be heard of it."""
        asked = await self._request.resubmit()
        if asked is None:
            return False
        with self._lock:
            self._lost = self._lost_before_start = False
            if not isinstance(asked, PendingRun):
                self._fail_adoption()
                self._emit_final(asked)
                return True
            self._control.close()
            self._listen(asked)
            if self._request.cancelled:
                self._send_cancel()
            elif self._adoption is not None:
                self.request_adoption(*self._adoption)
            return True

    # to the caller

    def _print(self, stream: StreamName, data: bytes) -> None:
        self._last_output = self._loop.time()
        self._emit(OutputChunk(stream, data))

    def _emit_final(self, word: FinalEvent) -> None:
        self._emit(word if self.remote_end is None else self.remote_end.translate_end(word))

    def _emit(self, happening: RunEvent) -> None:
        self._events.append(happening)
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


async def start(plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None) -> LocalRun | UnstartedRun:
    """Hand a plan to the keeper. `state` is a file for the shell's last directory and environment, `folder` that of a
    task.

    What is lacking for it just now, descriptors most likely, is the run's first and last word. KeeperFailed: no keeper
    can be had at all.
    """
    request = RunRequest(plan, state, folder)
    pending = await request.submit()
    return LocalRun(pending, plan, request) if isinstance(pending, PendingRun) else UnstartedRun(pending)
