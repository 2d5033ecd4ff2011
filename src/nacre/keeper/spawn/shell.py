"""Start a shell for a start message. It waits for the start signal of `open_start_pipe` before it runs the command.

The shell gets its own session, no terminal, default signal dispositions, and a fixed bootstrap script as its `-c`
argument. The command itself comes through a pipe: so it is in no process's argument list (`pkill -f word` would hit its
own shell), may be of any length, and starts only when the keeper has set its limits.
"""

from __future__ import annotations

import errno
import os
import resource
import signal

from nacre.base.system import LINUX
from nacre.keeper.protocol.bootstrap import (
    DEFERRED_PREFIX,
    FUNCTION_PREFIX,
    START,
    START_DEFERRED,
    START_FROM_FILE,
    START_PIPE_FD,
    STARTUP_VARIABLE,
    STATE_FD,
    TEXT_FD,
    bootstrap_script,
    deferred_bash_argv,
)
from nacre.keeper.protocol.messages import StartMessage, environment_of
from nacre.keeper.protocol.private_tmpdir import make_private_tmpdir, remove_private_tmpdir
from nacre.keeper.protocol.procfs import RLIMIT_LOCKS, TAG_VARIABLE, read_proc_file
from nacre.keeper.protocol.signals import DEFAULT_SIGNALS
from nacre.keeper.spawn.child_process import run_in_fork
from nacre.keeper.spawn.thread import run_in_throwaway_thread

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from nacre.sandbox.kernel.ruleset import Ruleset


FIRST_FREE_FD = 64
"""All descriptors below this one are occupied in the keeper: so no descriptor passed to a shell has the number of one
of its targets there."""
RESERVED_FD = 62
"""An occupied descriptor that is no such target either."""

_NICE = os.getpriority(os.PRIO_PROCESS, 0)


class Shell:
    """A shell that waits for its start signal, and the keeper's ends of its pipes."""

    __slots__ = ("directory", "err", "out", "pid", "private_tmpdir", "start_pipe")

    def __init__(
        self, pid: int, directory: tuple[int, int], out: int, err: int | None, gate: int, scratch: bytes
    ) -> None:
        self.pid = pid
        self.directory = directory
        """Device and inode of its working directory."""
        self.out = out
        self.err = err
        self.start_pipe = gate
        self.private_tmpdir = scratch
        """Path of its private TMPDIR; empty for none."""

    @property
    def pipes(self) -> list[int]:
        """Read ends of its stdout and stderr."""
        return [fd for fd in (self.out, self.err) if fd is not None]

    def send_command(self, start: StartMessage) -> bool:
        """Set its tag and write the command to its pipe. Returns False if the shell is dead."""
        if LINUX:
            _tag(self.pid, start.tag)
        if start.deferred:
            return True  # it reads nothing before the start signal
        try:
            os.write(self.start_pipe, start.text or b"")
        except BrokenPipeError:
            return False
        return True

    def open_start_pipe(self, start: StartMessage) -> None:
        """Send the start signal: the command starts. A shell that was killed meanwhile is ignored here."""
        try:
            go = START if start.text else START_FROM_FILE
            os.write(self.start_pipe, START_DEFERRED + (start.text or b"") + go if start.deferred else go)
        except BrokenPipeError:
            pass  # its exit will be noticed
        finally:
            os.close(self.start_pipe)

    def discard(self) -> None:
        """Close the pipes of a shell that is not needed: without a start signal it exits and runs nothing."""
        os.close(self.start_pipe)
        for fd in self.pipes:
            os.close(fd)
        remove_private_tmpdir(self.private_tmpdir)

    def kill(self) -> None:
        """Discard a shell that is not reaped yet, and send it SIGKILL: if it is stopped, it would not see the closed
        pipe."""
        self.discard()
        os.kill(self.pid, signal.SIGKILL)


