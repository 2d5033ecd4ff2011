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
from nacre.keeper.protocol.ending import CANCELLED, TIMED_OUT, EndKind, EndReason
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
from nacre.keeper.protocol.signals import stop_processes
from nacre.keeper.protocol.task_dir import STDIN
from nacre.keeper.server.drain import drain
from nacre.keeper.server.pending import CancelledBeforeStart, PendingStart
from nacre.keeper.server.priority import set_realtime
from nacre.keeper.server.run import Run
from nacre.keeper.server.starter import RunStarter, too_many
from nacre.keeper.server.startup_check import has_started_working
from nacre.keeper.server.supervisor import EXEC_DELAY_S, RunCommands, remember_tag
from nacre.keeper.server.task_record import TaskRecord, oom_kills
from nacre.keeper.spawn.fork_keeper import IDLE

_USAGE_POLL_S = 0.05
"""Seconds between two measurements of a run's resource usage."""
_UNREPORTED_USAGE_POLL_S = 0.01
"""Seconds between two measurements of a run with CPU time that the kernel reports to no process."""
_HOST_POLL_S = 0.5
"""Seconds between two checks for a host without a pidfd."""
_HOST_GONE = EndReason(EndKind.KILL, requester="the end of its host")
_DEDICATED_POLL_S, _MAX_DEDICATED_POLL_S = 0.0002, 0.002
_STARTUP_POLL_S = 0.001
_MAX_STARTUP_S = 0.5
"""Seconds after which a task that has not ended is reported as running in any case."""


