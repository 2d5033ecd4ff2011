"""The keeper: starts runs, notices their ends, and ends them when asked, late or abandoned.

Takes START messages from the host; answers each on the run's own channel with STARTED or FAILED, then ENDED. A channel
that closes means nobody waits any more: a run in progress is ended, what an ended run left behind is drained. When the
host is gone everything is ended, and with its last duty the keeper goes. Knows nothing of output but how to throw it
away.
"""

from __future__ import annotations

import os
import signal
import socket
import time

from nacre.keeper import processes
from nacre.keeper.drain import drain
from nacre.keeper.loop import Loop
from nacre.keeper.meter import exceeded
from nacre.keeper.precedence import precede
from nacre.keeper.run import CANCEL, GIVE_UP, LIMIT, TIMEOUT, Run, send_signal
from nacre.keeper.scratch import finish_removing, remove_scratch, remove_tree
from nacre.keeper.spare import Spare
from nacre.keeper.spawn import spawn
from nacre.keeper.wire import CLEAN, FAILED, START, STARTED, Channel, Garbled, Start, environment_of
from nacre.system import LINUX

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nacre.sandbox.confinement import Confinement

_LOOK = 0.05
"""Seconds between two looks at what a run costs."""
_BECOMING = 0.005
"""Seconds until a fork has surely become the program it is to run."""


