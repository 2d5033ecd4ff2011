"""The keeper: starts runs, and kills them on request, at their timeout, or when they are abandoned.

It takes START messages from the host, and answers each on the run's own channel with STARTED or FAILED, then ENDED.
When that channel closes, nothing waits any more: an active run is killed, the pipes of an ended one are drained. ADOPT
on it makes the run a task: its output goes to its log and its outcome to its status file. When the host is gone, all
runs that are not detached are killed; the keeper exits after its last run.

A run that may outlive the host gets a dedicated keeper, forked off this one. It serves that run only, and the next one
afterwards if the run did not become a task.
"""

from __future__ import annotations

import errno
import os
import socket
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.channel import Channel, close_all
from nacre.keeper.protocol.ending import CANCELLED, EndKind, EndReason
from nacre.keeper.protocol.messages import (
    ADOPT,
    REMOVE_DIRECTORY,
    START,
    AdoptMessage,
    MalformedMessage,
    StartMessage,
)
from nacre.keeper.protocol.private_tmpdir import remove_private_tmpdir, remove_tree, wait_for_removals
from nacre.keeper.protocol.replies import AdoptedReply, FailedReply
from nacre.keeper.server.drain import drain
from nacre.keeper.server.run import Run, RunningTask
from nacre.keeper.server.starter import (
    CancelledBeforeStart,
    PendingStart,
    RunStarter,
    report_failure,
    too_many_files,
)
from nacre.keeper.server.supervisor import RunCommands, Supervisor
from nacre.keeper.server.task.record import TaskRecord
from nacre.keeper.server.task.startup_check import report_when_running
from nacre.keeper.spawn.fork_keeper import IDLE
from nacre.keeper.spawn.standby import Standby

_HOST_POLL_S = 0.5
"""Seconds between two checks for a host without a pidfd."""
_HOST_GONE = EndReason(EndKind.KILL, requester="the end of its host")


