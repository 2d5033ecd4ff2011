"""Start runs: take a standby shell or start a new one, and report to the host before the command begins.

If resources are short, standby processes are stopped. How runs are requested and how they end is handled elsewhere.
"""

from __future__ import annotations

import errno
import os

from nacre.keeper.protocol.channel import Channel, close_all
from nacre.keeper.protocol.ending import CANCELLED
from nacre.keeper.protocol.messages import ADOPT, MalformedMessage, StartMessage
from nacre.keeper.protocol.replies import EndedReply, FailedReply, StartedReply
from nacre.keeper.protocol.task_dir import STDIN
from nacre.keeper.server.run import Run, RunningTask
from nacre.keeper.server.supervisor import RunCommands, Supervisor
from nacre.keeper.server.task.record import TaskRecord
from nacre.keeper.spawn.shell import Shell
from nacre.keeper.spawn.spawner import ShellSpawner
from nacre.keeper.spawn.standby import Standby

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Iterator


class CancelledBeforeStart(Exception):
    """The run was cancelled before it started."""


class PendingStart:
    """A run that is being started, and the messages of the host that arrive meanwhile."""

    __slots__ = ("_needs_host", "adoption", "control")

    def __init__(self, control: Channel, *, needs_host: bool) -> None:
        """`needs_host`: cancel the run if its host is gone."""
        self.control = control
        self._needs_host = needs_host
        self.adoption: tuple[bytes, list[int]] | None = None
        """Adoption request, to be handled as soon as the run has started."""

    def check(self) -> None:
        """Read messages that have arrived. CancelledBeforeStart: the run was cancelled."""
        try:
            while (message := self.control.receive()) is not None:
                if not message[0].startswith(ADOPT) or self.adoption is not None:
                    close_all(message[1])
                    raise CancelledBeforeStart
                self.adoption = message
        except MalformedMessage:
            raise CancelledBeforeStart from None
        except EOFError:
            if self._needs_host:
                raise CancelledBeforeStart from None

    def forget(self) -> None:
        """Release the adoption request of a run that did not start."""
        if self.adoption is not None:
            close_all(self.adoption[1])
            self.adoption = None


class _RunFiles:
    """Descriptors that a run keeps. Left without a run, they are closed."""

    __slots__ = ("engine_note", "record", "stdin_fd")

    def __init__(self) -> None:
        self.record: TaskRecord | None = None
        self.stdin_fd: int | None = None
        self.engine_note: int | None = None

    def __enter__(self) -> _RunFiles:
        return self

    def give_to(self, run: Run) -> None:
        if self.record is not None:
            run.task = RunningTask(self.record, self.stdin_fd)
        run.engine_note = self.engine_note
        self.record = self.stdin_fd = self.engine_note = None

    def __exit__(self, *_: object) -> None:
        if self.record is not None:
            self.record.discard()
        for fd in (self.stdin_fd, self.engine_note):
            if fd is not None:
                os.close(fd)


class RunStarter:
    """Starts the runs of a keeper."""

    __slots__ = ("_spawner", "_standby", "_supervisor")

    def __init__(self, supervisor: Supervisor, spawner: ShellSpawner, standby: Standby) -> None:
        self._supervisor = supervisor
        self._spawner = spawner
        self._standby = standby

    def start(self, start: StartMessage, pending: PendingStart, fds: list[int]) -> Run:
        """Start a run; take the descriptors that it keeps out of `fds`. OSError, ValueError: it could not be started.
        CancelledBeforeStart: it was cancelled."""
        pending.check()  # a run that the host has given up must not delay others, only to be killed
        text, stdin, state, folder = self._unpack_fds(start, fds)
        commands = RunCommands(self._supervisor)
        with _RunFiles() as files:
            if folder is not None:
                files.record = TaskRecord(
                    os.dup(folder),
                    start.task,
                    start.log_cap,
                    self._supervisor.loop,
                    commands,
                    protection=start.protection,
                )
                # Keep a writer open, or stdin would be at EOF from the start.
                files.stdin_fd = None if stdin is None else _open_input(folder)
            if start.kill_script and state is not None:
                files.engine_note = os.dup(state)
            shell = self._start_shell(start, pending, files.record, (text, stdin, state))
            run = commands.run = Run(start, shell, pending.control, self._supervisor.children.adopt)
            files.give_to(run)
        ruleset = self._spawner.decode_ruleset(start)
        self._supervisor.add_run(run, [] if ruleset is None else ruleset.watched_limits)
        return run

    def _unpack_fds(self, start: StartMessage, fds: list[int]) -> Iterator[int | None]:
        """Return command file, stdin, state and task directory, None for those not sent. OSError: some did not
        arrive."""
        wanted = (start.text is None, start.has_stdin, start.has_state, bool(start.task))
        if len(fds) < sum(wanted):  # the kernel drops descriptors for which no number is free
            self._standby.stop_on_shortage(too_many_files())
            raise too_many_files()
        if len(fds) > sum(wanted):
            raise MalformedMessage("descriptors")
        rest = iter(fds)
        return (next(rest) if want else None for want in wanted)

    def _start_shell(
        self,
        start: StartMessage,
        pending: PendingStart,
        record: TaskRecord | None,
        fds: tuple[int | None, int | None, int | None],
    ) -> Shell:
        """Report a run as started, then let it begin. OSError: it could not be started. CancelledBeforeStart: it was
        cancelled.

        In this order: a run that was not reported has not begun, and may be requested again. But its shell is up and
        waits for its start signal before the host is woken, which would compete with it on a machine with few
        processors.
        """
        shell = self._standby.shells.take(start)
        if shell is None or not shell.send_command(start):
            if shell is not None:
                shell.kill()  # another process has killed it just now
            shell = self._spawn(start, fds)
            shell.send_command(start)
        try:
            pending.check()
            if record is not None:
                record.write_process_file(shell.pid, shell.pid, start.tag)
            reply = StartedReply(shell.pid, os.getpid())
            pending.control.send(reply.message(), shell.pipes if record is None else ())
        except (OSError, CancelledBeforeStart) as error:
            if record is None or not isinstance(error, ConnectionError):  # a task needs no listener
                shell.kill()
                raise
        shell.open_start_pipe(start)
        return shell

    def _spawn(self, start: StartMessage, fds: tuple[int | None, int | None, int | None]) -> Shell:
        try:
            return self._spawner.spawn(start, *fds)
        except OSError as error:
            if not self._standby.stop_on_shortage(error):
                raise
            return self._spawner.spawn(start, *fds)


def report_failure(control: Channel, error: OSError | ValueError | CancelledBeforeStart) -> None:
    """Report that a run was not started, and close its channel."""
    if isinstance(error, CancelledBeforeStart):
        message = EndedReply(-1, CANCELLED, 0.0).message()
    else:
        number = getattr(error, "errno", None) or 0
        message = FailedReply(number, os.strerror(number) if number else str(error)).message()
    control.try_send(message)
    control.close()


def too_many_files() -> OSError:
    return OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def _open_input(folder: int) -> int | None:
    """Open the write end of a task's stdin, which keeps it open; return None if it has no FIFO."""
    try:
        return os.open(STDIN, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
