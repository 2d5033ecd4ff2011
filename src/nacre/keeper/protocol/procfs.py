"""List processes, and find those that belong to a run.

Linux: `/proc`, read downwards from a process, so the cost depends on the size of the run and not of the machine. Every
descendant of a run carries the run's tag, a soft value of RLIMIT_LOCKS, which the kernel has ignored since 2.4, hardly
any program sets (`su` does), and neither `setsid` nor `env -i` removes. Elsewhere: one call of `ps`, and the tag in the
environment.

This module sends no signals. A process that vanishes while it is read counts as never seen.
"""

from __future__ import annotations

import errno
import os
import time

from nacre.base.system import LINUX
from nacre.keeper.protocol.bootstrap import SHELL_MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    T = TypeVar("T")

RLIMIT_LOCKS = 10
TAG_VARIABLE = "NACRE_RUN"
"""Environment variable that holds the tag where there is no /proc."""

_LOCKS_ROW = b"\nMax file locks"
_COMMAND_MAX = 200
_FLAGS, _THREADS, _SIGNALS = 6, 17, 28
_CPUCLOCK_SCHED = 2
"""Type bits of a CPU-time clock id: the exact clock of the scheduler (CPUCLOCK_SCHED)."""
_SHORT_READ_BYTES = 2048
"""A read of up to this size is the last one: the kernel returns at least 4 KB less one line while there is more."""
_EXITING = 4
"""Bit of the process flags in /proc: PF_EXITING."""
_KILLED = 1 << 8
"""Bit of the pending signals: SIGKILL."""


class ProcessInfo:
    """A process as it was when it was read."""

    __slots__ = ("command", "fields", "pgid", "pid", "ppid", "sid", "state")

    def __init__(
        self, pid: int, ppid: int, pgid: int, sid: int, state: str, command: str, fields: Sequence[bytes] = ()
    ) -> None:
        self.pid = pid
        self.ppid = ppid
        self.pgid = pgid
        self.sid = sid
        self.state = state
        self.command = command
        self.fields = fields
        """Fields of `/proc/PID/stat` from the state on; empty where there is no /proc."""

    @property
    def threads(self) -> int:
        return int(self.fields[_THREADS])

    @property
    def is_killed(self) -> bool:
        """SIGKILL is pending: it was sent, and the process has not exited yet."""
        return bool(int(self.fields[_SIGNALS]) & _KILLED)

    @property
    def is_alive(self) -> bool:
        return self.state not in "ZX"

    @property
    def is_sleeping(self) -> bool:
        return self.state in "SITt"


_reserved_fd: int | None = None


def reserve_fd(fd: int) -> None:
    """Name a descriptor that is closed for a moment when none is free to read /proc. Without reading it, too few
    processes would be killed."""
    global _reserved_fd
    _reserved_fd = fd


def _retry_with_reserved_fd(look: Callable[[str], T], path: str) -> T:
    """Return `look(path)`. OSError: it cannot be read."""
    global _reserved_fd
    try:
        return look(path)
    except OSError as error:
        if error.errno != errno.EMFILE or _reserved_fd is None:
            raise
    os.close(_reserved_fd)
    _reserved_fd = None
    try:
        return look(path)
    finally:
        try:
            _reserved_fd = os.dup(0)
        except OSError:
            pass  # another thread took it


