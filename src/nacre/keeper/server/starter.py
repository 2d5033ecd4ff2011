"""Start runs: take a standby shell or start a new one, and report to the host before the command begins.

If resources are short, standby processes are stopped. How runs are requested and how they end is handled elsewhere.
"""

from __future__ import annotations

import errno
import os
import time

from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.ending import CANCELLED
from nacre.keeper.protocol.messages import MalformedMessage, StartMessage, environment_of
from nacre.keeper.protocol.replies import EndedReply, FailedReply, StartedReply
from nacre.keeper.protocol.shortages import SHORTAGE_HINTS
from nacre.keeper.server.pending import CancelledBeforeStart, PendingStart
from nacre.keeper.server.supervisor import Supervisor
from nacre.keeper.server.task_record import TaskRecord
from nacre.keeper.spawn.shell import Shell, spawn
from nacre.keeper.spawn.standby_keepers import StandbyKeepers
from nacre.keeper.spawn.standby_shells import IDLE_TIMEOUT_S

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nacre.sandbox.kernel.ruleset import Ruleset

_STANDBY_EXIT_TIMEOUT_S = 1.0
"""Seconds to wait until standby processes have exited."""
_EXIT_POLL_S = 0.0002


class RunStarter(Supervisor):
    def __init__(self, files: tuple[int, int]) -> None:
        super().__init__()
        self.open_files_limit = files
        """RLIMIT_NOFILE of commands, soft and hard."""
        self.standby_keepers = StandbyKeepers()
        self.short_until = 0.0
        """Until then, nothing is started ahead."""
        self.environment: tuple[bytes, dict[bytes, bytes]] = b"", {}
        """The last environment, encoded and decoded."""
        self.last_ruleset: tuple[bytes, Ruleset | None] = b"", None
        """The last ruleset, encoded and decoded."""

    @property
    def resources_short(self) -> bool:
        """Whether resources were short a short while ago."""
        return time.monotonic() < self.short_until

    def free_standby(self, error: OSError) -> bool:
        """If the error is a resource shortage, stop all standby processes and start no more for a while. Returns
        whether that freed any, so that a retry makes sense."""
        if error.errno not in SHORTAGE_HINTS:
            return False
        self.short_until = time.monotonic() + IDLE_TIMEOUT_S
        self.standby_shells.discard_all()
        self.standby_keepers.stop_all()
        ready, until = self.has_standby(), time.monotonic() + _STANDBY_EXIT_TIMEOUT_S
        while self.has_standby() and time.monotonic() < until:
            time.sleep(_EXIT_POLL_S)  # a zombie still counts
            self.reap()
        return ready

    def has_standby(self) -> bool:
        """Return whether there is an idle shell or keeper that was started ahead."""
        return bool(self.standby_shells.pids) or None in self.keepers.values()

    def unpack_fds(self, start: StartMessage, fds: list[int]) -> Iterator[int | None]:
        """Return command file, stdin, state and task directory, None for those not sent. OSError: some did not
        arrive."""
        wanted = (start.text is None, start.has_stdin, start.has_state, bool(start.task))
        if len(fds) < sum(wanted):  # the kernel drops descriptors for which no number is free
            self.free_standby(too_many())
            raise too_many()
        if len(fds) > sum(wanted):
            raise MalformedMessage("descriptors")
        rest = iter(fds)
        return (next(rest) if want else None for want in wanted)

    def start_shell(
        self,
        start: StartMessage,
        control: Channel,
        early: PendingStart,
        record: TaskRecord | None,
        text: int | None,
        stdin: int | None,
        state: int | None,
    ) -> Shell:
        """Report a run as started, then let it begin. OSError: it could not be started. CancelledBeforeStart: it was
        cancelled.

        In this order: a run that was not reported has not begun, and may be requested again. But its shell is up and
        waits for its start signal before the host is woken, which would compete with it on a machine with few
        processors.
        """
        shell = self.standby_shells.take(start)
        if shell is None or not shell.send_command(start):
            if shell is not None:
                shell.kill()  # another process has killed it just now
            shell = self.spawn(start, text, stdin, state)
            shell.send_command(start)
        try:
            early.check()
            if record is not None:
                record.write_process_file(shell.pid, shell.pid, start.tag)
            control.send(StartedReply(shell.pid, os.getpid()).message(), shell.pipes if record is None else ())
        except (OSError, CancelledBeforeStart) as error:
            if record is None or not isinstance(error, ConnectionError):  # a task needs no listener
                shell.kill()
                raise
        shell.open_start_pipe(start)
        return shell

    def spawn(self, start: StartMessage, text: int | None, stdin: int | None, state: int | None) -> Shell:
        needs = (
            start,
            self.decode_environment(start),
            self.open_files_limit,
            text,
            stdin,
            state,
            self.decode_ruleset(start),
        )
        try:
            return spawn(*needs)
        except OSError as error:
            if not self.free_standby(error):
                raise
            return spawn(*needs)

    def report_failure(self, control: Channel, error: OSError | ValueError | CancelledBeforeStart) -> None:
        number = getattr(error, "errno", None) or 0
        failed = FailedReply(number, os.strerror(number) if number else str(error))
        reply = EndedReply(-1, CANCELLED, 0.0) if isinstance(error, CancelledBeforeStart) else failed
        self.answer(control, reply.message())
        control.close()

    def decode_environment(self, start: StartMessage) -> dict[bytes, bytes]:
        if start.env != self.environment[0]:
            self.environment = start.env, environment_of(start.env)
        return self.environment[1]

    def decode_ruleset(self, start: StartMessage) -> Ruleset | None:
        if not start.ruleset:
            return None
        if start.ruleset != self.last_ruleset[0]:
            from nacre.sandbox.kernel.ruleset import Ruleset

            self.last_ruleset = start.ruleset, Ruleset.decode(start.ruleset)
        return self.last_ruleset[1]

    def answer(self, control: Channel, message: bytes, fds: Sequence[int] = ()) -> None:
        try:
            control.send(message, fds)
        except OSError:
            pass  # no listener; the event loop notices the closed channel


def too_many() -> OSError:
    return OSError(errno.EMFILE, os.strerror(errno.EMFILE))
