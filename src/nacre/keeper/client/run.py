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
from collections.abc import Sequence
from typing import assert_never

from nacre.base.system import LINUX
from nacre.base.threads import run_in_thread
from nacre.keeper.client import connection as keepers
from nacre.keeper.client.connection import PendingRun, TaskDirHandle, remove_empty
from nacre.keeper.client.event_queue import EventQueue
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
from nacre.keeper.client.reply_reader import ReplyReader
from nacre.keeper.client.request import RunRequest
from nacre.keeper.client.run_phase import ACTIVE, TRANSITIONS, AdoptionRequest, Loss, LossScope, RunPhase
from nacre.keeper.client.watchdog import Watchdog
from nacre.keeper.protocol.messages import CANCEL, AdoptMessage
from nacre.keeper.protocol.private_tmpdir import remove_tree
from nacre.keeper.protocol.procfs import is_exiting
from nacre.keeper.protocol.replies import (
    AdoptedReply,
    AssignedReply,
    EndedReply,
    FailedReply,
    Reply,
    RunningReply,
    StartedReply,
)
from nacre.result import StreamName
from nacre.types import Plan

_ENSURE_KILLED_DELAY_S = 0.02


class LocalRun:
    """A run of a keeper on this machine, as the host sees it."""

    def __init__(self, pending: PendingRun, request: RunRequest) -> None:
        self._loop = asyncio.get_running_loop()
        self._request = request
        """Repeats the request if the keeper dies before it starts the run."""
        self._phase = RunPhase.SUBMITTED
        self._loss: Loss | None = None
        """Set while the run is lost."""
        self._adoption: AdoptionRequest | None = None
        """Its answer comes as an event."""
        self._pid: int | None = None
        self._own_keeper = 0
        """PID of the dedicated keeper that has the run; 0: the host's keeper has it."""
        self._events = EventQueue(self._loop)
        self._pipe_reader = PipeReader(self._loop, self._print)
        self._replies = ReplyReader(self._loop, self._dispatch, self._on_channel_closed)
        self._watchdog = Watchdog(self._loop, request.plan, self._on_keeper_timeout)
        self._lock = threading.RLock()
        self.remote_end: RemoteEnd | None = None
        """The remote end, if the local process is an engine's client."""
        self._listen(pending)
        keepers.register_run(self)

    def _listen(self, pending: PendingRun) -> None:
        """Take the run's channel and wait for its messages."""
        self._pending = pending
        self._own_keeper = 0
        self._replies.open(pending.control)
        self._watchdog.start()

    def _set_phase(self, phase: RunPhase) -> None:
        assert phase in TRANSITIONS[self._phase], f"{self._phase} to {phase}"
        self._phase = phase
        if phase is not RunPhase.LOST:
            self._loss = None

    # for the caller

    async def next(self) -> RunEvent:
        while not self._events:
            if self._loss is not None:
                return await self._recover(self._loss)
            await self._events.wait()
        event = self._events.take()
        if isinstance(event, OutputChunk):
            self._pipe_reader.mark_consumed(len(event.data))
        return event

    @property
    def last_output(self) -> float:
        """Seconds from the start to the last output."""
        return max(0.0, self._pipe_reader.last_read_at - self._watchdog.started_at)

    @property
    def has_started(self) -> bool:
        """Whether the local process was reported as started."""
        return self._pid is not None

    @property
    def is_active(self) -> bool:
        """Whether the run has not ended yet."""
        return self._phase in ACTIVE

    def pause(self) -> list[OutputChunk]:
        """Stop reading output; return the chunks that were read but not returned by `next`. The rest stays in the pipes
        for the next reader."""
        self._pipe_reader.pause()
        output = self._events.take_output()
        self._pipe_reader.mark_consumed(sum(len(chunk.data) for chunk in output))
        return output

    def resume(self) -> None:
        self._pipe_reader.resume()

    def request_adoption(self, adoption: AdoptMessage, folder: int) -> bool:
        """Ask the keeper to make the run a task; `Adopted` or `AdoptionFailed` follows as an event. Returns False if no
        keeper can do it any more."""
        if self._phase is not RunPhase.LOST and self._replies.send(adoption.message(), [folder]):
            self._replies.start()
        elif not self._may_be_resubmitted:
            return False
        self._adoption = AdoptionRequest(adoption, folder)
        return True

    def cancel_adoption(self) -> None:
        """Ignore an answer that still comes."""
        if self._adoption is not None:
            self._adoption = self._adoption._replace(is_cancelled=True)

    def wake_keeper(self) -> None:
        """Send SIGCONT to its keepers: another process may have stopped them."""
        self._signal_own_keeper(signal.SIGCONT)
        self._pending.keeper.resume()

    def detach(self) -> None:
        """Release a task without killing it."""
        self._release(kill=False)

    def cancel(self) -> None:
        """Kill the run; callable from any thread. The final event follows as usual."""
        with self._lock:
            if self._phase is not RunPhase.CLOSED:
                self._send_cancel()

    def close(self) -> None:
        """Release the run; if it is still active, the keeper kills it."""
        self._release(kill=True)

    def _release(self, *, kill: bool) -> None:
        with self._lock:
            before = self._phase
            if before is RunPhase.CLOSED:
                return
            self._set_phase(RunPhase.CLOSED)
            if kill and before in ACTIVE:
                # send it: closing is not enough, as a process forked by this one may hold the channel open
                heard = self._send_cancel()
                if heard and not self._loop.is_closed():
                    self._loop.call_later(_ENSURE_KILLED_DELAY_S, self._ensure_killed)
                else:
                    self._ensure_killed()
            if not self._loop.is_closed():
                self._watchdog.stop()
            self._replies.close()
            self._pipe_reader.close()
            private = self._pending.private
            if private and before is RunPhase.LOST:
                remove_tree(private)
            elif private and not self._may_have_started and not self._pending.keeper.alive:
                remove_empty(private)
            if self.remote_end is not None:
                self.remote_end.close()

    def _ensure_killed(self) -> None:
        """Kill the run if its keeper was killed after it received the cancel message."""
        if not self._pending.keeper.alive:
            self._pending.keeper.handle_death()
            if self._own_keeper and LINUX and is_exiting(self._own_keeper):
                kill_orphans(self._pending.tag, self._pending.tag)
                if self._pending.private:
                    remove_tree(self._pending.private)

    def _send_cancel(self) -> bool:
        """Send the cancel message. Returns False if the keeper is gone."""
        self._request.cancelled = True
        if self.remote_end is not None:
            self.remote_end.cancel()
        is_sent = self._replies.send(CANCEL)
        self.wake_keeper()
        return is_sent

    def _signal_own_keeper(self, number: int) -> None:
        if self._own_keeper:
            with contextlib.suppress(OSError):
                os.kill(self._own_keeper, number)

    def close_after_fork(self) -> None:
        """Release the copy in a forked child: the run continues in the parent."""
        if self._phase is not RunPhase.CLOSED:
            self._set_phase(RunPhase.CLOSED)
        self._replies.close(forked=True)
        self._pipe_reader.close(forked=True)

    # from the keeper

    def _on_channel_closed(self) -> None:
        """Handle a channel that the keeper has closed. It may not have reported the end."""
        if not self.is_active:
            self._fail_adoption()
            return
        alive = self._pending.keeper.alive
        if self._may_have_started:
            self._fail_adoption()
            self._mark_lost(Loss(LossScope.RUN if self._request.plan.dedicated_keeper or alive else LossScope.KEEPER))
        elif alive and self._phase is RunPhase.SUBMITTED:
            self._fail(errno.EMFILE, "the keeper is out of file descriptors")
        else:
            self._mark_lost(Loss(LossScope.RUN if alive else LossScope.KEEPER, before_start=True))

    @property
    def _may_have_started(self) -> bool:
        """Whether the run may have started. A task in a dedicated keeper starts even if nothing was reported."""
        return self._pid is not None or (self._request.plan.lifetime == "background" and self._own_keeper != 0)

    @property
    def _may_be_resubmitted(self) -> bool:
        """Whether the run would be requested again if its keeper is dead."""
        if self._loss is not None:
            return self._loss.before_start
        return self.is_active and not self._may_have_started

    def _dispatch(self, reply: Reply, fds: Sequence[int]) -> None:
        match reply:
            case AssignedReply():
                self._own_keeper = reply.keeper
                self._set_phase(RunPhase.HANDED_OVER)
            case StartedReply():
                self._own_keeper = reply.keeper if self._request.plan.dedicated_keeper else 0
                self._set_phase(RunPhase.RUNNING)
                self._start_reading(reply.pid, fds)
            case RunningReply():
                self._events.put(TaskRunning())
            case AdoptedReply():
                self._answer(Adopted(reply.pid, reply.pgid))
            case FailedReply() if self._pid is not None:
                self._answer(AdoptionFailed(reply.reason, gone=reply.errno == errno.ESRCH))
            case FailedReply():
                self._fail(reply.errno, reply.reason)
            case EndedReply():
                self._set_phase(RunPhase.ENDED)
                if self._adoption is None:
                    self._replies.stop()
                self._pipe_reader.drain()
                self._emit_final(stopped_event(reply))
            case _:
                assert_never(reply)

    def _start_reading(self, pid: int, fds: Sequence[int]) -> None:
        self._pid = pid
        plan = self._request.plan
        if plan.lifetime == "background":  # its keeper reads the output
            self._events.put(ShellStarted(pid))
            return
        names: tuple[StreamName, ...] = ("stdout",) if plan.merge else ("stdout", "stderr")
        if len(fds) < len(names):  # another thread took the descriptors reserved for it
            for fd in fds:
                os.close(fd)
            self._mark_lost(Loss(LossScope.RUN, reason="this process was out of file descriptors for its output"))
            return
        self._events.put(ShellStarted(pid))
        self._pipe_reader.open(dict(zip(fds, names, strict=True)))

    def _fail(self, number: int, reason: str) -> None:
        self._set_phase(RunPhase.ENDED)
        self._replies.stop()
        self._fail_adoption()
        self._emit_final(StartFailed(number, reason))

    def _answer(self, answer: Adopted | AdoptionFailed) -> None:
        self._adoption = None
        self._events.put(answer)

    def _fail_adoption(self) -> None:
        """Answer an open adoption request with a failure: no process can fulfil it any more."""
        if self._adoption is not None:
            self._answer(AdoptionFailed("it has ended", gone=True))

    def _on_keeper_timeout(self) -> None:
        """Mark the run as lost: its keeper should have killed it long ago. Reads messages first, in case this event
        loop stood still."""
        if not self.is_active:
            return
        self._replies.read()
        if not self.is_active or self._watchdog.extend_if_starved(self._own_keeper or self._pending.keeper.pid):
            return
        if self._request.plan.dedicated_keeper:
            self._mark_lost(Loss(LossScope.RUN, reason="nacre's keeper did not kill it in time"))
        else:
            self._mark_lost(Loss(LossScope.KEEPER))

    def _mark_lost(self, loss: Loss) -> None:
        """Give up the run: its keeper died or is late, or this process cannot read its output."""
        self._set_phase(RunPhase.LOST)
        self._loss = loss
        self._replies.stop()
        self._signal_own_keeper(signal.SIGKILL)
        if loss.scope is LossScope.RUN:
            kill_orphans(self._pending.tag, self._pending.tag)
        else:
            self._pending.keeper.handle_death()
        self._events.wake()

    async def _recover(self, loss: Loss) -> RunEvent:
        keeper, tag = self._pending.keeper, self._pending.tag
        first, last = (tag, tag) if loss.scope is LossScope.RUN else (keeper.prefix, keeper.last_tag)
        left = await kill_tagged_orphans(first, last, self._pid)
        if self._pending.private:
            await run_in_thread(remove_tree, self._pending.private)  # its keeper is dead or never got it
        stumbled = bool(keeper.stderr_tail)  # a crash that this run caused would repeat in the next keeper
        if loss.before_start and not stumbled and await self._resubmit():
            return await self.next()
        self._fail_adoption()
        self._pipe_reader.drain()
        keeper.raise_if_unsupported()
        reason = (
            "nacre's keeper did not report how it ended"
            if loss.scope is LossScope.RUN and not self._request.plan.dedicated_keeper
            else keeper.death_reason
        )
        self._set_phase(RunPhase.ENDED)
        self._emit_final(KeeperLost(loss.reason or reason, self._loop.time() - self._watchdog.started_at, left))
        return await self.next()

    async def _resubmit(self) -> bool:
        """Request the run again. Returns whether further events follow."""
        asked = await self._request.resubmit()
        if asked is None:
            return False
        with self._lock:
            if not isinstance(asked, PendingRun):
                self._set_phase(RunPhase.ENDED)
                self._fail_adoption()
                self._emit_final(asked)
                return True
            self._set_phase(RunPhase.SUBMITTED)
            self._listen(asked)
            if self._request.cancelled:
                self._send_cancel()
            elif self._adoption is not None and not self._adoption.is_cancelled:
                self.request_adoption(self._adoption.message, self._adoption.task_dir)
            return True

    # to the caller

    def _print(self, stream: StreamName, data: bytes) -> None:
        self._events.put(OutputChunk(stream, data))

    def _emit_final(self, event: FinalEvent) -> None:
        self._events.put(event if self.remote_end is None else self.remote_end.translate_end(event))


async def start(plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None) -> LocalRun | UnstartedRun:
    """Hand a plan to the keeper and return the run.

    `state`: file for the shell's final working directory and environment. `folder`: directory of a task. A temporary
    shortage, most likely of file descriptors, gives a run that has failed. KeeperFailed: no keeper can be started at
    all.
    """
    request = RunRequest(plan, state, folder)
    pending = await request.submit()
    return LocalRun(pending, request) if isinstance(pending, PendingRun) else UnstartedRun(pending)
