"""Where the output of a task lies: which part of the stream is in which file.

Files may go while one looks: the oldest when there is too much, all of them when they are joined at the end.
"""

from __future__ import annotations

import os
import stat
from typing import NamedTuple

from nacre.keeper.protocol.task_dir import LOG, head_bytes, segment_offset
from nacre.tasks.store.directory import InvalidTaskDirectory, TaskDirectory
from nacre.tasks.store.records import StatusFile, TaskFile, parse_pieces

_MAX_LOG_FILES = 4096
"""Files of a log; ours has about ten."""


class LogPiece(NamedTuple):
    """A part of the stream, and the place in a file where it lies."""

    start: int
    stop: int
    name: str
    file_offset: int


class Layout(NamedTuple):
    pieces: tuple[LogPiece, ...]
    """In order of the stream. They may overlap."""
    touched: float
    """When something was last written, in seconds since the epoch; 0 if there is nothing."""

    @property
    def end(self) -> int:
        """The last byte that is kept lies before this."""
        return max([piece.stop for piece in self.pieces], default=0)

    def count_kept_bytes(self, start: int, stop: int) -> int:
        """How many bytes of a part of the stream there are."""
        count, place = 0, start
        for piece in self.pieces:
            first, last = max(piece.start, place), min(piece.stop, stop)
            if last > first:
                count += last - first
                place = last
        return count


def build_layout(folder: TaskDirectory, task_file: TaskFile, over: StatusFile | None) -> Layout:
    """`over` is how it ended, if it has."""
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
            continue  # gone
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
