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
from nacre.keeper.protocol.messages import ADOPT, ADOPTED, CLEAN, FAILED, START, Adoption, Garbled, Start
from nacre.keeper.protocol.private_tmpdir import finish_removing, remove_scratch, remove_tree
from nacre.keeper.protocol.signals import stop
from nacre.keeper.protocol.task_dir import STDIN
from nacre.keeper.server.drain import drain
from nacre.keeper.server.pending import CalledOff, Early
from nacre.keeper.server.priority import precede
from nacre.keeper.server.run import Run
from nacre.keeper.server.starter import Launcher, too_many
from nacre.keeper.server.startup_check import going
from nacre.keeper.server.supervisor import BECOMING, Care, note
from nacre.keeper.server.task_record import Record, oom_kills
from nacre.keeper.spawn.fork_keeper import FREE

_LOOK = 0.05
"""Seconds between two looks at what a run costs."""
_LOOK_OFTEN = 0.01
"""The same for a run some of whose computing nobody is told of: a look tells."""
_OFTEN = 0.5
"""Seconds between two looks for a host that cannot be watched."""
_HOST_GONE = b"the end of its host"
_MOMENT, _SOON = 0.0002, 0.002
_SETTLING = 0.001
_SETTLED = 0.5
"""Seconds after which a task that has not ended is said to be going, whatever it does."""


