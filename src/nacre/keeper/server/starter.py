"""What it takes to start a run: a shell that stands ready, or a new one, and a word to the host before it begins.

Where something is lacking, what stands ready gives way. Knows neither how runs are asked for nor how they end.
"""

from __future__ import annotations

import errno
import os
import time

from nacre.keeper.protocol.channel import Channel
from nacre.keeper.protocol.ending import CANCEL
from nacre.keeper.protocol.messages import FAILED, STARTED, Garbled, Start, environment_of
from nacre.keeper.protocol.shortages import LACKS
from nacre.keeper.server.pending import CalledOff, Early
from nacre.keeper.server.run import ended
from nacre.keeper.server.supervisor import Care
from nacre.keeper.server.task_record import Record
from nacre.keeper.spawn.shell import Shell, spawn
from nacre.keeper.spawn.standby_keepers import Heirs
from nacre.keeper.spawn.standby_shells import PATIENCE

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nacre.sandbox.kernel.ruleset import Confinement

_GIVING_WAY = 1.0
"""Seconds for what stands ready to be gone."""
_MOMENT = 0.0002


class Launcher(Care):
    def __init__(self, files: tuple[int, int]) -> None:
        super().__init__()
        self.files = files
        """The RLIMIT_NOFILE that commands get."""
        self.heirs = Heirs()
        self.short_until = 0.0
        """Until then nothing is started ahead."""
        self.environment: tuple[bytes, dict[bytes, bytes]] = b"", {}
        """The last one, in both forms."""
        self.confined: tuple[bytes, Confinement | None] = b"", None
        """The last one, in both forms."""

    @property
    def is_short(self) -> bool:
        """There is hardly enough for what is asked for."""
        return time.monotonic() < self.short_until

    def give_way(self, error: OSError) -> bool:
        """If something is lacking: what stands ready goes, and for a while there is no more of it. Whether that is
        worth another try."""
        if error.errno not in LACKS:
            return False
        self.short_until = time.monotonic() + PATIENCE
        self.spare.dismiss()
        self.heirs.dismiss()
        ready, until = self.unused(), time.monotonic() + _GIVING_WAY
        while self.unused() and time.monotonic() < until:
            time.sleep(_MOMENT)  # until it is reaped it counts
            self.reap()
        return ready

    def unused(self) -> bool:
        """Whether there is a shell or a keeper that was started ahead and has no command."""
        return bool(self.spare.pids) or None in self.keepers.values()

    def files_of(self, start: Start, fds: list[int]) -> Iterator[int | None]:
        """Text, stdin, state and folder, each if it was sent. OSError: not all have arrived."""
        wanted = (start.text is None, start.has_stdin, start.has_state, bool(start.task))
        if len(fds) < sum(wanted):  # the kernel drops what finds no free descriptor
            self.give_way(too_many())
            raise too_many()
        if len(fds) > sum(wanted):
            raise Garbled("descriptors")
        rest = iter(fds)
        return (next(rest) if want else None for want in wanted)

    def launch(
        self,
        start: Start,
        control: Channel,
        early: Early,
        record: Record | None,
        text: int | None,
        stdin: int | None,
        state: int | None,
    ) -> Shell:
        """Say that it is started, and let it begin. OSError: it could not be, and has not. CalledOff: nor is it to.

        In this order: what nobody has heard of has not begun, and may be asked for again. But it is up and at its gate
        before the host is woken, which on a few processors would be in its way.
        """
        shell = self.spare.take(start)
        if shell is None or not shell.hand(start):
            if shell is not None:
                shell.end()  # somebody killed it just now
            shell = self.spawn(start, text, stdin, state)
            shell.hand(start)
        try:
            early.check()
            if record is not None:
                record.begin(shell.pid, shell.pid, start.tag)
            message = b"%b\0%d\0%d" % (STARTED, shell.pid, os.getpid())
            control.send(message, shell.pipes if record is None else ())
        except (OSError, CalledOff) as error:
            if record is None or not isinstance(error, ConnectionError):  # a task needs nobody to wait for it
                shell.end()
                raise
        shell.release(start)
        return shell

    def spawn(self, start: Start, text: int | None, stdin: int | None, state: int | None) -> Shell:
        needs = start, self.variables(start), self.files, text, stdin, state, self.confinement(start)
        try:
            return spawn(*needs)
        except OSError as error:
            if not self.give_way(error):
                raise
            return spawn(*needs)

    def fail(self, control: Channel, error: OSError | ValueError | CalledOff) -> None:
        number = getattr(error, "errno", None) or 0
        words = os.strerror(number) if number else str(error)
        message = b"%b\0%d\0%b" % (FAILED, number, words.encode("utf-8", "replace"))
        self.answer(control, ended(-1, CANCEL, 0.0) if isinstance(error, CalledOff) else message)
        control.close()

    def variables(self, start: Start) -> dict[bytes, bytes]:
        if start.env != self.environment[0]:
            self.environment = start.env, environment_of(start.env)
        return self.environment[1]

    def confinement(self, start: Start) -> Confinement | None:
        if not start.confinement:
            return None
        if start.confinement != self.confined[0]:
            from nacre.sandbox.kernel.ruleset import Confinement

            self.confined = start.confinement, Confinement.decode(start.confinement)
        return self.confined[1]

    def answer(self, control: Channel, message: bytes, fds: Sequence[int] = ()) -> None:
        try:
            control.send(message, fds)
        except OSError:
            pass  # nobody waits any more; the channel's end is noticed in the loop


def too_many() -> OSError:
    return OSError(errno.EMFILE, os.strerror(errno.EMFILE))
