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
    from collections.abc import Sequence

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
        self, pid: int, directory: tuple[int, int], out: int, err: int | None, start_pipe: int, private_tmpdir: bytes
    ) -> None:
        self.pid = pid
        self.directory = directory
        """Device and inode of its working directory."""
        self.out = out
        self.err = err
        self.start_pipe = start_pipe
        self.private_tmpdir = private_tmpdir
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


class _ShellResources:
    """Pipes and private TMPDIR of a shell that is being started. On exit, those are released that no shell has got."""

    __slots__ = ("_to_close", "err", "out", "private_tmpdir", "shell_ends", "start_pipe")

    def __init__(self) -> None:
        self.out, self.start_pipe = -1, -1
        self.err: int | None = None
        """The keeper's ends. `err` is None if stderr has no pipe of its own."""
        self.shell_ends: list[tuple[int, int]] = []
        """The other ends, each with its descriptor number in the shell."""
        self.private_tmpdir = b""
        self._to_close: list[int] = []

    def __enter__(self) -> _ShellResources:
        return self

    def open_pipes(self, *, merge: bool) -> None:
        """Open the pipes. OSError: no descriptor is left."""
        self.out, out_end = self._open_output()
        err_end = out_end
        if not merge:
            self.err, err_end = self._open_output()
        start_end, self.start_pipe = self._open()
        self.shell_ends = [(out_end, 1), (err_end, 2), (start_end, START_PIPE_FD)]

    def _open(self) -> tuple[int, int]:
        ends = os.pipe()
        self._to_close.extend(ends)
        return ends

    def _open_output(self) -> tuple[int, int]:
        ours, theirs = self._open()
        os.set_blocking(ours, False)
        return ours, theirs

    def make_private_tmpdir(self, parent: bytes) -> None:
        self.private_tmpdir = make_private_tmpdir(parent)

    def give_to_shell(self, pid: int, directory: tuple[int, int]) -> Shell:
        """Return the shell, which has the keeper's ends and the directory from now on."""
        shell = Shell(pid, directory, self.out, self.err, self.start_pipe, self.private_tmpdir)
        for fd in (*shell.pipes, shell.start_pipe):
            self._to_close.remove(fd)
        self.private_tmpdir = b""
        return shell

    def __exit__(self, *_: object) -> None:
        remove_private_tmpdir(self.private_tmpdir)
        for fd in self._to_close:
            os.close(fd)


def spawn(
    start: StartMessage,
    env: dict[bytes, bytes],
    files: tuple[int, int],
    text: int | None = None,
    stdin: int | None = None,
    state: int | None = None,
    ruleset: Ruleset | None = None,
) -> Shell:
    """Start a shell. `files`: its RLIMIT_NOFILE. OSError: it could not be started; nothing is left open."""
    # bash cannot restore a redirected descriptor above its limit, and prints an error
    reports_pipestatus = start.report_pipestatus and (start.reports_state or not 0 <= files[0] <= STATE_FD)
    if start.report_pipestatus and not (reports_pipestatus or start.reports_state):
        state = None
    with _ShellResources() as resources:
        resources.open_pipes(merge=start.merge)
        passed = ((text, TEXT_FD), (state, STATE_FD))
        moves = [(0 if stdin is None else stdin, 0), *resources.shell_ends]
        moves += [(fd, target) for fd, target in passed if fd is not None]
        if ruleset is not None and ruleset.private_tmpdir:
            resources.make_private_tmpdir(ruleset.private_tmpdir)
        argv = _argv(start, files[0], startup=b"BASH_ENV" in env, reports_pipestatus=reports_pipestatus)
        env = _environment(start, env, ruleset, resources.private_tmpdir)
        limits = _limits_of(ruleset)
        pid, directory = _start_bash(start, argv, env, moves, ruleset, resources.private_tmpdir)
        _set_limits(pid, files, limits)
        return resources.give_to_shell(pid, directory)


def _argv(start: StartMessage, most_files: int, *, startup: bool, reports_pipestatus: bool) -> list[bytes | str]:
    """Return the arguments of bash. `startup`: it has a startup file."""
    files = None if LINUX else most_files
    script = bootstrap_script(
        long=start.text is None,
        session=start.reports_state,
        report_pipestatus=reports_pipestatus,
        waits=start.wait_for_jobs,
        startup=startup,
        files=files,
    )
    return deferred_bash_argv(start.bash, script, files) if start.deferred else ["bash", "-c", script]


