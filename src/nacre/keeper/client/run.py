"""The host's end of a run: requested, started, printing, ended. Belongs to one call and its event loop.

The run ends when its shell exits. `close` before that kills it: one non-blocking step, nothing to await.
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
from typing import assert_never

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
    stopped_event,
)
from nacre.keeper.client.handle import RemoteEnd, UnstartedRun
from nacre.keeper.client.orphans import kill_orphans, kill_tagged_orphans
from nacre.keeper.client.pipe_reader import PipeReader
from nacre.keeper.client.request import RunRequest
from nacre.keeper.protocol.ending import KILL_SCRIPT_TIMEOUT_S, UNKILLABLE_AFTER_S
from nacre.keeper.protocol.messages import CANCEL, AdoptMessage
from nacre.keeper.protocol.private_tmpdir import remove_tree
from nacre.keeper.protocol.procfs import cpu_seconds, is_exiting, read_process
from nacre.keeper.protocol.replies import (
    AdoptedReply,
    AssignedReply,
    EndedReply,
    FailedReply,
    Reply,
    RunningReply,
    StartedReply,
    parse_reply,
)
from nacre.result import StreamName
from nacre.types import Plan

_ENSURE_KILLED_DELAY_S = 0.02
_KEEPER_TIMEOUT_S = 10.0
"""Seconds after which a keeper that should have killed a run counts as dead (another process stopped it)."""
_MAX_STARVED_RETRIES = 30
"""Extensions of that time for a keeper that works but gets little CPU time: a process storm may leave it almost
none."""


class LocalRun:
    def __init__(self, pending: PendingRun, plan: Plan, request: RunRequest) -> None:
        self._loop = asyncio.get_running_loop()
        self._request = request
        """Repeats the request if the keeper dies before it starts the run."""
        self._dedicated_keeper = plan.dedicated_keeper
        self._pid: int | None = None
        self._names: tuple[StreamName, ...] = ("stdout",) if plan.merge else ("stdout", "stderr")
        self._pipe_reader = PipeReader(self._loop, self._print)
        self._events: deque[RunEvent] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._lock = threading.RLock()
        self._closed = False
        self._adoption_reply = False
        """An adoption request is open; its answer comes as an event."""
        self._adoption: tuple[AdoptMessage, int] | None = None
        """The open request, kept until `cancel_adoption` to send it again."""
        self._recorded = plan.background
        """A task from the start: its keeper reads the output."""
        self._lost = False
        self._lost_run_only = False
        """Only this run was lost, not its keeper's other runs."""
        self._lost_before_start = False
        """Lost before it can have started."""
        self._loss_reason = ""
        """Reason of the loss, if not the keeper's death."""
        self.remote_end: RemoteEnd | None = None
        """The remote end, if the local process is an engine's client."""
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
        """CPU time of the keeper in seconds when it was last found late."""
        self._listen(pending)
        keepers.register_run(self)

    def _listen(self, pending: PendingRun) -> None:
        """Take the run's channel and wait for its messages."""
        self._keeper, self._control, self._tag, self._private = pending
        self._own_keeper = 0
        """PID of the dedicated keeper that has the run; 0: the host's keeper has it."""
        self._listening = True
        self._hearing = True
        """More messages may come. Even after the end: answers on the adoption of leftovers."""
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
        """Seconds from the start to the last output."""
        return self._last_output - self._has_started

    @property
    def has_started(self) -> bool:
        """Whether the local process was reported as started."""
        return self._pid is not None

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended yet."""
        return self._listening

    def pause(self) -> list[OutputChunk]:
        """Stop reading output; return the chunks that were read but not returned by `next`. The rest stays in the pipes
        for the next reader."""
        self._pipe_reader.pause()
        taken = [happening for happening in self._events if isinstance(happening, OutputChunk)]
        self._events = deque(happening for happening in self._events if not isinstance(happening, OutputChunk))
        self._pipe_reader.mark_consumed(sum(len(printed.data) for printed in taken))
        return taken

    def resume(self) -> None:
        self._pipe_reader.resume()

    def request_adoption(self, adoption: AdoptMessage, folder: int) -> bool:
        """Ask the keeper to make the run a task; `Adopted` or `AdoptionFailed` follows as an event. Returns False if no
        keeper can do it any more."""
        try:
            self._control.send(adoption.message(), [folder])
        except OSError:
            if self._may_have_started or not (self._listening or self._lost_before_start):
                return False
            self._adoption_reply = True  # sent again with the next request
        else:
            self._listen_again()
        self._adoption = adoption, folder
        return True

    def cancel_adoption(self) -> None:
        """Ignore an answer that still comes."""
        self._adoption = None

    def wake_keeper(self) -> None:
        """Send SIGCONT to its keepers: another process may have stopped them."""
        self._signal_own_keeper(signal.SIGCONT)
        self._keeper.resume()

    def detach(self) -> None:
        """Release a task without killing it."""
        self._listening = False
        self.close()

    def cancel(self) -> None:
        """Kill the run; callable from any thread. The final event follows as usual."""
        with self._lock:
            if not self._closed:
                self._send_cancel()

    def close(self) -> None:
        """Release the run; if it is still active, the keeper kills it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._listening:
                # send it: closing is not enough, as a process forked by this one may hold the channel open
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
        """Kill the run if its keeper was killed after it received the cancel message."""
        if not self._keeper.alive:
            self._keeper.handle_death()
            if self._own_keeper and LINUX and is_exiting(self._own_keeper):
                kill_orphans(self._tag, self._tag)
                if self._private:
                    remove_tree(self._private)

    def _send_cancel(self) -> bool:
        """Send the cancel message. Returns False if the keeper is gone."""
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
        """Release the copy in a forked child: the run continues in the parent."""
        self._closed = True
        self._control.close()
        self._pipe_reader.close(forked=True)

    # from the keeper

    def _on_readable(self) -> None:
        try:
            while self._hearing and (message := self._control.receive()) is not None:
                self._dispatch(parse_reply(message[0]), message[1])
        except EOFError:
            self._hearing = False
            self._loop.remove_reader(self._control.fileno())
            # A dying keeper closes its descriptors one after another: check the main one when all are closed.
            self._loop.call_later(_ENSURE_KILLED_DELAY_S, self._on_channel_closed)

    def _on_channel_closed(self) -> None:
        """Handle a channel that the keeper has closed without reporting the end."""
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
            self._fail(errno.EMFILE, "the keeper is out of file descriptors")
        else:
            self._mark_lost(alone=alive)

    @property
    def _may_have_started(self) -> bool:
        """Whether the run may have started. A task in a dedicated keeper starts even if nothing was reported."""
        return self._pid is not None or (self._recorded and self._own_keeper != 0)

    def _dispatch(self, reply: Reply, fds: Sequence[int]) -> None:
        match reply:
            case AssignedReply():
                self._own_keeper = reply.keeper
            case StartedReply():
                self._own_keeper = reply.keeper if self._dedicated_keeper else 0
                self._start_reading(reply.pid, fds)
            case RunningReply():
                self._emit(TaskRunning())
            case AdoptedReply():
                self._answer(Adopted(reply.pid, reply.pgid))
            case FailedReply() if self._adoption_reply and self._pid is not None:
                self._answer(AdoptionFailed(reply.reason, gone=reply.errno == errno.ESRCH))
            case FailedReply():
                self._fail(reply.errno, reply.reason)
            case EndedReply():
                self._listening = False
                if not self._adoption_reply:
                    self._stop_listening()
                self._pipe_reader.drain()
                self._emit_final(stopped_event(reply))
            case _:
                assert_never(reply)

    def _start_reading(self, pid: int, fds: Sequence[int]) -> None:
        self._pid = pid
        if self._recorded:
            self._emit(ShellStarted(pid))
            return
        if len(fds) < len(self._names):  # another thread took the descriptors reserved for it
            for fd in fds:
                os.close(fd)
            self._mark_lost(alone=True, why="this process was out of file descriptors for its output")
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
        """Answer an open adoption request with a failure: no process can fulfil it any more."""
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
        """Mark the run as lost: its keeper should have killed it long ago. Reads messages first, in case this event
        loop stood still."""
        if not self._closed:
            self._on_readable()
            if self._listening and self._is_keeper_starved():
                self._watchdog = self._loop.call_later(_KEEPER_TIMEOUT_S, self._on_keeper_timeout)
                return
            self._mark_lost(
                alone=self._dedicated_keeper,
                why="nacre's keeper did not kill it in time" if self._dedicated_keeper else "",
            )

    def _is_keeper_starved(self) -> bool:
        """Return whether the keeper is late because it gets no CPU time, not because it is stopped or stuck."""
        pid = self._own_keeper or self._keeper.pid
        seen = read_process(pid) if LINUX else None  # None where /proc hides it (hidepid)
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
        """Give up the run: its keeper died or is late, or for the reason `why`. `alone`: the keeper's other runs are
        fine."""
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
            await run_in_thread(remove_tree, self._private)  # its keeper is dead or never got it
        stumbled = bool(self._keeper.stderr_tail)  # a crash that this run caused would repeat in the next keeper
        if self._lost_before_start and not stumbled and await self._resubmit():
            return await self.next()
        self._fail_adoption()
        self._pipe_reader.drain()
        self._keeper.raise_if_unsupported()
        reason = (
            "nacre's keeper did not report how it ended"
            if self._lost_run_only and not self._dedicated_keeper
            else self._keeper.death_reason
        )
        self._lost = self._lost_before_start = False
        self._emit_final(KeeperLost(self._loss_reason or reason, self._loop.time() - self._has_started, left))
        return await self.next()

    async def _resubmit(self) -> bool:
        """Request the run again. Returns whether further events follow."""
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
    """Hand a plan to the keeper and return the run.

    `state`: file for the shell's final working directory and environment. `folder`: directory of a task. A temporary
    shortage, most likely of file descriptors, gives a run that has failed. KeeperFailed: no keeper can be started at
    all.
    """
    request = RunRequest(plan, state, folder)
    pending = await request.submit()
    return LocalRun(pending, plan, request) if isinstance(pending, PendingRun) else UnstartedRun(pending)
