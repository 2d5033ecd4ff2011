"""Reads an audit trail: the records of its files, oldest first. What is no record is passed over, and counted."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeAlias

Record: TypeAlias = "dict[str, Any]"

_LONGEST = 4 * 1024 * 1024
_LOOK = 0.25
"""Seconds between two looks at a file that is followed."""


class Trail:
    def __init__(self, path: str) -> None:
        self.path = path
        self.unreadable = 0
        """Lines that were no records, so far."""
        self._read: tuple[os.stat_result, int] | None = None
        """The last file that was read, and how far."""

    def files(self) -> list[str]:
        """Oldest first."""
        folder, name = os.path.split(self.path)
        pattern = re.compile(re.escape(name) + r"\.([1-9]\d{0,3})")
        try:
            found = [pattern.fullmatch(entry) for entry in os.listdir(folder or ".")]
        except FileNotFoundError:
            return []
        numbers = [int(each[1]) for each in found if each]
        older = [f"{self.path}.{number}" for number in sorted(numbers, reverse=True)]
        return [*older, *([self.path] if os.path.exists(self.path) else [])]

    def records(self) -> Iterator[Record]:
        for path in self.files():
            try:
                with open(path, "rb") as file:
                    yield from self._in(file)
                    self._read = os.fstat(file.fileno()), file.tell()
            except FileNotFoundError:
                continue  # it was the oldest

    def follow(self, wait: Callable[[float], None] = time.sleep) -> Iterator[Record]:
        """What comes after what was read, or else from now on, also in the next file; never ends."""
        file = self._resumed()
        try:
            while True:
                moved = file is None or not self._is_current(file.fileno())
                if file is not None:
                    yield from self._in(file)
                if moved and os.path.exists(self.path):
                    if file is not None:
                        file.close()
                    file = open(self.path, "rb")  # noqa: SIM115
                else:
                    wait(_LOOK)
        finally:
            if file is not None:
                file.close()

    def _resumed(self) -> BinaryIO | None:
        """The file to go on with, at the place."""
        for path in reversed(self.files()):
            file = open(path, "rb")  # noqa: SIM115
            if self._read is None:
                file.seek(0, os.SEEK_END)
                return file
            if os.path.samestat(self._read[0], os.fstat(file.fileno())):
                file.seek(self._read[1])
                return file
            file.close()
        return None

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(fd))
        except FileNotFoundError:
            return False

    def _in(self, file: BinaryIO) -> Iterator[Record]:
        while read := _line(file):
            if read == b"\n":
                continue
            try:
                record = json.loads(read)
            except ValueError:
                self.unreadable += 1
                continue
            if isinstance(record, dict):
                yield record
            else:
                self.unreadable += 1


def _line(file: BinaryIO) -> bytes:
    """The next one; what is being written is left for the next time."""
    place = file.tell()
    line = file.readline(_LONGEST)
    if line and not line.endswith(b"\n") and len(line) < _LONGEST:
        file.seek(place)
        return b""
    return line
