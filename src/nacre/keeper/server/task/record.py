"""The files of a task, as its keeper writes them: its processes, its output, its outcome.

Every file is complete from the moment it has its name. The status needs no free disk space: that was reserved when the
task was created. Written without `json`: a keeper that has lived for weeks may no longer find that module's file.
"""

from __future__ import annotations

import os
import time

from nacre.keeper.protocol import procfs
from nacre.keeper.protocol.procfs import boot_id
from nacre.keeper.protocol.task_dir import LIVE, PROCESS, RESERVED, STATUS, VERSION
from nacre.keeper.protocol.task_log import TaskLog
from nacre.keeper.server.event_loop import EventLoop
from nacre.keeper.server.task.control_socket import ControlSocket

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from nacre.keeper.protocol.procfs import ProcessInfo
    from nacre.keeper.server.task.control_socket import TaskCommands

_MAX_STATUS_BYTES = 4096
_NOTED = "Protected paths were put back; the disk had no room to say which."
_FILE = os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class TaskRecord:
    """A task's directory, log and control socket."""

    __slots__ = ("_known_by", "control", "detached", "log", "protection", "task", "task_dir")

    def __init__(
        self,
        folder: int,
        task: bytes,
        cap: int,
        loop: EventLoop,
        commands: TaskCommands,
        *,
        seen: int = 0,
        detached: bool = True,
        protection: bytes = b"",
    ) -> None:
        """Take ownership of `folder`, even on failure. OSError: the directory is not writable."""
        self.task_dir = folder
        self.task = task
        self.detached = detached
        """Whether the task outlives its host."""
        self.protection = protection
        """See `StartMessage.protection`."""
        self._known_by = 0, 0
        try:
            self.log = TaskLog(folder, cap, seen)
            try:
                self.control = ControlSocket(folder, loop, self.log, commands)
            except OSError:
                self.log.close()
                raise
        except OSError:
            os.close(folder)
            raise

    def write_process_file(self, pid: int, pgid: int, tag: int) -> None:
        """Write the file that lists the task's processes. OSError: it cannot be written."""
        self._known_by = pid, pgid
        fields = {
            "boot": json_string(boot_id()),
            "keeper": f"[{os.getpid()}, {procfs.start_time(os.getpid())}]",
            "pid": f"{pid}",
            "started": f"{procfs.start_time(pid)}",
            "pgid": f"{pgid}",
            "tag": f"{tag}",
        }
        draft = f"{PROCESS}.new"
        fd = os.open(draft, _FILE | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=self.task_dir)
        try:
            os.write(fd, json_object(fields))
        finally:
            os.close(fd)
        os.rename(draft, PROCESS, src_dir_fd=self.task_dir, dst_dir_fd=self.task_dir)

    def discard(self) -> None:
        """Close everything of a task that did not start; its creator removes the directory."""
        self.control.close()
        self.log.close()
        os.close(self.task_dir)

    def write_status(
        self,
        outcome: dict[str, str],
        words: str,
        *,
        took: float,
        cpu: float,
        left: dict[int, ProcessInfo],
        out_of_memory: bool,
        notes: list[str],
    ) -> None:
        """Finish log and status. `outcome`: kind and fields as JSON; `words`: for people; `notes`: restored paths."""
        words = f"{words}, out of memory" if out_of_memory else words
        when = "" if " after " in words else f" after {took:.1f} s"
        pieces = self.log.finish(f"[nacre: {words}{when}]")
        log = {
            "bytes": f"{self.log.total_bytes}",
            "dropped": f"{self.log.dropped_bytes}",
            "pieces": f"[{', '.join(f'[{start}, {length}, {at}]' for start, length, at in pieces)}]",
            "problem": json_string(self.log.problem),
        }
        rows = [
            json_inline(
                {"pid": f"{seen.pid}", "pgid": f"{seen.pgid}", "command": json_string(procfs.command_line(seen))}
            )
            for seen in left.values()
        ]
        status = {
            "version": f"{VERSION}",
            "outcome": json_inline(outcome),
            "pid": f"{self._known_by[0]}",
            "pgid": f"{self._known_by[1]}",
            "ended": f"{time.time():.3f}",
            "duration": f"{took:.6f}",
            "cpu": f"{cpu:.2f}",
            "out_of_memory": "true" if out_of_memory else "false",
            "running": "[]",
            "log": json_inline(log),
        }
        if notes:
            status["notes"] = f"[{json_string(_NOTED)}]"
        whole = json_object(status | {"running": f"[{', '.join(rows)}]"})
        if len(whole) > _MAX_STATUS_BYTES:  # more than was reserved: drop process rows
            while rows and len(whole) > _MAX_STATUS_BYTES:
                rows.pop()
                whole = json_object(status | {"running": f"[{', '.join(rows)}]"})
        noted = f"[{', '.join(map(json_string, notes))}]"
        with_notes = json_object(status | {"running": f"[{', '.join(rows)}]", "notes": noted})
        try:
            if not (notes and self._write_status(with_notes)) and not self._write_status(whole):
                raise OSError  # without the notes there is room, unless the file is gone
            os.rename(RESERVED, STATUS, src_dir_fd=self.task_dir, dst_dir_fd=self.task_dir)
        except OSError:
            pass  # the directory was removed: the status is not needed
        try:
            os.unlink(os.path.join(os.fsencode(f"../{LIVE}"), self.task), dir_fd=self.task_dir)
        except OSError:
            pass
        self.control.close()
        os.close(self.task_dir)

    def _write_status(self, whole: bytes) -> bool:
        """Write the status into its reserved space. Returns False if the disk has no room for it. OSError: the file is
        gone."""
        fd = os.open(RESERVED, _FILE, dir_fd=self.task_dir)
        try:
            if os.pwrite(fd, whole, 0) < len(whole):
                return False
            os.ftruncate(fd, len(whole))
        except OSError:
            return False
        finally:
            os.close(fd)
        return True


def json_string(text: str) -> str:
    """Encode a string as JSON, in ASCII."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    plain = (c if " " <= c <= "~" else _escape(c) for c in escaped)
    return f'"{"".join(plain)}"'


def _escape(character: str) -> str:
    number = ord(character)
    if number < 0x10000:
        return f"\\u{number:04x}"
    number -= 0x10000
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


def json_inline(fields: dict[str, str]) -> str:
    return "{" + ", ".join(f'"{name}": {value}' for name, value in fields.items()) + "}"


def json_object(fields: dict[str, str]) -> bytes:
    rows = ",\n".join(f' "{name}": {value}' for name, value in fields.items())
    return f"{{\n{rows}\n}}\n".encode("ascii")