def _environment(
    start: StartMessage, env: dict[bytes, bytes], ruleset: Ruleset | None, private_tmpdir: bytes
) -> dict[bytes, bytes]:
    """Return the environment of the shell, before its start signal."""
    if ruleset is not None and private_tmpdir:
        env = {**env, b"TMPDIR": private_tmpdir}
        env |= {name: os.path.join(private_tmpdir, below) for name, below in ruleset.redirects}
    if b"BASH_ENV" in env:
        env = {**env, STARTUP_VARIABLE.encode(): env[b"BASH_ENV"]}
        del env[b"BASH_ENV"]
    return _with_deferred_names(env, start.deferred) if start.deferred else env


def _with_deferred_names(env: dict[bytes, bytes], deferred: bytes) -> dict[bytes, bytes]:
    """Return the environment with a prefix before the names of variables that the shell gets only with the start
    signal."""
    names = {name for name in deferred.split(b"=") if not name.startswith(FUNCTION_PREFIX)}
    return {DEFERRED_PREFIX + name if name in names else name: value for name, value in env.items()}


def _start_bash(
    start: StartMessage,
    argv: list[bytes | str],
    env: dict[bytes, bytes],
    moves: list[tuple[int, int]],
    ruleset: Ruleset | None,
    private_tmpdir: bytes,
) -> tuple[int, tuple[int, int]]:
    """Start bash with the restrictions of the ruleset. `moves`: descriptors, each with its number there. Returns the
    PID, and device and inode of its directory."""

    def start_here() -> tuple[int, tuple[int, int]]:
        os.chdir(start.cwd)
        try:
            directory = device_and_inode(".")
            actions = [(os.POSIX_SPAWN_DUP2, source, target) for source, target in moves]
            return _spawn_process(start.bash, argv, env, start.tag, actions), directory
        finally:
            os.chdir("/")

    if ruleset is None:
        return start_here()
    from nacre.sandbox.kernel.apply import apply

    def start_restricted() -> tuple[int, tuple[int, int]]:
        apply(ruleset, private_tmpdir)
        return start_here()

    return run_in_fork(start_restricted) if ruleset.user_namespace else run_in_throwaway_thread(start_restricted)


def _spawn_process(
    path: bytes,
    argv: list[bytes | str],
    env: dict[bytes, bytes],
    tag: int,
    file_actions: Sequence[tuple[int, int, int] | tuple[int, int, str, int, int]],
) -> int:
    """Start a program in its own session with default signal dispositions. Where there is no /proc, the tag is in its
    environment."""
    return os.posix_spawn(
        path,
        argv,
        env if LINUX else {**env, TAG_VARIABLE.encode(): b"%d" % tag},
        file_actions=file_actions,
        setsid=True,
        setsigmask=(),
        setsigdef=DEFAULT_SIGNALS,
    )


def spawn_kill_script(start: StartMessage, number: int, grace: float) -> int:
    """Start the process that kills what signals from here do not reach, and return its PID. It has the run's tag.
    OSError: no process is available."""
    argv: list[bytes | str] = ["bash", "-c", start.kill_script, "bash", f"{number}", f"{grace:.3f}"]
    null = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
    pid = _spawn_process(start.bash, argv, environment_of(start.env), start.tag, null)
    if LINUX:
        _tag(pid, start.tag)
    return pid


def device_and_inode(path: str | bytes) -> tuple[int, int]:
    """Return device and inode of the path's current target."""
    stat = os.stat(path)
    return stat.st_dev, stat.st_ino


def _limits_of(ruleset: Ruleset | None) -> list[tuple[int, tuple[int, int]]]:
    """Return the resource limits of a ruleset. OSError: no descriptor is left to read the number of threads."""
    if ruleset is None:
        return []
    limits = [(number, (value, value)) for number, value in ruleset.limits]
    for name, most in ruleset.watched_limits:
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


def _set_limits(pid: int, files: tuple[int, int], limits: list[tuple[int, tuple[int, int]]]) -> None:
    """Set the limits of a new shell, and its niceness. Elsewhere than on Linux, its bootstrap script does that."""
    if not LINUX:
        return
    if _NICE:
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)  # not inherited where this process has real-time priority
    try:
        _limit(pid, [(resource.RLIMIT_NOFILE, files)])
    except OSError:
        pass  # a kernel that denies prlimit for other processes: the shell gets more descriptors than usual
    _limit(pid, limits)


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