class Keeper:
    def __init__(self, main: Channel, files: tuple[int, int]) -> None:
        self.main = main
        self.files = files
        """The RLIMIT_NOFILE that commands get."""
        self.host_gone = False
        self.runs: dict[int, Run] = {}
        """By tag: in progress, or with processes left over."""
        self.shells: dict[int, Run] = {}
        """By pid, while the shell lives."""
        self.adopted: dict[int, Run | None] = {}
        """Orphans by pid; None for one that no run can be found for."""
        self.killed: set[int] = set()
        """Tags of runs that were ended: whatever turns up with one is ended too."""
        self.measured: set[int] = set()
        """Tags of runs whose costs are counted: while there are any, the keeper must not have to wait."""
        self.directories: list[bytes] = []
        """Private directories of the host, to be removed at the end."""
        self.environment: tuple[bytes, dict[bytes, bytes]] = b"", {}
        """The last one, in both forms."""
        self.confined: tuple[bytes, Confinement | None] = b"", None
        """The last one, in both forms."""
        self.spare = Spare()
        self.likely: Start | None = None
        """What the next command will probably be like, once a run has ended."""
        self.children = processes.own_children()
        self.loop = Loop(self.runs)

    def serve(self) -> None:
        self.loop.watch(self.main, self.hear_host)
        self.loop.watch_children(self.reap)
        self.watch_host()
        while self.runs or not self.host_gone:
            self.loop.turn(self.spare.due())
            if self.likely is not None:
                like = self.likely
                self.spare.prepare(like, self.variables(like), self.files, self.confinement(like))
                self.likely = None
            self.spare.expire()
        self.spare.dismiss()
        self.sweep()
        finish_removing()
        for directory in self.directories:
            remove_tree(directory)

    # what the host says

    def watch_host(self) -> None:
        """A child that the host forked may hold our socket open after the host is dead."""
        if not LINUX:
            return
        try:
            host = os.pidfd_open(os.getppid())
        except OSError:
            return  # an old kernel; the socket has to do

        def host_ended() -> None:
            self.loop.forget(host)
            os.close(host)
            self.lose_host()

        self.loop.watch(host, host_ended)

    def hear_host(self) -> None:
        fds: list[int] = []
        try:
            while (message := self.main.receive()) is not None:
                data, fds = message
                verb, _, rest = data.partition(b"\0")
                if verb == START and fds:
                    self.start(Start.parse(data), fds)
                elif verb == CLEAN:
                    self.directories.append(rest)
                _close(fds)
        except Garbled:
            _close(fds)  # the run's own channel among them, which says it all
        except EOFError:
            self.lose_host()

    def start(self, start: Start, fds: list[int]) -> None:
        """Takes what it keeps out of `fds`."""
        control = Channel(socket.socket(fileno=fds.pop(0)))
        wanted = (start.text is None, start.has_stdin, start.has_state)
        if len(fds) != sum(wanted):
            raise Garbled("descriptors")
        rest = iter(fds)
        text, stdin, state = (next(rest) if want else None for want in wanted)
        try:
            confinement = self.confinement(start)
            shell = self.spare.take(start)
            if shell is not None and not shell.release(start):
                shell.abandon()  # somebody killed it just now
                shell = None
            if shell is None:
                shell = spawn(start, self.variables(start), self.files, text, stdin, state, self.confinement(start))
                shell.release(start)
        except (OSError, ValueError) as error:
            number = getattr(error, "errno", None) or 0
            self.answer(
                control, b"%b\0%d\0%b" % (FAILED, number, (os.strerror(number) if number else str(error)).encode())
            )
            control.close()
            return
        run = Run(start, shell, control)
        self.runs[run.tag] = self.shells[run.pid] = run
        self.loop.watch(control, lambda: self.hear_run(run))
        if run.deadline < float("inf"):
            self.loop.at(run.deadline, run.tag, lambda: self.time_out(run))
        if confinement is not None and confinement.watched:
            self.measured.add(run.tag)
            precede(True)
            self.loop.at(run.began + _LOOK, run.tag, lambda: self.measure(run, confinement.watched))
        self.answer(control, b"%b\0%d" % (STARTED, run.pid), run.fds)

    def variables(self, start: Start) -> dict[bytes, bytes]:
        if start.env != self.environment[0]:
            self.environment = start.env, environment_of(start.env)
        return self.environment[1]

    def confinement(self, start: Start) -> Confinement | None:
        if not start.confinement:
            return None
        if start.confinement != self.confined[0]:
            from nacre.sandbox.confinement import Confinement

            self.confined = start.confinement, Confinement.decode(start.confinement)
        return self.confined[1]

    def answer(self, control: Channel, message: bytes, fds: Sequence[int] = ()) -> None:
        try:
            control.send(message, fds)
        except OSError:
            pass  # nobody waits any more; the channel's end is noticed in the loop

    def hear_run(self, run: Run) -> None:
        """Anything the host says on a run's channel means: end it. So does silence for good."""
        try:
            message = run.control.receive()
        except EOFError:
            self.loop.forget(run.control)
            drain(self.loop, run)
            message = b"", []
        if message is not None and not run.ended:
            self.end(run, CANCEL)

    def time_out(self, run: Run) -> None:
        if not run.ended:
            self.end(run, TIMEOUT)

    def measure(self, run: Run, watched: list[tuple[bytes, float]]) -> None:
        """Again and again while it lives; the longer a look takes, the less often."""
        if run.kill_at is not None:
            return
        began = time.thread_time()
        self.adopt()
        over = exceeded(watched, run.members(), run.spent)
        if over.startswith(b"memory") and not run.suspect:
            run.suspect = True  # a look at many processes while they fork can count the same memory twice
            self.loop.at(time.monotonic() + _BECOMING, run.tag, lambda: self.measure(run, watched))
            return
        run.suspect = False
        if over:
            self.end(run, b"%b %b" % (LIMIT, over))
        else:
            pause = max(_LOOK, 10 * (time.thread_time() - began))
            self.loop.at(time.monotonic() + pause, run.tag, lambda: self.measure(run, watched))

    def lose_host(self) -> None:
        if self.host_gone:
            return
        self.host_gone = True
        self.loop.forget(self.main)
        for run in list(self.runs.values()):
            drain(self.loop, run)
            self.end(run, CANCEL)

    def sweep(self) -> None:
        """The last duty: whatever is below us now belongs to nobody else."""
        until = time.monotonic() + GIVE_UP
        while time.monotonic() < until:
            members = processes.tree(set(self.children()))
            for pid in members:
                send_signal(pid, signal.SIGKILL)
            self.reap()
            if not members:
                return
            time.sleep(_BECOMING)

    # how runs end

    def reap(self) -> None:
        touched: list[Run] = []
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if self.spare.died(pid):
                continue
            run = self.shells.pop(pid, None)
            if run is not None:
                run.status = status
                run.stopped = time.monotonic()
            else:
                run = self.adopted.pop(pid, None)
                if run is None:
                    continue
                run.adopted.discard(pid)
            run.spent += usage.ru_utime + usage.ru_stime
            touched.append(run)
        if touched:
            self.adopt()
            for run in touched:
                self.review(run)

    def adopt(self) -> None:
        """Find out whose the orphans are that have come to us."""
        for pid in self.children():
            if pid in self.shells or pid in self.adopted or pid in self.spare.pids:
                continue
            run = self.owner(pid)
            self.adopted[pid] = run
            if run is not None:
                run.adopted.add(pid)

    def owner(self, pid: int) -> Run | None:
        tag = processes.tag_of(pid)
        if tag in self.killed and tag not in self.runs:
            send_signal(pid, signal.SIGKILL)  # it slipped through the ladder
            return None
        if tag in self.runs:
            return self.runs[tag]
        # The tag is gone (`su` resets all limits, and so may the command). Its session or its pipes may still tell;
        # and where there is only one run, it can be nobody else's.
        seen = processes.look(pid)
        pipes = processes.pipes_of(pid)
        for run in self.runs.values():
            if tag in run.foreign or (seen is not None and seen.sid == run.pid) or pipes & run.pipes:
                return run
        return next(iter(self.runs.values())) if len(self.runs) == 1 else None

    def review(self, run: Run) -> None:
        """Something of this run has died, or some time has passed: is it over?"""
        if run.tag not in self.runs:
            return
        if run.kill_at is not None:
            self.climb(run)
        elif run.ended:
            if not run.members():
                self.drop(run)
        elif run.status is not None:
            members = run.members()
            if run.patience and members:
                run.patience -= 1
                self.loop.at(time.monotonic() + _BECOMING, run.tag, lambda: self.review(run))
            elif members and not run.keep:
                self.end(run, run.reason)
            else:
                self.finish(run)

    def end(self, run: Run, reason: bytes) -> None:
        if run.kill_at is None:
            self.adopt()
            run.begin_ending(reason if run.status is None else run.reason, self.adopt)
            self.killed.add(run.tag)
            self.climb(run, timed=True)

    def climb(self, run: Run, *, timed: bool = False) -> None:
        """`timed`: this call keeps the ladder's clock; others are only a look because something died."""
        self.adopt()
        again = run.climb(time.monotonic(), self.adopt)
        if again is None:
            self.finish(run)
        elif timed:
            self.loop.at(again, run.tag, lambda: self.climb(run, timed=True))

    def finish(self, run: Run) -> None:
        members = run.members()
        if not run.ended:
            run.report(members)
            if run.start.reusable and not self.host_gone:
                self.likely = run.start
        if not members or run.kill_at is not None:
            self.drop(run)

    def drop(self, run: Run) -> None:
        self.runs.pop(run.tag, None)
        self.shells.pop(run.pid, None)
        self.loop.forget(run.control)
        run.control.close()
        for fd in run.fds:
            self.loop.forget(fd)
            os.close(fd)
        run.fds.clear()
        if run.tag in self.measured:
            self.measured.discard(run.tag)
            precede(bool(self.measured))
        remove_scratch(run.scratch)


def _close(fds: list[int]) -> None:
    while fds:
        os.close(fds.pop())
