"""A fake keeper of a task as its readers see it: files, a socket, and a thread that answers there. Runs no command.

keeper = FakeKeeper(store)
keeper.prints(b"one\n")
keeper.ends(Exited(0))
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from nacre.keeper.protocol.task_dir import CONTROL, LIVE, LOG, PROCESS, RESERVED, STATUS, head_bytes, segment_name
from nacre.outcomes import outcome_data
from nacre.result import Killed, Outcome
from nacre.tasks.store.store import create

CAP = 64 * 1024 * 1024


def facts(**changes: Any) -> dict[str, Any]:
    """Return the contents of task.json, as a host writes it."""
    return {
        "kind": "background",
        "command": "make all",
        "description": "builds it",
        "cwd": "/tmp",
        "created": time.time(),
        "owner": {"uid": os.geteuid(), "pid": os.getpid(), "conversation": "talk"},
        "timeout": None,
        "access": "unrestricted",
        "enforced": [],
        "cap": CAP,
        "stdin": False,
        "detached": True,
        **changes,
    }


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def start_of_process(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def put(directory: str | Path, name: str, data: Any) -> None:
    """Write a file atomically; encode `data` as JSON unless it is bytes."""
    path = Path(directory) / name
    draft = Path(f"{path}.new")
    draft.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    draft.rename(path)


def process_file(**changes: Any) -> dict[str, Any]:
    """Return the contents of process.json, as a keeper writes it."""
    me = os.getpid()
    return {"boot": boot_id(), "keeper": [me, 0], "pid": me, "started": 0, "pgid": me, "tag": 0, **changes}


def status_file(outcome: Outcome, *, log: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """Return the contents of status.json, as a keeper writes it."""
    return {
        "version": 1,
        "outcome": outcome_data(outcome),
        "ended": time.time(),
        "duration": 1.5,
        "cpu": 0.25,
        "out_of_memory": False,
        "running": [],
        "log": {"bytes": 0, "dropped": 0, "pieces": [], "problem": "", **(log or {})},
        **changes,
    }


def ended_task(store: str | Path, outcome: Outcome, output: bytes = b"", **changes: Any) -> str:
    """Create a task that has ended and has no keeper; return its id."""
    name, directory = create(str(store), facts(**changes))
    put(directory, PROCESS, process_file())
    put(directory, LOG, output + b"[nacre: done]\n")
    pieces = [[0, len(output), 0]] if output else []
    put(directory, STATUS, status_file(outcome, log={"bytes": len(output), "pieces": pieces}))
    Path(directory, RESERVED).unlink()
    Path(str(store), LIVE, name).unlink()
    return name


class FakeKeeper:
    """A fake keeper. Every method returns only when readers can see its effect."""

    def __init__(self, store: str | Path, *, begin: bool = True, stdin: bool = False, **changes: Any) -> None:
        given = facts(stdin=stdin, **changes)
        self.id, self.directory = create(str(store), given, stdin=stdin)
        self.store = str(store)
        self.cap: int = given["cap"]
        self.seen = 0
        self.kept: list[tuple[int, bytes]] = []
        """Output that was kept, with the offset of each piece."""
        self.kills: list[tuple[int, float]] = []
        self.on_kill: Callable[[], None] = lambda: self.ends(Killed("you"))
        self.eofs = 0
        self.asked: list[bytes] = []
        """Every line received."""
        self.silent = False
        """Receive messages but answer none, like a stopped keeper."""
        self._lock = threading.RLock()
        self._watching: dict[socket.socket, int] = {}
        self._buffers: dict[socket.socket, bytes] = {}
        self._over = False
        self._stopping = False
        self._wake_out, self._wake_in = socket.socketpair()
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None
        if begin:
            self.begin()

    def __enter__(self) -> FakeKeeper:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dies()

    def begin(self, **changes: Any) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        fd = os.open(self.directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._listener.bind(f"/proc/self/fd/{fd}/{CONTROL}")
        finally:
            os.close(fd)
        self._listener.listen(64)
        self._listener.setblocking(False)
        selector = selectors.DefaultSelector()  # not in the thread: its descriptor exists when this returns
        self._thread = threading.Thread(target=self._serve, args=[selector], daemon=True)
        self._thread.start()
        put(self.directory, PROCESS, process_file(**changes))

    def prints(self, data: bytes) -> None:
        """Append to output.log up to its limit, then to segments, one for each call."""
        with self._lock:
            room = max(0, head_bytes(self.cap) - self.seen)
            for start, part in ((self.seen, data[:room]), (self.seen + len(data[:room]), data[room:])):
                if part:
                    with Path(self.directory, LOG if start < head_bytes(self.cap) else segment_name(start)).open(
                        "ab"
                    ) as f:
                        f.write(part)
                    self.kept.append((start, part))
            self.seen += len(data)
            self._tell()

    def loses(self, count: int) -> None:
        """Count output that was printed but not kept (full disk). Later output goes into a segment."""
        with self._lock:
            self.seen += count
            self._tell()

    def prints_segment(self, data: bytes) -> str:
        """Write the data as a segment; return the segment's name."""
        with self._lock:
            name = segment_name(self.seen)
            put(self.directory, name, data)
            self.kept.append((self.seen, data))
            self.seen += len(data)
            self._tell()
            return name

    def drops_segment(self, name: str) -> None:
        with self._lock:
            Path(self.directory, name).unlink()
            self.kept = [(start, data) for start, data in self.kept if segment_name(start) != name]

    def appends_note(self, text: bytes = b"[nacre: done]\n") -> None:
        """Append a note to output.log; it does not count as output."""
        with Path(self.directory, LOG).open("ab") as file:
            file.write(text)

    def ends(self, outcome: Outcome, *, join: bool = True, **changes: Any) -> None:
        """Join the segments to the log unless `join` is false, write status.json, and notify the watchers."""
        with self._lock:
            if self._over:
                return
            pieces, log = [], b""
            for start, data in self.kept:
                if join or start < head_bytes(self.cap):
                    pieces.append([start, len(data), len(log)])
                    log += data + (b"\n[nacre: a note]\n" if start else b"")
            put(self.directory, LOG, log + b"[nacre: done]\n")
            if join:
                for path in Path(self.directory).glob(f"{LOG}.[0-9]*"):
                    path.unlink()
            dropped = self.seen - sum(len(data) for _, data in self.kept)
            put(
                self.directory,
                STATUS,
                status_file(outcome, log={"bytes": self.seen, "dropped": dropped, "pieces": pieces}, **changes),
            )
            with contextlib.suppress(FileNotFoundError):
                Path(self.store, LIVE, self.id).unlink()
            self._over = True
            self._tell()

    def dies(self) -> None:
        """Stop without writing a status or notifying anyone."""
        self._stopping = True
        if self._thread is not None:
            self._wake_in.send(b"x")
            if threading.current_thread() is not self._thread:
                self._thread.join()
            self._thread = None
        for each in (self._listener, self._wake_in, self._wake_out):
            if each is not None:
                each.close()

    @property
    def callers(self) -> int:
        """Number of open connections."""
        return len(self._buffers)

    @property
    def watchers(self) -> int:
        """Number of connections that wait for more output or the end."""
        return len(self._watching)

    # the thread

    def _serve(self, selector: selectors.BaseSelector) -> None:
        assert self._listener is not None
        with selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wake_out, selectors.EVENT_READ)
            while not self._stopping:
                for key, _ in selector.select():
                    if key.fileobj is self._listener:
                        self._accept(selector)
                    elif key.fileobj is not self._wake_out:
                        self._hear(key.fileobj, selector)  # type: ignore[arg-type]
            with self._lock:
                for caller in list(self._buffers):
                    self._hang_up(caller)

    def _accept(self, selector: selectors.BaseSelector) -> None:
        assert self._listener is not None
        with contextlib.suppress(BlockingIOError), self._lock:
            caller, _ = self._listener.accept()
            self._buffers[caller] = b""
            selector.register(caller, selectors.EVENT_READ)

    def _hear(self, caller: socket.socket, selector: selectors.BaseSelector) -> None:
        with self._lock:
            if caller not in self._buffers:  # the caller closed the connection a moment ago
                selector.unregister(caller)
                caller.close()
                return
            try:
                data = caller.recv(4096)
            except OSError:
                data = b""
            if not data:
                selector.unregister(caller)
                self._hang_up(caller)
                return
            *lines, self._buffers[caller] = (self._buffers[caller] + data).split(b"\n")
        for line in lines:
            self._understand(caller, line)

    def _understand(self, caller: socket.socket, line: bytes) -> None:
        with self._lock:
            self.asked.append(line)
            if self.silent:
                return
        match line.split():
            case [b"watch", beyond]:
                with self._lock:
                    self._watching[caller] = int(beyond)
                    self._tell()
            case [b"kill", number, grace]:
                self.kills.append((int(number), float(grace)))
                self._say(caller, b"ok\n")
                self.on_kill()
            case [b"eof"]:
                self.eofs += 1
                self._say(caller, b"ok\n")
            case _:
                self._say(caller, b"what\n")

    def _tell(self) -> None:
        """Notify the watchers of new output, or of the end."""
        for caller, beyond in list(self._watching.items()):
            if self._over:
                del self._watching[caller]
                self._say(caller, b"end\n")
                with contextlib.suppress(OSError):
                    caller.shutdown(socket.SHUT_RDWR)
            elif self.seen > beyond:
                del self._watching[caller]
                self._say(caller, b"at %d\n" % self.seen)

    def _say(self, caller: socket.socket, answer: bytes) -> None:
        with contextlib.suppress(OSError):
            caller.sendall(answer)

    def _hang_up(self, caller: socket.socket) -> None:
        caller.close()
        self._buffers.pop(caller, None)
        self._watching.pop(caller, None)