def spawn(
    start: StartMessage,
    env: dict[bytes, bytes],
    files: tuple[int, int],
    text: int | None = None,
    stdin: int | None = None,
    state: int | None = None,
    confinement: Ruleset | None = None,
) -> Shell:
    """Start a shell. `files`: its RLIMIT_NOFILE. OSError: it could not be started; nothing is left open."""
    opened: list[int] = []
    scratch = b""

    def pipe() -> tuple[int, int]:
        ends = os.pipe()
        opened.extend(ends)
        return ends

    try:
        out, out_end = pipe()
        os.set_blocking(out, False)
        err, err_end = None, out_end
        if not start.merge:
            err, err_end = pipe()
            os.set_blocking(err, False)
        gate_end, gate = pipe()
        moves = [(0 if stdin is None else stdin, 0), (out_end, 1), (err_end, 2), (gate_end, START_PIPE_FD)]
        # bash cannot restore a redirected descriptor above its limit, and prints an error
        asked = start.report_pipestatus and (start.reports_state or not 0 <= files[0] <= STATE_FD)
        told = state if asked or start.reports_state or not start.report_pipestatus else None
        moves += [(fd, target) for fd, target in ((text, TEXT_FD), (told, STATE_FD)) if fd is not None]
        if confinement is not None and confinement.private_tmpdir:
            scratch = make_private_tmpdir(confinement.private_tmpdir)
            env = {**env, b"TMPDIR": scratch}
            env |= {name: os.path.join(scratch, below) for name, below in confinement.redirects}

        startup = b"BASH_ENV" in env
        if startup:
            env = {**env, STARTUP_VARIABLE.encode(): env[b"BASH_ENV"]}
            del env[b"BASH_ENV"]

        if start.deferred:
            env = _with_deferred_names(env, start.deferred)

        limits = _limits_of(confinement)
        most_files = None if LINUX else files[0]
        text_of_bash = bootstrap_script(
            long=start.text is None,
            session=start.reports_state,
            report_pipestatus=asked,
            waits=start.wait_for_jobs,
            startup=startup,
            files=most_files,
        )

        def begin() -> tuple[int, tuple[int, int]]:
            if confinement is not None:
                from nacre.sandbox.kernel.apply import apply

                apply(confinement, scratch)
            os.chdir(start.cwd)
            try:
                directory = device_and_inode(".")
                pid = os.posix_spawn(
                    start.bash,
                    deferred_bash_argv(start.bash, text_of_bash, most_files)
                    if start.deferred
                    else ["bash", "-c", text_of_bash],
                    env if LINUX else {**env, TAG_VARIABLE.encode(): b"%d" % start.tag},
                    file_actions=[(os.POSIX_SPAWN_DUP2, source, target) for source, target in moves],
                    setsid=True,
                    setsigmask=(),
                    setsigdef=DEFAULT_SIGNALS,
                )
            finally:
                os.chdir("/")
            return pid, directory

        if confinement is None:
            pid, directory = begin()
        else:
            pid, directory = run_in_fork(begin) if confinement.user_namespace else run_in_throwaway_thread(begin)
        if LINUX:
            if _NICE:
                os.setpriority(os.PRIO_PROCESS, pid, _NICE)  # not inherited where this process has real-time priority
            try:
                _limit(pid, [(resource.RLIMIT_NOFILE, files)])
            except OSError:
                pass  # a kernel that denies prlimit for other processes: the shell gets more descriptors than usual
            _limit(pid, limits)
        for fd in (out, err, gate):
            if fd is not None:
                opened.remove(fd)
        return Shell(pid, directory, out, err, gate, scratch)
    except BaseException:
        remove_private_tmpdir(scratch)
        raise
    finally:
        for fd in opened:
            os.close(fd)


def spawn_kill_script(start: StartMessage, number: int, grace: float) -> int:
    """Start the process that kills what signals from here do not reach, and return its PID. It has the run's tag.
    OSError: no process is available."""
    env = environment_of(start.env)
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    pid = os.posix_spawn(
        start.bash,
        (b"bash", b"-c", start.kill_script, b"bash", b"%d" % number, b"%.3f" % grace),
        env if LINUX else {**env, TAG_VARIABLE.encode(): b"%d" % start.tag},
        file_actions=null,
        setsid=True,
        setsigmask=(),
        setsigdef=DEFAULT_SIGNALS,
    )
    if LINUX:
        _tag(pid, start.tag)
    return pid


def _with_deferred_names(env: dict[bytes, bytes], deferred: bytes) -> dict[bytes, bytes]:
    """Return the environment with a prefix before the names of variables that the shell gets only with the start
    signal."""
    names = {name for name in deferred.split(b"=") if not name.startswith(FUNCTION_PREFIX)}
    return {DEFERRED_PREFIX + name if name in names else name: value for name, value in env.items()}


def device_and_inode(path: str | bytes) -> tuple[int, int]:
    """Return device and inode of the path's current target."""
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino


def _limits_of(confinement: Ruleset | None) -> list[tuple[int, tuple[int, int]]]:
    """Return the resource limits of a ruleset. OSError: no descriptor is left to read the number of threads."""
    if confinement is None:
        return []
    limits = [(number, (value, value)) for number, value in confinement.limits]
    for name, most in confinement.watched_limits:
        if name == b"processes":
            from nacre.sandbox.kernel.ruleset import MIN_THREADS

            fields = read_proc_file("/proc/loadavg").split()
            if not fields:
                raise OSError(errno.ENFILE, os.strerror(errno.ENFILE))
            now = int(fields[3].partition(b"/")[2])
            # The kernel counts all threads of the user. The margin lets the keeper's count come first: a run over its
            # limit is reported as such, not as a failed fork.
            bound = now + int(most) + MIN_THREADS
            limits.append((resource.RLIMIT_NPROC, (bound, bound)))
    return limits


def _limit(pid: int, limits: list[tuple[int, tuple[int, int]]]) -> None:
    for number, (soft, hard) in limits:
        try:
            most = resource.prlimit(pid, number)[1]
            if most != resource.RLIM_INFINITY:
                soft, hard = (min(most, each) if each != resource.RLIM_INFINITY else most for each in (soft, hard))
            resource.prlimit(pid, number, (soft, hard))
        except ProcessLookupError:
            return  # killed already


def _tag(pid: int, tag: int) -> None:
    """Set the tag. If that fails (a hard limit below the tag, a kernel that denies it), orphans are assigned by other
    means."""
    try:
        hard = resource.prlimit(pid, RLIMIT_LOCKS)[1]
        if hard == resource.RLIM_INFINITY or tag <= hard:
            resource.prlimit(pid, RLIMIT_LOCKS, (tag, hard))
    except OSError:
        pass
