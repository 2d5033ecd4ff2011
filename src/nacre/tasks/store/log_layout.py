"""Layout of a task's log: which part of the stream is in which file.

Files may vanish meanwhile: the oldest when the log reaches its cap, all segments when they are joined at the end.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from nacre.keeper.protocol.task_dir import LOG, head_bytes, segment_offset
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory
from nacre.tasks.store.records import StatusFile, TaskFile, parse_pieces

_MAX_LOG_FILES = 4096
"""Bound on the files of a log; real logs have about ten."""


class LogPiece(NamedTuple):
    """A contiguous part of the stream, and its place in a file."""

    start: int
    stop: int
    name: str
    file_offset: int


class Layout(NamedTuple):
    """The parts of a log that are on disk."""

    pieces: tuple[LogPiece, ...]
    """Sorted by position in the stream. They may overlap."""
    touched: float
    """Time of the last write, in seconds since the epoch; 0 if nothing was written."""

    @property
    def end(self) -> int:
        """Offset in the stream after the last byte that is kept."""
        return max([piece.stop for piece in self.pieces], default=0)

    def count_kept_bytes(self, start: int, stop: int) -> int:
        """Return how many bytes of the range are on disk."""
        count, place = 0, start
        for piece in self.pieces:
            first, last = max(piece.start, place), min(piece.stop, stop)
            if last > first:
                count += last - first
                place = last
        return count


def build_layout(folder: TaskDirectory, task_file: TaskFile, over: StatusFile | None) -> Layout:
    """Read the layout of a task's log. `over`: the status file, if the task has ended. InvalidTaskDirectory: too many
    files."""
    pieces: list[LogPiece] = []
    touched = 0.0
    names = [name for name in folder.names() if name.startswith(LOG)]
    if len(names) > _MAX_LOG_FILES:
        raise InvalidTaskDirectory(f"its log has {len(names)} parts")
    for name in names:
        start = segment_offset(name)
        try:
            status = os.stat(name, dir_fd=folder.fd, follow_symlinks=False)
        except OSError:
            continue  # removed meanwhile
        if start is None or not stat.S_ISREG(status.st_mode) or status.st_uid != folder.user:
            continue
        touched = max(touched, status.st_mtime)
        if name != LOG:
            pieces.append(LogPiece(start, start + status.st_size, name, 0))
        elif over is None:
            pieces.append(LogPiece(0, min(status.st_size, head_bytes(task_file.cap)), name, 0))
        else:
            pieces += [
                LogPiece(first, first + min(length, status.st_size - at), name, at)
                for first, length, at in parse_pieces(over)
                if at < status.st_size
            ]
    return Layout(tuple(sorted(piece for piece in pieces if piece.stop > piece.start)), touched)
