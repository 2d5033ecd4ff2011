"""What it takes to start a run: a shell that stands ready, or a new one, and a word to the host before it begins.

Where something is lacking, what stands ready gives way. Knows neither how runs are asked for nor how they end.
"""

from __future__ import annotations

import errno
import os
import time

from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.ending import CANCEL
from nacre.keeper.protocol.messages import FAILED, STARTED, MalformedMessage, StartMessage, environment_of
from nacre.keeper.protocol.shortages import SHORTAGE_HINTS
from nacre.keeper.server.pending import CancelledBeforeStart, PendingStart
from nacre.keeper.server.run import encode_ended
from nacre.keeper.server.supervisor import Supervisor
from nacre.keeper.server.task_record import TaskRecord
from nacre.keeper.spawn.shell import Shell, spawn
from nacre.keeper.spawn.standby_keepers import StandbyKeepers
from nacre.keeper.spawn.standby_shells import IDLE_TIMEOUT_S

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nacre.sandbox.kernel.ruleset import Ruleset

_STANDBY_EXIT_TIMEOUT_S = 1.0
"""Seconds for what stands ready to be gone."""
_EXIT_POLL_S = 0.0002


class RunStarter(Supervisor):
    def __init__(self, files: tuple[int, int]) -> None:
        super().__init__()
        self.open_files_limit = files
        """The RLIMIT_NOFILE that commands get."""
        self.standby_keepers = StandbyKeepers()
        self.short_until = 0.0
        """Until then nothing is started ahead."""
        self.environment: tuple[bytes, dict[bytes, bytes]] = b"", {}
        """The last one, in both forms."""
        self.last_ruleset: tuple[bytes, Ruleset | None] = b"", None
        """The last one, in both forms."""

    @property
    def resources_short(self) -> bool:
        """There is hardly enough for what is asked for."""
        return time.monotonic() < self.short_until

    def free_standby(self, error: OSError) -> bool:
        """If something is lacking: what stands ready goes, and for a while there is no more of it. Whether that is
        worth another try."""
        if error.errno not in SHORTAGE_HINTS:
            return False
        self.short_until = time.monotonic() + IDLE_TIMEOUT_S
        self.standby_shells.discard_all()
        self.standby_keepers.stop_all()
        ready, until = self.has_standby(), time.monotonic() + _STANDBY_EXIT_TIMEOUT_S
        while self.has_standby() and time.monotonic() < until:
            time.sleep(_EXIT_POLL_S)  # until it is reaped it counts
            self.reap()
        return ready

    def has_standby(self) -> bool:
        """Whether there is a shell or a keeper that was started ahead and has no command."""
        return bool(self.standby_shells.pids) or None in self.keepers.values()

    def unpack_fds(self, start: StartMessage, fds: list[int]) -> Iterator[int | None]:
        """Text, stdin, state and folder, each if it was sent. OSError: not all have arrived."""
        wanted = (start.text is None, start.has_stdin, start.has_state, bool(start.task))
        if len(fds) < sum(wanted):  # the kernel drops what finds no free descriptor
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
        """Say that it is started, and let it begin. OSError: it could not be, and has not. CalledOff: nor is it to.

        In this order: what nobody has heard of has not begun, and may be asked for again. But it is up and at its gate
        before the host is woken, which on a few processors would be in its way.
        """
        shell = self.standby_shells.take(start)
        if shell is None or not shell.send_command(start):
            if shell is not None:
                shell.kill()  # somebody killed it just now
            shell = self.spawn(start, text, stdin, state)
            shell.send_command(start)
        try:
            early.check()
            if record is not None:
                record.write_process_file(shell.pid, shell.pid, start.tag)
            message = b"%b\0%d\0%d" % (STARTED, shell.pid, os.getpid())
            control.send(message, shell.pipes if record is None else ())
        except (OSError, CancelledBeforeStart) as error:
            if record is None or not isinstance(error, ConnectionError):  # a task needs nobody to wait for it
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
        words = os.strerror(number) if number else str(error)
        message = b"%b\0%d\0%b" % (FAILED, number, words.encode("utf-8", "replace"))
        self.answer(control, encode_ended(-1, CANCEL, 0.0) if isinstance(error, CancelledBeforeStart) else message)
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
            pass  # nobody waits any more; the channel's end is noticed in the loop


def too_many() -> OSError:
    return OSError(errno.EMFILE, os.strerror(errno.EMFILE))
