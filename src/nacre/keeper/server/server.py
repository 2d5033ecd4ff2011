"""The keeper: starts runs, and ends them when asked, late or abandoned.

Takes START messages from the host; answers each on the run's own channel with STARTED or FAILED, then ENDED. A channel
that closes means nobody waits any more: a run in progress is ended, what an ended run left behind is drained. ADOPT on
it makes the run a task: from then on its output goes to its log and its end is written down. When the host is gone
everything is ended that is not detached, and with its last duty the keeper goes.

A run that may outlive all that gets a keeper of its own, forked off this one, which hears of nothing else until it has
ended, and of the next one then, if it has not become a task.
"""

from __future__ import annotations

import errno
import os
import socket
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.channel import Channel, close_all
from nacre.keeper.protocol.ending import CANCEL, KILL, LIMIT, TIMEOUT
from nacre.keeper.protocol.messages import (
    ADOPT,
    ADOPTED,
    FAILED,
    REMOVE_DIRECTORY,
    START,
    AdoptMessage,
    MalformedMessage,
    StartMessage,
)
from nacre.keeper.protocol.private_tmpdir import remove_private_tmpdir, remove_tree, wait_for_removals
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
"""Seconds between two looks at what a run costs."""
_UNREPORTED_USAGE_POLL_S = 0.01
"""The same for a run some of whose computing nobody is told of: a look tells."""
_HOST_POLL_S = 0.5
"""Seconds between two looks for a host that cannot be watched."""
_HOST_GONE = b"the end of its host"
_DEDICATED_POLL_S, _MAX_DEDICATED_POLL_S = 0.0002, 0.002
_STARTUP_POLL_S = 0.001
_MAX_STARTUP_S = 0.5
"""Seconds after which a task that has not ended is said to be going, whatever it does."""