def _contents(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.read(fd, 65536)
    finally:
        os.close(fd)


def _numbers(path: str) -> list[int]:
    """Read all PIDs of a kernel file. One read returns a page of it, about 700 PIDs."""
    fd = os.open(path, os.O_RDONLY)
    try:
        text = _read_on(fd, os.read(fd, 65536))
    finally:
        os.close(fd)
    return [int(number) for number in text.split()]


def _read_on(fd: int, text: bytes) -> bytes:
    """Read the rest of a file that begins with `text`."""
    part = text
    while len(part) > _SHORT_READ_BYTES:
        part = os.pread(fd, 65536, len(text))
        text += part
    return text


def read_proc_file(path: str) -> bytes:
    """Read a small kernel file; empty if it does not exist, or vanishes between open and read (ESRCH)."""
    try:
        return _retry_with_reserved_fd(_contents, path)
    except OSError:
        return b""


def read_process(pid: int) -> ProcessInfo | None:
    """Read one process, without its arguments (`command` is its short name)."""
    line = read_proc_file(f"/proc/{pid}/stat")
    # the name is in parentheses and may itself contain parentheses and spaces
    name, end, rest = line.rpartition(b")")
    if not end:
        return None
    fields = rest.split()
    if len(fields) <= _SIGNALS:
        return None
    state, ppid, pgid, sid = fields[:4]
    comm = name.partition(b"(")[2].decode("utf-8", "replace")
    if state == b"Z" and int(fields[_THREADS]) > 1:
        state = b"S"  # only its main thread has exited
    return ProcessInfo(pid, int(ppid), int(pgid), int(sid), state.decode(), comm, fields)


def start_time(pid: int) -> int:
    """Return the start time in clock ticks since boot, which distinguishes a process from a later one with the same
    PID."""
    fields = _stat(pid)
    return int(fields[19]) if fields else 0


def cpu_ticks(pid: int) -> int:
    """Return the CPU time of a process in clock ticks."""
    fields = _stat(pid)
    return int(fields[11]) + int(fields[12]) if fields else 0


def cpu_seconds(pid: int) -> float:
    """Return the exact CPU time of all its threads in seconds; works even if /proc hides the process. OSError: it is
    gone."""
    return time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED)


def is_exiting(pid: int) -> bool:
    """Return whether it is gone, or exiting or killed although the kernel still lists it or has not closed its
    files."""
    fields = _stat(pid)
    if not fields:
        return not os.path.exists(f"/proc/{pid}")
    return bool(int(fields[_FLAGS]) & _EXITING or int(fields[_SIGNALS]) & _KILLED)


def _stat(pid: int) -> list[bytes]:
    """Return the fields of `/proc/PID/stat` after the name; empty if the process is gone."""
    fields = read_proc_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return fields if len(fields) > 20 else []


def command_line(seen: ProcessInfo) -> str:
    """Return the command line for people."""
    if LINUX:
        words = read_proc_file(f"/proc/{seen.pid}/cmdline").rstrip(b"\0").split(b"\0")
        text = b" ".join(words).decode("utf-8", "replace")
    else:
        text = " ".join(_ps("-ww", "-o", "command=", "-p", str(seen.pid)))
    text = " ".join((text or seen.command).split())
    if text.startswith(f"bash -c {SHELL_MARKER}"):
        return "bash (part of the command)"
    return text if len(text) <= _COMMAND_MAX else text[: _COMMAND_MAX - 1] + "…"


def has_not_execed(seen: ProcessInfo) -> bool:
    """Return whether it is a fork of a run's shell that has not execed: a part of the command, or about to exec a
    program."""
    return command_line(seen).startswith("bash (")


def tag_of(pid: int) -> int | None:
    """Return the tag of a process; None if it has none or is gone."""
    row = read_proc_file(f"/proc/{pid}/limits").partition(_LOCKS_ROW)[2].split(None, 1)
    return int(row[0]) if row and row[0].isdigit() else None


_CHILDREN_FILE = os.path.exists("/proc/thread-self/children")
"""Kernels built without CONFIG_PROC_CHILDREN have no such file: then the parent of every process is read."""


def tag_in(command: str) -> int:
    """Return the tag in a command line of `ps_processes`; 0 if there is none."""
    value = command.partition(f" {TAG_VARIABLE}=")[2].partition(" ")[0]
    return int(value) if value.isdigit() else 0


def pipe_name(fd: int) -> str:
    return f"pipe:[{os.fstat(fd).st_ino}]"


def pipes_of(pid: int) -> set[str]:
    """Return the names of a process's open files, pipes among them, as far as permissions allow."""
    found = set()
    try:
        for fd in _retry_with_reserved_fd(os.listdir, f"/proc/{pid}/fd"):
            found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    except OSError:
        pass
    return found


def children_of(pid: int, threads: int = 0) -> list[int]:
    """Return the children of every thread of a process. `threads`: their number, if known."""
    if not _CHILDREN_FILE:
        return [seen.pid for seen in map(read_process, _pids()) if seen is not None and seen.ppid == pid]
    if threads == 1:
        return _children_of_thread(pid, pid)
    try:
        names = _retry_with_reserved_fd(os.listdir, f"/proc/{pid}/task")
    except OSError:
        return []
    return [child for name in names for child in _children_of_thread(pid, name)]


