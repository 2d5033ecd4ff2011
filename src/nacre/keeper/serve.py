"""The keeper process: one loop that starts runs, notices their ends, and ends them when asked, late or abandoned.

Takes START messages from the host; answers each on the run's own channel with STARTED or FAILED, then ENDED. A channel
that closes means nobody waits any more: a run in progress is ended, what an ended run left behind is drained. When the
host is gone everything is ended, and with its last duty the keeper goes. Knows nothing of output but how to throw it
away.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import socket
import time
from heapq import heappop, heappush

from nacre.keeper import processes
from nacre.keeper.run import CANCEL, TIMEOUT, Run, send_signal
from nacre.keeper.spare import Spare
from nacre.keeper.spawn import FIRST_FREE_FD, spawn
from nacre.keeper.system import LINUX, become_keeper
from nacre.keeper.wire import CLEAN, FAILED, START, STARTED, Channel, Garbled, Start, environment_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAIN_FD = 3
_POLITE = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "PIPE", "TSTP", "TTIN", "TTOU", "VTALRM", "PROF")
_SWALLOW = bytearray(256 * 1024)
_REST = 0.01


class Keeper:
    def __init__(self, main: Channel, files: tuple[int, int]) -> None:
        self.main = main
        self.files = files
        self.environment: tuple[bytes, dict[bytes, bytes]] = b"", {}
        """The last one, in both forms."""
        self.spare = Spare()
        self.likely: Start | None = None
        """What the next command will probably be like."""
        self.selector = selectors.DefaultSelector()
        self.runs: dict[int, Run] = {}
        self.shells: dict[int, Run] = {}
        self.adopted: dict[int, Run | None] = {}
        """Orphans by pid; None for one that no run can be found for."""
        self.killed: set[int] = set()
        """Tags of runs that were ended: whatever turns up with one is ended too."""
        self.timers: list[tuple[float, int, int, Callable[[float], None]]] = []
        self.directories: list[bytes] = []
        """Private directories of the host, to be removed at the end."""
        self.count = 0
        self.host_gone = False
        self.idle = False
        """A run has ended in this round of the loop."""
        self.children = processes.own_children()

    # the loop

    def serve(self) -> None:
        self.watch(self.main, self.hear_host)
        self.watch_signals()
        self.watch_host()
        while self.runs or not self.host_gone:
            for key, _ in self.selector.select(self.pause()):
                if self.selector.get_map().get(key.fd) is key:  # an earlier event of this round may have closed it
                    key.data()
            now = time.monotonic()
            while self.timers and self.timers[0][0] <= now:
                _, _, tag, action = heappop(self.timers)
                if tag in self.runs:
                    action(now)
            self.mind_spare(now)
        self.spare.dismiss()

        for directory in self.directories:
            remove(directory)

    def pause(self) -> float | None:
        due = [when for when in (self.timers[0][0] if self.timers else None, self.spare.due()) if when is not None]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def mind_spare(self, now: float) -> None:
        """After a run has ended, when nobody waits for us: make ready for the next."""
        if self.idle and self.likely is not None and not self.host_gone:
            self.spare.prepare(self.likely, environment_of(self.likely.env))
        self.idle = False
        due = self.spare.due()
        if due is not None and due <= now:
            self.spare.dismiss()

    def at(self, when: float, run: Run, action: Callable[[float], None]) -> None:
        """Call when it is time, if the run is still there."""
        if len(self.timers) > 4 * len(self.runs) + 64:  # mostly deadlines of runs that ended long before
            self.timers = sorted(timer for timer in self.timers if timer[2] in self.runs)
        self.count += 1
        heappush(self.timers, (when, self.count, run.tag, action))

    def watch(self, source: Channel | int | socket.socket, action: Callable[[], None]) -> None:
        self.selector.register(source, selectors.EVENT_READ, action)

    def watch_signals(self) -> None:
        read, write = socket.socketpair()
        read.setblocking(False)
        write.setblocking(False)
        signal.set_wakeup_fd(write.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        write.detach()

        def child_ended() -> None:
            try:
                while len(read.recv(4096)) == 4096:
                    pass
            except BlockingIOError:
                pass
            self.reap()

        self.watch(read, child_ended)

    def watch_host(self) -> None:
        """A child that the host forked may hold our socket open after the host is dead."""
        if not LINUX:
            return
        try:
            host = os.pidfd_open(os.getppid())
        except OSError:
            return  # an old kernel; the socket has to do

        def host_ended() -> None:
            self.forget(host)
            os.close(host)
            self.lose_host()

        self.watch(host, host_ended)

    def forget(self, source: Channel | int) -> None:
        try:
            self.selector.unregister(source)
        except (KeyError, ValueError):
            pass  # never watched, or closed

    # what the host says

    def hear_host(self) -> None:
        try:
            while (message := self.main.receive()) is not None:
                data, fds = message
                verb, _, rest = data.partition(b"\0")
                try:
                    if verb == START and fds:
                        self.start(Start.parse(data), fds)
                    elif verb == CLEAN:
                        self.directories.append(rest)
                except Garbled:
                    pass  # the run's own channel closes below, which says it all
                finally:
                    for fd in fds:
                        os.close(fd)
        except EOFError:
            self.lose_host()

    def start(self, start: Start, fds: list[int]) -> None:
        """Takes what it keeps out of `fds`."""
        control = Channel(socket.socket(fileno=fds.pop(0)))
        wanted = (start.text is None, start.has_stdin, start.has_state)
        if len(fds) != sum(wanted):
            control.close()
            raise Garbled("descriptors")
        rest = iter(fds)
        text, stdin, state = (next(rest) if want else None for want in wanted)
        try:
            if start.env != self.environment[0]:
                self.environment = start.env, environment_of(start.env)
            shell = self.spare.take(start) or spawn(start, self.environment[1], text, stdin, state)
        except OSError as error:
            self.answer(control, b"%b\0%d\0%b" % (FAILED, error.errno or 0, str(error.strerror).encode()))
            control.close()
            return
        shell.release(start, self.files)
        run = Run(start, shell, control)
        if start.reusable:
            self.likely = start
        self.runs[run.tag] = self.shells[run.pid] = run
        self.watch(control, lambda: self.hear_run(run))
        if run.deadline < float("inf"):
            self.at(run.deadline, run, lambda _: self.time_out(run))
        self.answer(control, b"%b\0%d" % (STARTED, run.pid), run.fds)

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
            self.forget(run.control)
            self.drain(run)
            message = b"", []
        if message is not None and not run.ended:
            self.end(run, CANCEL)

    def time_out(self, run: Run) -> None:
        if not run.ended:
            self.end(run, TIMEOUT)

    def lose_host(self) -> None:
        if self.host_gone:
            return
        self.host_gone = True
        self.forget(self.main)
        for run in list(self.runs.values()):
            self.drain(run)
            self.end(run, CANCEL)
        for pid, run_or_none in self.adopted.items():
            if run_or_none is None:
                send_signal(pid, signal.SIGKILL)

    # how runs end

    def reap(self) -> None:
        touched: list[Run] = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
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
            touched.append(run)
        if touched:
            self.adopt()
            for run in touched:
                if run.tag in self.runs:
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
        if tag in self.killed:
            send_signal(pid, signal.SIGKILL)
            return None
        if tag in self.runs:
            return self.runs[tag]
        seen = processes.look(pid)
        for run in self.runs.values():
            if tag in run.foreign or (seen is not None and seen.sid == run.pid):
                return run
        return None

    def review(self, run: Run) -> None:
        """Something of this run has died: is it over?"""
        if run.kill_at is not None:
            self.climb(run, time.monotonic())
        elif run.ended:
            if not run.members():
                self.drop(run)
        elif run.status is not None:
            members = run.members()
            if run.patience and any(processes.is_fork(seen) for seen in members.values()):
                run.patience -= 1
                self.at(time.monotonic() + _REST / 2, run, lambda _: self.review(run))
            elif members and not run.keep:
                self.end(run, run.reason)
            else:
                self.finish(run)

    def end(self, run: Run, reason: bytes) -> None:
        if run.kill_at is None:
            self.adopt()
            run.begin_ending(reason if run.status is None else run.reason)
            self.killed.add(run.tag)
            self.climb(run, time.monotonic(), timed=True)

    def climb(self, run: Run, now: float, *, timed: bool = False) -> None:
        """`timed`: this call keeps the ladder's clock; others are only a look because something died."""
        if run.tag not in self.runs:
            return
        self.adopt()
        again = run.climb(now)
        if again is None:
            self.finish(run)
        elif timed:
            self.at(again, run, lambda then: self.climb(run, then, timed=True))

    def finish(self, run: Run) -> None:
        members = run.members()
        if not run.ended:
            run.report(members)
            self.idle = True
        if not members or run.kill_at is not None:
            self.drop(run)

    def drop(self, run: Run) -> None:
        self.runs.pop(run.tag, None)
        self.shells.pop(run.pid, None)
        self.forget(run.control)
        run.control.close()
        for fd in run.fds:
            self.forget(fd)
            os.close(fd)
        run.fds.clear()

    # what nobody reads

    def drain(self, run: Run) -> None:
        """Read and throw away, so that whoever still writes neither blocks nor dies of a closed pipe."""
        for fd in run.fds:
            self.forget(fd)
            self.watch(fd, lambda fd=fd: self.swallow(run, fd))  # type: ignore[misc]

    def swallow(self, run: Run, fd: int) -> None:
        try:
            count = os.readv(fd, [_SWALLOW])
        except BlockingIOError:
            return
        if count == 0:
            self.forget(fd)
        elif count == len(_SWALLOW):
            # a flood: let it wait a little rather than the other runs
            self.forget(fd)
            self.at(time.monotonic() + _REST, run, lambda _: self.resume(run, fd))

    def resume(self, run: Run, fd: int) -> None:
        if fd in run.fds:
            self.watch(fd, lambda: self.swallow(run, fd))


def remove(directory: bytes) -> None:
    """A flat directory and its files."""
    try:
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        os.rmdir(directory)
    except OSError:
        pass


def prepare() -> tuple[int, int]:
    """Make this process fit to be a keeper; gives the RLIMIT_NOFILE that commands shall have."""
    for name in os.listdir("/dev/fd"):
        if int(name) > MAIN_FD:
            try:
                os.close(int(name))  # whatever the host had open without close-on-exec
            except OSError:
                pass  # the listing's own
    os.set_inheritable(MAIN_FD, False)
    os.chdir("/")
    for name in _POLITE:
        signal.signal(getattr(signal, "SIG" + name), signal.SIG_IGN)
    become_keeper()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        pass  # macOS says unlimited and does not mean it
    null = os.open(os.devnull, os.O_RDWR)
    while os.dup(null) < FIRST_FREE_FD - 1:
        pass
    return soft, hard


def main() -> None:
    files = prepare()
    Keeper(Channel(socket.socket(fileno=MAIN_FD)), files).serve()