class KeeperServer(RunStarter):
    def __init__(self, main: Channel, files: tuple[int, int], host: int | None = None, *, alone: bool = False) -> None:
        super().__init__(files)
        self.host_channel = main
        self.host = host
        """A descriptor of the host's process, if there is such a thing here."""
        self.dedicated = alone
        """For one run at a time, or for a task."""
        self.directories: list[bytes] = []
        """Private directories, to be removed at the end."""

    def listen(self) -> None:
        """To the host, to its end, and to that of children. OSError: something is lacking for it."""
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
        """For a command like this one."""
        if self.resources_short:
            return
        try:
            if like.dedicated and not self.dedicated:
                self.standby_keepers.prefork(like, self)
            elif not like.private_dir:  # which is never the same again: no shell would fit
                self.standby_shells.prepare(
                    like, self.decode_environment(like), self.open_files_limit, self.decode_ruleset(like)
                )
        except OSError as error:
            self.free_standby(error)  # the command itself will say what is wrong

    # what the host says

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
            close_all(fds)  # the run's own channel among them, which says it all
            if self.dedicated:
                self.close_host_channel()
        except EOFError:
            if self.dedicated:
                self.close_host_channel()
            else:
                self.on_host_gone()

    def on_start(self, start: StartMessage, message: bytes, fds: list[int]) -> None:
        """What is private to it is this keeper's from now on, or that of the one that it is handed over to."""
        if not fds:
            self.free_standby(too_many())  # its channel found no free descriptor and is gone; the next one's may
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
            self.return_to_pool(
                run.private_tmpdir
            )  # before its end is told: who hears of that may have another run at once
        super().finish(run)

    def return_to_pool(self, scratch: bytes = b"") -> None:
        """To the keeper that this one was forked off, for another run, unless something is left of the last one."""
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
            pass  # one is not empty; or nobody is there any more
        self.close_host_channel()

    def close_host_channel(self) -> None:
        """It has what it is for."""
        self.stopping = True
        self.loop.forget(self.host_channel)
        self.host_channel.close()

    def start_in_dedicated_keeper(self, start: StartMessage, message: bytes, fds: list[int]) -> bool:
        """Whether somebody has taken it over."""
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
        """Takes what it keeps out of `fds`."""
        control = Channel(socket.socket(fileno=fds.pop(0)))
        early = PendingStart(control, waited_for=not start.task)
        record: TaskRecord | None = None
        commands = RunCommands(self)
        held = noted = None
        try:
            early.check()  # what a host has given up is not to keep waiting what it has not, only to be ended
            text, stdin, state, folder = self.unpack_fds(start, fds)
            if folder is not None:
                record = TaskRecord(
                    os.dup(folder), start.task, start.log_cap, self.loop, commands, protection=start.protection
                )
                held = None if stdin is None else _open_input(folder)  # or it would be at its end before it begins
            noted = os.dup(state) if start.kill_script and state is not None else None
            shell = self.start_shell(start, control, early, record, text, stdin, state)
        except (OSError, ValueError, CancelledBeforeStart) as error:
            if record is not None:
                record.discard()
            close_all([fd for fd in (held, noted) if fd is not None])
            early.forget()
            if self.dedicated:
                self.return_to_pool()
            self.report_failure(control, error)
            return
        run = commands.run = Run(start, shell, control)
        run.record = record
        run.stdin_fd = held
        run.engine_note = noted
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
        run.oom_kills = oom_kills()  # it takes a while to ask, so not before it runs
        if record is not None:
            drain(self.loop, run, alone=self.dedicated)
            self.report_when_running(run)
        if early.adoption is not None:
            self.handle_run_message(run, *early.adoption)

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
        """Anything the host says on a run's channel means: end it; but for ADOPT. So does silence for good, unless it
        is a task, which needs nobody to wait."""
        try:
            if message.startswith(ADOPT):
                self.make_task(run, AdoptMessage.parse(message), fds)
                return
        except MalformedMessage:
            pass
        finally:
            close_all(fds)
        if not run.reported_end or run.record is not None:
            self.terminate(run, CANCEL)

    def time_out(self, run: Run) -> None:
        """What an ordinary command leaves running when its shell has exited in time is not late."""
        if not run.reported_end and (run.status is None or run.record is not None):
            self.terminate(run, TIMEOUT)

    def measure(self, run: Run, watched: list[tuple[bytes, float]]) -> None:
        """Again and again while it lives; the longer a look takes, the less often."""
        if run.sigkill_at is not None:
            return
        began = time.thread_time()
        self.adopt()
        members = run.members(next((int(limit) for name, limit in watched if name == b"processes"), None))
        over = run.meter.find_exceeded_limit(watched, members)
        if over.startswith(b"memory") and not run.memory_suspect:
            run.memory_suspect = True  # a look at many processes while they fork can count the same memory twice
            self.loop.call_at(time.monotonic() + EXEC_DELAY_S, run.tag, lambda: self.measure(run, watched))
            return
        run.memory_suspect = False
        if over:
            stop_processes(members)  # before anything else is looked up: they may leave the keeper next to no time
            self.terminate(run, b"%b %b" % (LIMIT, over))
        else:
            least = _UNREPORTED_USAGE_POLL_S if run.meter.loses_time else _USAGE_POLL_S
            pause = max(least, 10 * (time.thread_time() - began))
            self.loop.call_at(time.monotonic() + pause, run.tag, lambda: self.measure(run, watched))

    def on_host_gone(self) -> None:
        self.stopping = True
        if self.host is not None:
            self.loop.forget(self.host)
        self.loop.forget(self.host_channel)
        for run in list(self.runs.values()):
            if run.record is None:
                drain(self.loop, run)
                self.terminate(run, CANCEL)
            elif not run.record.detached:
                self.terminate(run, b"%b %b" % (KILL, _HOST_GONE))

    # tasks

    def report_when_running(self, run: Run, asleep: bool = False) -> None:
        """Say that it is going, once it is: what fails at once has ended before. `asleep`: it was, a moment ago."""
        if run.status is not None:
            return  # its end is about to be told, or that something of it goes on
        sleeps = False
        if LINUX and time.monotonic() < run.started_at + _MAX_STARTUP_S:
            stage = has_started_working(run.pid)
            while stage is False and self.dedicated and time.monotonic() < run.started_at + _MAX_DEDICATED_POLL_S:
                time.sleep(
                    _DEDICATED_POLL_S
                )  # the loop's own clock is too coarse, and there is nobody else to wait for it
                stage = has_started_working(run.pid)
            sleeps = stage is None
            if not (stage or (sleeps and asleep)):
                self.loop.call_at(
                    time.monotonic() + _STARTUP_POLL_S, run.tag, lambda: self.report_when_running(run, sleeps)
                )
                return
        run.report_running()

    def make_task(self, run: Run, adoption: AdoptMessage, fds: list[int]) -> None:
        """Of a run in progress, or of what an ended one has left running."""
        self.adopt()
        members = run.members()
        principal = next(iter(members.values()), None) if run.status is not None else procfs.read_process(run.pid)
        commands = RunCommands(self)
        commands.run = run
        record: TaskRecord | None = None
        try:
            if principal is None or (run.reported_end and adoption.live):
                raise ProcessLookupError(errno.ESRCH, "it has ended")
            if not fds:  # the kernel drops what finds no free descriptor
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
            record.write_process_file(principal.pid, principal.pgid, run.tag)
        except OSError as error:
            if record is not None:
                record.discard()
            self.answer(run.control, b"%b\0%d\0%b" % (FAILED, error.errno or 0, str(error.strerror or "").encode()))
            return
        run.record = record
        if self.dedicated:
            self.close_host_channel()
        if run.status is not None:
            run.task_leader = principal.pid
        if self.host is None and self.dedicated and not record.detached:
            self.watch_parent(run, os.getppid())
        drain(self.loop, run, alone=self.dedicated)
        self.answer(run.control, b"%b\0%d\0%d" % (ADOPTED, principal.pid, principal.pgid))
        self.check_run(run)

    def watch_parent(self, run: Run, parent: int) -> None:
        """Where a process cannot be watched: the keeper that this one was forked off ends with the host."""
        if os.getppid() != parent:
            self.on_host_gone()
        else:
            self.loop.call_at(time.monotonic() + _HOST_POLL_S, run.tag, lambda: self.watch_parent(run, parent))


def _open_input(folder: int) -> int | None:
    """Our end of its standard input, which keeps it open; None if it is not one that others can write to."""
    try:
        return os.open(STDIN, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