def _children_of_thread(pid: int, thread: int | str) -> list[int]:
    try:
        return _retry_with_reserved_fd(_numbers, f"/proc/{pid}/task/{thread}/children")
    except OSError:
        return []


def own_children() -> Callable[[], list[int]]:
    """Return a function that lists this process's children cheaply."""
    if not LINUX:
        return list
    me = os.getpid()
    try:
        file = os.open(f"/proc/{me}/task/{me}/children", os.O_RDONLY)
    except OSError:
        return lambda: children_of(me)

    def ask() -> list[int]:
        return [int(child) for child in _read_on(file, os.pread(file, 65536, 0)).split()]

    return ask


def _pids() -> list[int]:
    return [int(name) for name in _retry_with_reserved_fd(os.listdir, "/proc") if name.isdigit()]


def descendants(roots: set[int], most: int | None = None) -> dict[int, ProcessInfo]:
    """Return the live processes among the roots and their descendants, parents first; only some if more than `most`
    exist."""
    found: dict[int, ProcessInfo] = {}
    todo = sorted(roots)
    while todo:
        below: list[int] = []
        for pid in todo:
            if pid not in found and (seen := read_process(pid)) is not None:
                if seen.is_alive:
                    found[pid] = seen
                    if most is not None and len(found) > most:
                        return found
                below += children_of(pid, seen.threads)
        todo = below
    return found


def descendant_pids(roots: set[int]) -> set[int]:
    """Return the PIDs of the roots and all their descendants, dead ones included: while processes fork and exit, only
    the PID is reliable."""
    found: set[int] = set()
    todo = list(roots)
    while todo:
        pid = todo.pop()
        if pid not in found:
            found.add(pid)
            todo += children_of(pid)
    return found


def find_by_tag(first: int, last: int, group: int | None = None) -> dict[int, ProcessInfo]:
    """Return all processes on the machine with a tag in the range, and their descendants. Without /proc, also the
    members of process group `group`."""
    if not LINUX:
        rows = (seen for seen in ps_processes() if seen.is_alive and seen.pid != os.getpid())
        return {s.pid: s for s in rows if s.pgid == group or first <= tag_in(s.command) <= last}
    return descendants({pid for pid in _pids() if (tag := tag_of(pid)) is not None and first <= tag <= last})


_COLUMNS = ("-o", "pid=", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "command=")
_WITH_ENVIRONMENT = ("-A", "-E", "-ww") if os.uname().sysname == "Darwin" else ("axeww",)


def ps_processes() -> list[ProcessInfo]:
    """List every process on the machine by `ps`, with arguments and environment as `command`. Used where there is no
    /proc."""
    rows = (line.split(None, 4) for line in _ps(*_WITH_ENVIRONMENT, *_COLUMNS))
    return [ProcessInfo(int(row[0]), int(row[1]), int(row[2]), 0, row[3][0], row[4]) for row in rows if _is_row(row)]


def _is_row(row: list[str]) -> bool:
    """Return whether a line is a process: not the rest of a command that contains a newline, nor `ps` itself."""
    return len(row) == 5 and all(field.isdigit() for field in row[:3]) and not row[4].startswith("ps ")


def _ps(*arguments: str) -> list[str]:
    read, write = os.pipe()
    null = os.open(os.devnull, os.O_RDWR)
    ends = ((null, 0), (write, 1), (null, 2))
    try:
        pid = os.posix_spawnp(
            "ps", ["ps", *arguments], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, *end) for end in ends]
        )
    except OSError:
        os.close(read)
        return []  # `ps` is not installed: nothing is known
    finally:
        os.close(write)
        os.close(null)
    with open(read, "rb") as file:
        lines = file.read().decode("utf-8", "replace").splitlines()
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass  # the host ignores SIGCHLD
    return lines


_boot_id: str | None = None


def boot_id() -> str:
    """Return an identifier of the current boot; empty where the system has none."""
    global _boot_id
    if not _boot_id:  # the last read may have failed for lack of a file descriptor
        _boot_id = read_proc_file("/proc/sys/kernel/random/boot_id").strip().decode("ascii", "replace")
    return _boot_id