class KeeperServer:
    """The conversation of a keeper with its host, or with the keeper that forked it."""

    __slots__ = (
        "_dedicated",
        "_directories",
        "_host",
        "_host_channel",
        "_loop",
        "_starter",
        "_stopping",
        "standby",
        "supervisor",
    )

    def __init__(
        self,
        host_channel: Channel,
        host: int | None,
        supervisor: Supervisor,
        starter: RunStarter,
        standby: Standby,
        *,
        dedicated: bool,
    ) -> None:
        """`host`: a pidfd of the host, where there are pidfds. `dedicated`: this keeper serves one run at a time, or a
        task."""
        self._host_channel = host_channel
        self._host = host
        self.supervisor = supervisor
        self._starter = starter
        self.standby = standby
        self._dedicated = dedicated
        self._loop = supervisor.loop
        self._directories: list[bytes] = []
        """Private directories, removed when the keeper exits."""
        self._stopping = False
        """The host is gone, or the keeper serves no further runs."""
        supervisor.on_exit = self._on_run_exit
        supervisor.on_report = self._on_run_report

    def listen(self) -> None:
        """Watch the host's channel, the host process and child processes. OSError: no resources for it."""
        self._loop.watch(self._host_channel, self._on_host_message)
        self._loop.watch_children(self.supervisor.reap)
        if self._host is not None:
            self._loop.watch(self._host, self._on_host_gone)

    def serve(self, like: StartMessage | None = None) -> None:
        """Serve until the host is gone and no run is left. `like`: prepare for a run like this one."""
        if like is not None:
            self.standby.prepare(like)
        while self.supervisor.runs or not self._stopping:
            self._loop.run_once(self.standby.next_expiry())
            if not self._stopping:
                self.standby.prepare_expected()
            self.standby.expire()
        self.standby.stop_all()
        self.supervisor.children.kill_all(spared=self.standby.keepers.pids)
        wait_for_removals()
        for directory in self._directories:
            remove_tree(directory)

    # messages of the host

    def _on_host_message(self) -> None:
        fds: list[int] = []
        try:
            while (message := self._host_channel.receive()) is not None:
                data, fds = message
                verb, _, rest = data.partition(b"\0")
                if verb == START:
                    self._on_start(StartMessage.parse(data), data, fds)
                elif verb == REMOVE_DIRECTORY:
                    self._directories.append(rest)
                close_all(fds)
                if self._stopping:
                    return
        except MalformedMessage:
            close_all(fds)  # includes the run's channel, whose closing tells the host
            if self._dedicated:
                self._close_host_channel()
        except EOFError:
            if self._dedicated:
                self._close_host_channel()
            else:
                self._on_host_gone()

    def _on_start(self, start: StartMessage, message: bytes, fds: list[int]) -> None:
        """Start a run or hand it over to a dedicated keeper. Its private directory belongs to that keeper from now
        on."""
        if not fds:
            # The run's channel was dropped for lack of a descriptor; that must not happen to the next one.
            self.standby.stop_on_shortage(too_many_files())
        if start.dedicated and not self._dedicated:
            if not (fds and self._start_in_dedicated_keeper(start, message, fds)):
                remove_private_tmpdir(start.private_dir)
            return
        if start.private_dir:
            self._directories.append(start.private_dir)
        if self._dedicated and (start.task or not LINUX):
            self._close_host_channel()
        if fds:
            self.start(start, fds)
        elif self._dedicated:
            self._return_to_pool()

    def _start_in_dedicated_keeper(self, start: StartMessage, message: bytes, fds: list[int]) -> bool:
        """Hand the run over to a dedicated keeper; return whether one took it."""
        try:
            try:
                self.standby.keepers.assign(start, message, fds)
            except OSError as error:
                if not self.standby.stop_on_shortage(error):
                    raise
                self.standby.keepers.assign(start, message, fds)
        except OSError as error:
            control = Channel(socket.socket(fileno=fds.pop(0)))
            killed = isinstance(error, ConnectionError)
            report_failure(control, OSError("its keeper was killed before it began") if killed else error)
            return False
        return True

    def start(self, start: StartMessage, fds: list[int]) -> None:
        """Start a run. Takes the descriptors that it keeps out of `fds`."""
        control = Channel(socket.socket(fileno=fds.pop(0)))
        pending = PendingStart(control, needs_host=not start.task)
        try:
            run = self._starter.start(start, pending, fds)
        except (OSError, ValueError, CancelledBeforeStart) as error:
            pending.forget()
            if self._dedicated:
                self._return_to_pool()
            report_failure(control, error)
            return
        self._loop.watch(control, lambda: self._on_run_readable(run))
        if run.task is not None:
            drain(self._loop, run, alone=self._dedicated)
            report_when_running(self._loop, run, alone=self._dedicated)
        if pending.adoption is not None:
            self._handle_run_message(run, *pending.adoption)

    def _on_run_exit(self, run: Run) -> None:
        if self._dedicated:
            # Before its end is reported: the host may then request the next run at once.
            self._return_to_pool(run.private_tmpdir)

    def _on_run_report(self, run: Run) -> None:
        if run.was_signalled:
            self.standby.shells.discard_all()  # whoever sent it may be about to signal all children of the keeper
        if not self._stopping:
            self.standby.expect(run.start)

    def _return_to_pool(self, private_tmpdir: bytes = b"") -> None:
        """Return to the pool of the keeper that forked this one, unless something is left of the last run."""
        if self._stopping:
            return
        try:
            if not set(self.supervisor.children.pids()) - self.standby.shells.pids:
                for directory in filter(None, (private_tmpdir, *self._directories)):
                    os.rmdir(directory)
                self._directories.clear()
                self._host_channel.send(IDLE)
                return
        except OSError:
            pass  # a directory is not empty, or the other keeper is gone
        self._close_host_channel()

    def _close_host_channel(self) -> None:
        """Serve no further runs."""
        self._stopping = True
        self._loop.forget(self._host_channel)
        self._host_channel.close()

    def _on_host_gone(self) -> None:
        """Kill all runs that do not outlive the host, and stop serving."""
        self._stopping = True
        if self._host is not None:
            self._loop.forget(self._host)
        self._loop.forget(self._host_channel)
        for run in list(self.supervisor.runs.values()):
            if run.task is None:
                drain(self._loop, run)
                self.supervisor.terminate(run, CANCELLED)
            elif not run.task.record.detached:
                self.supervisor.terminate(run, _HOST_GONE)

    # messages on a run

    def _on_run_readable(self, run: Run) -> None:
        try:
            message = run.control.receive()
        except MalformedMessage:
            message = b"", []
        except EOFError:
            self._loop.forget(run.control)
            if run.task is not None:
                return
            drain(self._loop, run)
            message = b"", []
        if message is not None:
            self._handle_run_message(run, *message)

    def _handle_run_message(self, run: Run, message: bytes, fds: list[int]) -> None:
        """Kill the run on any message but ADOPT, and on a closed channel, unless it is a task, which needs no
        listener."""
        try:
            if message.startswith(ADOPT):
                self._adopt_run(run, AdoptMessage.parse(message), fds)
                return
        except MalformedMessage:
            pass
        finally:
            close_all(fds)
        if not run.reported_end or run.task is not None:
            self.supervisor.terminate(run, CANCELLED)

    def _adopt_run(self, run: Run, adoption: AdoptMessage, fds: list[int]) -> None:
        try:
            leader = _make_task(self.supervisor, run, adoption, fds)
        except OSError as error:
            run.control.try_send(FailedReply(error.errno or 0, error.strerror or "").message())
            return
        if self._dedicated:
            self._close_host_channel()
        if self._host is None and self._dedicated and not adoption.detached:
            self._watch_parent(run, os.getppid())
        drain(self._loop, run, alone=self._dedicated)
        run.control.try_send(AdoptedReply(leader.pid, leader.pgid).message())
        self.supervisor.check_run(run)

    def _watch_parent(self, run: Run, parent: int) -> None:
        """Watch the keeper that forked this one, which exits with the host. Used where there are no pidfds."""
        if os.getppid() != parent:
            self._on_host_gone()
        else:
            self._loop.call_at(time.monotonic() + _HOST_POLL_S, run.tag, lambda: self._watch_parent(run, parent))


def _make_task(supervisor: Supervisor, run: Run, adoption: AdoptMessage, fds: list[int]) -> procfs.ProcessInfo:
    """Make a task of the run; return the process that it is named after. OSError: it has ended, or its files cannot be
    written."""
    supervisor.children.adopt()
    members = run.processes.members()
    shell_is_alive = run.processes.shell_is_alive
    leader = procfs.read_process(run.pid) if shell_is_alive else next(iter(members.values()), None)
    if leader is None or (run.reported_end and adoption.live):
        raise ProcessLookupError(errno.ESRCH, "it has ended")
    if not fds:  # the kernel drops descriptors for which no number is free
        raise too_many_files()
    commands = RunCommands(supervisor)
    commands.run = run
    record = TaskRecord(
        os.dup(fds[0]),
        adoption.task,
        adoption.log_cap,
        supervisor.loop,
        commands,
        seen=adoption.total_bytes,
        detached=adoption.detached,
        protection=adoption.protection,
    )
    try:
        record.write_process_file(leader.pid, leader.pgid, run.tag)
    except OSError:
        record.discard()
        raise
    run.task = RunningTask(record)
    if not shell_is_alive:
        run.statuses.leader_pid = leader.pid
    return leader