class KeeperServer(RunStarter):
    def __init__(
        self, host_channel: Channel, open_files: tuple[int, int], host: int | None = None, *, dedicated: bool = False
    ) -> None:
        super().__init__(open_files)
        self.host_channel = host_channel
        self.host = host
        """A pidfd of the host, where there are pidfds."""
        self.dedicated = dedicated
        """This keeper serves one run at a time, or a task."""
        self.directories: list[bytes] = []
        """Private directories, removed when the keeper exits."""

    def listen(self) -> None:
        """Watch the host's channel, the host process and child processes. OSError: no resources for it."""
        self.loop.watch(self.host_channel, self.on_host_message)
        self.loop.watch_children(self.reap)
        if self.host is not None:
            self.loop.watch(self.host, self.on_host_gone)

    def serve(self) -> None:
        while self.runs or not self.stopping:
            self.loop.run_once(
                min(
                    (
                        due
                        for due in (self.standby_shells.next_expiry(), self.standby_keepers.next_expiry())
                        if due is not None
                    ),
                    default=None,
                )
            )
            if self.next_start_hint is not None:
                self.prepare_standby(self.next_start_hint)
                self.next_start_hint = None
            self.standby_shells.expire()
            self.standby_keepers.expire()
        self.standby_shells.discard_all()
        self.standby_keepers.stop_all()
        self.kill_remaining()
        wait_for_removals()
        for directory in self.directories:
            remove_tree(directory)

    def prepare_standby(self, like: StartMessage) -> None:
        """Start what a run like this one needs: a shell or a dedicated keeper."""
        if self.resources_short:
            return
        try:
            if like.dedicated and not self.dedicated:
                self.standby_keepers.prefork(like, self)
            elif not like.private_dir:  # the directory differs each time: no shell would match
                self.standby_shells.prepare(
                    like, self.decode_environment(like), self.open_files_limit, self.decode_ruleset(like)
                )
        except OSError as error:
            self.free_standby(error)  # the next command itself reports the failure

    # messages of the host

    def on_host_message(self) -> None:
        fds: list[int] = []
        try:
            while (message := self.host_channel.receive()) is not None:
                data, fds = message
                verb, _, rest = data.partition(b"\0")
                if verb == START:
                    self.on_start(StartMessage.parse(data), data, fds)
                elif verb == REMOVE_DIRECTORY:
                    self.directories.append(rest)
                close_all(fds)
                if self.stopping:
                    return
        except MalformedMessage:
            close_all(fds)  # includes the run's channel, whose closing tells the host
            if self.dedicated:
                self.close_host_channel()
        except EOFError:
            if self.dedicated:
                self.close_host_channel()
            else:
                self.on_host_gone()

    def on_start(self, start: StartMessage, message: bytes, fds: list[int]) -> None:
        """Start a run or hand it over to a dedicated keeper. Its private directory belongs to that keeper from now
        on."""
        if not fds:
            # The run's channel was dropped for lack of a descriptor; that must not happen to the next one.
            self.free_standby(too_many())
        if start.dedicated and not self.dedicated:
            if not (fds and self.start_in_dedicated_keeper(start, message, fds)):
                remove_private_tmpdir(start.private_dir)
            return
        if start.private_dir:
            self.directories.append(start.private_dir)
        if self.dedicated and (start.task or not LINUX):
            self.close_host_channel()
        if fds:
            self.start(start, fds)
        elif self.dedicated:
            self.return_to_pool()

    def finish(self, run: Run) -> None:
        if self.dedicated:
            # Before its end is reported: the host may then request the next run at once.
            self.return_to_pool(run.private_tmpdir)
        super().finish(run)

    def return_to_pool(self, scratch: bytes = b"") -> None:
        """Return to the pool of the keeper that forked this one, unless something is left of the last run."""
        if self.stopping:
            return
        try:
            if not set(self.children()) - self.standby_shells.pids:
                for directory in filter(None, (scratch, *self.directories)):
                    os.rmdir(directory)
                self.directories.clear()
                self.host_channel.send(IDLE)
                return
        except OSError:
            pass  # a directory is not empty, or the other keeper is gone
        self.close_host_channel()

    def close_host_channel(self) -> None:
        """Serve no further runs."""
        self.stopping = True
        self.loop.forget(self.host_channel)
        self.host_channel.close()

    def start_in_dedicated_keeper(self, start: StartMessage, message: bytes, fds: list[int]) -> bool:
        """Hand the run over to a dedicated keeper; return whether one took it."""
        try:
            try:
                self.standby_keepers.assign(start, message, fds, self)
            except OSError as error:
                if not self.free_standby(error):
                    raise
                self.standby_keepers.assign(start, message, fds, self)
        except OSError as error:
            control = Channel(socket.socket(fileno=fds.pop(0)))
            killed = isinstance(error, ConnectionError)
            self.report_failure(control, OSError("its keeper was killed before it began") if killed else error)
            return False
        return True

    def start(self, start: StartMessage, fds: list[int]) -> None:
        """Start a run. Takes the descriptors that it keeps out of `fds`."""
        control = Channel(socket.socket(fileno=fds.pop(0)))
        pending = PendingStart(control, needs_host=not start.task)
        record: TaskRecord | None = None
        commands = RunCommands(self)
        stdin_fd = engine_note = None
        try:
            pending.check()  # a run that the host has given up must not delay others, only to be killed
            text, stdin, state, folder = self.unpack_fds(start, fds)
            if folder is not None:
                record = TaskRecord(
                    os.dup(folder), start.task, start.log_cap, self.loop, commands, protection=start.protection
                )
                # Keep a writer open, or stdin would be at EOF from the start.
                stdin_fd = None if stdin is None else _open_input(folder)
            engine_note = os.dup(state) if start.kill_script and state is not None else None
            shell = self.start_shell(start, control, pending, record, text, stdin, state)
        except (OSError, ValueError, CancelledBeforeStart) as error:
            if record is not None:
                record.discard()
            close_all([fd for fd in (stdin_fd, engine_note) if fd is not None])
            pending.forget()
            if self.dedicated:
                self.return_to_pool()
            self.report_failure(control, error)
            return
        run = commands.run = Run(start, shell, control)
        run.record = record
        run.stdin_fd = stdin_fd
        run.engine_note = engine_note
        self.runs[run.tag] = self.shells[run.pid] = run
        if start.kill_script:
            remember_tag(self.kill_script_tags, run.tag)
        self.loop.watch(control, lambda: self.on_run_readable(run))
        if run.deadline < float("inf"):
            self.loop.call_at(run.deadline, run.tag, lambda: self.time_out(run))
        confinement = self.decode_ruleset(start)
        if confinement is not None and confinement.watched_limits:
            self.limited_runs.add(run.tag)
            set_realtime(True)
            self.loop.call_at(
                run.started_at + _USAGE_POLL_S, run.tag, lambda: self.measure(run, confinement.watched_limits)
            )
        run.oom_kills = oom_kills()  # slow to read, so not before the run has started
        if record is not None:
            drain(self.loop, run, alone=self.dedicated)
            self.report_when_running(run)
        if pending.adoption is not None:
            self.handle_run_message(run, *pending.adoption)

    def on_run_readable(self, run: Run) -> None:
        try:
            message = run.control.receive()
        except MalformedMessage:
            message = b"", []
        except EOFError:
            self.loop.forget(run.control)
            if run.record is not None:
                return
            drain(self.loop, run)
            message = b"", []
        if message is not None:
            self.handle_run_message(run, *message)

    def handle_run_message(self, run: Run, message: bytes, fds: list[int]) -> None:
        """Kill the run on any message but ADOPT, and on a closed channel, unless it is a task, which needs no
        listener."""
        try:
            if message.startswith(ADOPT):
                self.make_task(run, AdoptMessage.parse(message), fds)
                return
        except MalformedMessage:
            pass
        finally:
            close_all(fds)
        if not run.reported_end or run.record is not None:
            self.terminate(run, CANCELLED)

    def time_out(self, run: Run) -> None:
        """Kill the run at its deadline. Leftovers of a shell that exited in time are not late, unless they are a
        task's."""
        if not run.reported_end and (run.status is None or run.record is not None):
            self.terminate(run, TIMED_OUT)

    def measure(self, run: Run, watched: list[tuple[bytes, float]]) -> None:
        """Kill the run if it exceeds a limit, else measure again later: the longer measuring takes, the less often."""
        if run.sigkill_at is not None:
            return
        began = time.thread_time()
        self.adopt()
        members = run.members(next((int(limit) for name, limit in watched if name == b"processes"), None))
        over = run.meter.find_exceeded_limit(watched, members)
        if over is not None and over.name == "memory" and not run.memory_suspect:
            run.memory_suspect = True  # while processes fork, the same memory may be counted twice
            self.loop.call_at(time.monotonic() + EXEC_DELAY_S, run.tag, lambda: self.measure(run, watched))
            return
        run.memory_suspect = False
        if over is not None:
            stop_processes(members)  # before anything else is read: they may leave the keeper almost no CPU time
            self.terminate(run, EndReason(EndKind.LIMIT, limit=over))
        else:
            least = _UNREPORTED_USAGE_POLL_S if run.meter.loses_time else _USAGE_POLL_S
            pause = max(least, 10 * (time.thread_time() - began))
            self.loop.call_at(time.monotonic() + pause, run.tag, lambda: self.measure(run, watched))

    def on_host_gone(self) -> None:
        """Kill all runs that do not outlive the host, and stop serving."""
        self.stopping = True
        if self.host is not None:
            self.loop.forget(self.host)
        self.loop.forget(self.host_channel)
        for run in list(self.runs.values()):
            if run.record is None:
                drain(self.loop, run)
                self.terminate(run, CANCELLED)
            elif not run.record.detached:
                self.terminate(run, _HOST_GONE)

    # tasks

    def report_when_running(self, run: Run, asleep: bool = False) -> None:
        """Report a task as running once it works or only waits: a command that fails at once exits before. `asleep`: it
        was waiting at the last check."""
        if run.status is not None:
            return  # its end is about to be reported, or that its leftovers keep running
        sleeps = False
        if LINUX and time.monotonic() < run.started_at + _MAX_STARTUP_S:
            stage = has_started_working(run.pid)
            while stage is False and self.dedicated and time.monotonic() < run.started_at + _MAX_DEDICATED_POLL_S:
                time.sleep(_DEDICATED_POLL_S)  # the event loop's timer is too coarse, and no other run has to wait
                stage = has_started_working(run.pid)
            sleeps = stage is None
            if not (stage or (sleeps and asleep)):
                self.loop.call_at(
                    time.monotonic() + _STARTUP_POLL_S, run.tag, lambda: self.report_when_running(run, sleeps)
                )
                return
        run.report_running()

    def make_task(self, run: Run, adoption: AdoptMessage, fds: list[int]) -> None:
        """Make a task of an active run, or of the leftovers of an ended one."""
        self.adopt()
        members = run.members()
        task_leader = next(iter(members.values()), None) if run.status is not None else procfs.read_process(run.pid)
        commands = RunCommands(self)
        commands.run = run
        record: TaskRecord | None = None
        try:
            if task_leader is None or (run.reported_end and adoption.live):
                raise ProcessLookupError(errno.ESRCH, "it has ended")
            if not fds:  # the kernel drops descriptors for which no number is free
                raise too_many()
            record = TaskRecord(
                os.dup(fds[0]),
                adoption.task,
                adoption.log_cap,
                self.loop,
                commands,
                seen=adoption.total_bytes,
                detached=adoption.detached,
                protection=adoption.protection,
            )
            record.write_process_file(task_leader.pid, task_leader.pgid, run.tag)
        except OSError as error:
            if record is not None:
                record.discard()
            self.answer(run.control, FailedReply(error.errno or 0, error.strerror or "").message())
            return
        run.record = record
        if self.dedicated:
            self.close_host_channel()
        if run.status is not None:
            run.task_leader = task_leader.pid
        if self.host is None and self.dedicated and not record.detached:
            self.watch_parent(run, os.getppid())
        drain(self.loop, run, alone=self.dedicated)
        self.answer(run.control, AdoptedReply(task_leader.pid, task_leader.pgid).message())
        self.check_run(run)

    def watch_parent(self, run: Run, parent: int) -> None:
        """Watch the keeper that forked this one, which exits with the host. Used where there are no pidfds."""
        if os.getppid() != parent:
            self.on_host_gone()
        else:
            self.loop.call_at(time.monotonic() + _HOST_POLL_S, run.tag, lambda: self.watch_parent(run, parent))


def _open_input(folder: int) -> int | None:
    """Open the write end of a task's stdin, which keeps it open; return None if it has no FIFO."""
    try:
        return os.open(STDIN, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