class Keeper(Launcher):
    def __init__(self, main: Channel, files: tuple[int, int], host: int | None = None, *, alone: bool = False) -> None:
        super().__init__(files)
        self.main = main
        self.host = host
        """A descriptor of the host's process, if there is such a thing here."""
        self.alone = alone
        """For one run at a time, or for a task."""
        self.directories: list[bytes] = []
        """Private directories, to be removed at the end."""

    def listen(self) -> None:
        """To the host, to its end, and to that of children. OSError: something is lacking for it."""
        self.loop.watch(self.main, self.hear_host)
        self.loop.watch_children(self.reap)
        if self.host is not None:
            self.loop.watch(self.host, self.lose_host)

    def serve(self) -> None:
        while self.runs or not self.closing:
            self.loop.turn(min((due for due in (self.spare.due(), self.heirs.due()) if due is not None), default=None))
            if self.likely is not None:
                self.get_ready(self.likely)
                self.likely = None
            self.spare.expire()
            self.heirs.expire()
        self.spare.dismiss()
        self.heirs.dismiss()
        self.sweep()
        finish_removing()
        for directory in self.directories:
            remove_tree(directory)

    def get_ready(self, like: Start) -> None:
        """For a command like this one."""
        if self.is_short:
            return
        try:
            if like.apart and not self.alone:
                self.heirs.prepare(like, self)
            elif not like.private:  # which is never the same again: no shell would fit
                self.spare.prepare(like, self.variables(like), self.files, self.confinement(like))
        except OSError as error:
            self.give_way(error)  # the command itself will say what is wrong

    # what the host says

    def hear_host(self) -> None:
        fds: list[int] = []
        try:
            while (message := self.main.receive()) is not None:
                data, fds = message
                verb, _, rest = data.partition(b"\0")
                if verb == START:
                    self.hear_start(Start.parse(data), data, fds)
                elif verb == CLEAN:
                    self.directories.append(rest)
                close_all(fds)
                if self.closing:
                    return
        except Garbled:
            close_all(fds)  # the run's own channel among them, which says it all
            if self.alone:
                self.close_main()
        except EOFError:
            if self.alone:
                self.close_main()
            else:
                self.lose_host()

    def hear_start(self, start: Start, message: bytes, fds: list[int]) -> None:
        """What is private to it is this keeper's from now on, or that of the one that it is handed over to."""
        if not fds:
            self.give_way(too_many())  # its channel found no free descriptor and is gone; the next one's may
        if start.apart and not self.alone:
            if not (fds and self.start_apart(start, message, fds)):
                remove_scratch(start.private)
            return
        if start.private:
            self.directories.append(start.private)
        if self.alone and (start.task or not LINUX):
            self.close_main()
        if fds:
            self.start(start, fds)
        elif self.alone:
            self.come_back()

    def finish(self, run: Run) -> None:
        if self.alone:
            self.come_back(run.scratch)  # before its end is told: who hears of that may have another run at once
        super().finish(run)

    def come_back(self, scratch: bytes = b"") -> None:
        """To the keeper that this one was forked off, for another run, unless something is left of the last one."""
        if self.closing:
            return
        try:
            if not set(self.children()) - self.spare.pids:
                for directory in filter(None, (scratch, *self.directories)):
                    os.rmdir(directory)
                self.directories.clear()
                self.main.send(FREE)
                return
        except OSError:
            pass  # one is not empty; or nobody is there any more
        self.close_main()

    def close_main(self) -> None:
        """It has what it is for."""
        self.closing = True
        self.loop.forget(self.main)
        self.main.close()

    def start_apart(self, start: Start, message: bytes, fds: list[int]) -> bool:
        """Whether somebody has taken it over."""
        try:
            try:
                self.heirs.inherit(start, message, fds, self)
            except OSError as error:
                if not self.give_way(error):
                    raise
                self.heirs.inherit(start, message, fds, self)
        except OSError as error:
            control = Channel(socket.socket(fileno=fds.pop(0)))
            killed = isinstance(error, ConnectionError)
            self.fail(control, OSError("its keeper was killed before it began") if killed else error)
            return False
        return True

    def start(self, start: Start, fds: list[int]) -> None:
        """Takes what it keeps out of `fds`."""
        control = Channel(socket.socket(fileno=fds.pop(0)))
        early = Early(control, waited_for=not start.task)
        record: Record | None = None
        orders = Orders(self)
        held = noted = None
        try:
            early.check()  # what a host has given up is not to keep waiting what it has not, only to be ended
            text, stdin, state, folder = self.files_of(start, fds)
            if folder is not None:
                record = Record(os.dup(folder), start.task, start.cap, self.loop, orders, protection=start.protection)
                held = None if stdin is None else _open_input(folder)  # or it would be at its end before it begins
            noted = os.dup(state) if start.ender and state is not None else None
            shell = self.launch(start, control, early, record, text, stdin, state)
        except (OSError, ValueError, CalledOff) as error:
            if record is not None:
                record.abandon()
            close_all([fd for fd in (held, noted) if fd is not None])
            early.forget()
            if self.alone:
                self.come_back()
            self.fail(control, error)
            return
        run = orders.run = Run(start, shell, control)
        run.record = record
        run.input = held
        run.note = noted
        self.runs[run.tag] = self.shells[run.pid] = run
        if start.ender:
            note(self.reached, run.tag)
        self.loop.watch(control, lambda: self.hear_run(run))
        if run.deadline < float("inf"):
            self.loop.at(run.deadline, run.tag, lambda: self.time_out(run))
        confinement = self.confinement(start)
        if confinement is not None and confinement.watched:
            self.measured.add(run.tag)
            precede(True)
            self.loop.at(run.began + _LOOK, run.tag, lambda: self.measure(run, confinement.watched))
        run.oom_kills = oom_kills()  # it takes a while to ask, so not before it runs
        if record is not None:
            drain(self.loop, run, alone=self.alone)
            self.settle(run)
        if early.adoption is not None:
            self.obey(run, *early.adoption)

    def hear_run(self, run: Run) -> None:
        try:
            message = run.control.receive()
        except Garbled:
            message = b"", []
        except EOFError:
            self.loop.forget(run.control)
            if run.record is not None:
                return
            drain(self.loop, run)
            message = b"", []
        if message is not None:
            self.obey(run, *message)

    def obey(self, run: Run, message: bytes, fds: list[int]) -> None:
        """Anything the host says on a run's channel means: end it; but for ADOPT. So does silence for good, unless it
        is a task, which needs nobody to wait."""
        try:
            if message.startswith(ADOPT):
                self.make_task(run, Adoption.parse(message), fds)
                return
        except Garbled:
            pass
        finally:
            close_all(fds)
        if not run.ended or run.record is not None:
            self.end(run, CANCEL)

    def time_out(self, run: Run) -> None:
        """What an ordinary command leaves running when its shell has exited in time is not late."""
        if not run.ended and (run.status is None or run.record is not None):
            self.end(run, TIMEOUT)

    def measure(self, run: Run, watched: list[tuple[bytes, float]]) -> None:
        """Again and again while it lives; the longer a look takes, the less often."""
        if run.kill_at is not None:
            return
        began = time.thread_time()
        self.adopt()
        members = run.members(next((int(limit) for name, limit in watched if name == b"processes"), None))
        over = run.meter.look(watched, members)
        if over.startswith(b"memory") and not run.suspect:
            run.suspect = True  # a look at many processes while they fork can count the same memory twice
            self.loop.at(time.monotonic() + BECOMING, run.tag, lambda: self.measure(run, watched))
            return
        run.suspect = False
        if over:
            stop(members)  # before anything else is looked up: they may leave the keeper next to no time
            self.end(run, b"%b %b" % (LIMIT, over))
        else:
            least = _LOOK_OFTEN if run.meter.loses_time else _LOOK
            pause = max(least, 10 * (time.thread_time() - began))
            self.loop.at(time.monotonic() + pause, run.tag, lambda: self.measure(run, watched))

    def lose_host(self) -> None:
        self.closing = True
        if self.host is not None:
            self.loop.forget(self.host)
        self.loop.forget(self.main)
        for run in list(self.runs.values()):
            if run.record is None:
                drain(self.loop, run)
                self.end(run, CANCEL)
            elif not run.record.detached:
                self.end(run, b"%b %b" % (KILL, _HOST_GONE))

    # tasks

    def settle(self, run: Run, asleep: bool = False) -> None:
        """Say that it is going, once it is: what fails at once has ended before. `asleep`: it was, a moment ago."""
        if run.status is not None:
            return  # its end is about to be told, or that something of it goes on
        sleeps = False
        if LINUX and time.monotonic() < run.began + _SETTLED:
            stage = going(run.pid)
            while stage is False and self.alone and time.monotonic() < run.began + _SOON:
                time.sleep(_MOMENT)  # the loop's own clock is too coarse, and there is nobody else to wait for it
                stage = going(run.pid)
            sleeps = stage is None
            if not (stage or (sleeps and asleep)):
                self.loop.at(time.monotonic() + _SETTLING, run.tag, lambda: self.settle(run, sleeps))
                return
        run.say_going()

    def make_task(self, run: Run, adoption: Adoption, fds: list[int]) -> None:
        """Of a run in progress, or of what an ended one has left running."""
        self.adopt()
        members = run.members()
        principal = next(iter(members.values()), None) if run.status is not None else procfs.look(run.pid)
        orders = Orders(self)
        orders.run = run
        record: Record | None = None
        try:
            if principal is None or (run.ended and adoption.live):
                raise ProcessLookupError(errno.ESRCH, "it has ended")
            if not fds:  # the kernel drops what finds no free descriptor
                raise too_many()
            record = Record(
                os.dup(fds[0]),
                adoption.task,
                adoption.cap,
                self.loop,
                orders,
                seen=adoption.seen,
                detached=adoption.detached,
                protection=adoption.protection,
            )
            record.begin(principal.pid, principal.pgid, run.tag)
        except OSError as error:
            if record is not None:
                record.abandon()
            self.answer(run.control, b"%b\0%d\0%b" % (FAILED, error.errno or 0, str(error.strerror or "").encode()))
            return
        run.record = record
        if self.alone:
            self.close_main()
        if run.status is not None:
            run.principal = principal.pid
        if self.host is None and self.alone and not record.detached:
            self.watch_parent(run, os.getppid())
        drain(self.loop, run, alone=self.alone)
        self.answer(run.control, b"%b\0%d\0%d" % (ADOPTED, principal.pid, principal.pgid))
        self.review(run)

    def watch_parent(self, run: Run, parent: int) -> None:
        """Where a process cannot be watched: the keeper that this one was forked off ends with the host."""
        if os.getppid() != parent:
            self.lose_host()
        else:
            self.loop.at(time.monotonic() + _OFTEN, run.tag, lambda: self.watch_parent(run, parent))


class Orders:
    """What a task's guests can have done."""

    __slots__ = ("_care", "run")

    def __init__(self, care: Care) -> None:
        self._care = care
        self.run: Run | None = None

    def kill(self, number: int, grace: float, who: str) -> None:
        if self.run is not None:
            self._care.kill(self.run, number, grace, who)

    def close_input(self) -> None:
        if self.run is not None:
            self.run.close_input()


def _open_input(folder: int) -> int | None:
    """Our end of its standard input, which keeps it open; None if it is not one that others can write to."""
    try:
        return os.open(STDIN, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return None
