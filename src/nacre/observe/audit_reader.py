"""Read an audit trail: the records of its files, oldest first. Lines that are not records are skipped and counted.

InvalidRequest is raised if the directory or a file cannot be read.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeAlias

from nacre.errors import InvalidRequest

AuditRecord: TypeAlias = "dict[str, Any]"

_MAX_LINE_BYTES = 4 * 1024 * 1024
_POLL_INTERVAL_S = 0.25
"""Interval between two reads of a file that is followed, in seconds."""


class AuditReader:
    """Reads the records of an audit trail and follows new ones."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.unreadable = 0
        """Number of lines so far that were not records."""
        self._read: tuple[os.stat_result, int] | None = None
        """The last file that was read, and the offset in it."""

    def files(self) -> list[str]:
        """Return the paths of the existing files, oldest first."""
        folder, name = os.path.split(self.path)
        pattern = re.compile(re.escape(name) + r"\.([1-9]\d{0,3})")
        try:
            found = [pattern.fullmatch(entry) for entry in os.listdir(folder or ".")]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unreadable(folder, error) from error
        numbers = [int(each[1]) for each in found if each]
        older = [f"{self.path}.{number}" for number in sorted(numbers, reverse=True)]
        return [*older, *([self.path] if os.path.exists(self.path) else [])]

    def records(self) -> Iterator[AuditRecord]:
        """Yield the records of all files, oldest first."""
        file = self._next_file(None)
        while file is not None:
            with file:
                yield from self._records_in(file)
                self._read = os.fstat(file.fileno()), file.tell()
                file = self._next_file(file)

    def follow(self, wait: Callable[[float], None] = time.sleep) -> Iterator[AuditRecord]:
        """Yield records after the last one read, or from now on if none was read, also from later files. Never
        returns."""
        reading = self._reopen()
        try:
            while True:
                newer = self._next_file(reading[-1] if reading else None)
                for file in reading:
                    yield from self._records_in(file)
                if newer is None:
                    wait(_POLL_INTERVAL_S)
                    continue
                reading.append(newer)
                while len(reading) > 2:  # a process that was about to write during a rotation writes to the older file
                    reading.pop(0).close()
        finally:
            for file in reading:
                file.close()

    def _reopen(self) -> list[BinaryIO]:
        """Return the last file that was read, at its offset; none if it is gone or there was none."""
        for file in self._newest_first():
            if self._read is None:
                file.seek(0, os.SEEK_END)
                return [file]
            if os.path.samestat(self._read[0], os.fstat(file.fileno())):
                file.seek(self._read[1])
                return [file]
            file.close()
        return []

    def _next_file(self, file: BinaryIO | None) -> BinaryIO | None:
        """Return the file that was started after this one, or the oldest without it; None if this is the newest."""
        place = None if file is None else os.fstat(file.fileno())
        after = None
        for found in self._newest_first():
            if place is not None and os.path.samestat(place, os.fstat(found.fileno())):
                found.close()
                break
            if after is not None:
                after.close()
            after = found
        return after

    def _newest_first(self) -> Iterator[BinaryIO]:
        """Yield the open files, newest first. This order misses none: a file that is rotated meanwhile appears again
        under its next name."""
        for path in reversed(self.files()):
            try:
                file = open(path, "rb")  # noqa: SIM115
            except FileNotFoundError:
                continue  # it was the oldest and was removed
            except OSError as error:
                raise _unreadable(path, error) from error
            yield file

    def _records_in(self, file: BinaryIO) -> Iterator[AuditRecord]:
        while read := _line(file):
            if read == b"\n":
                continue
            try:
                record = json.loads(read)
            except (ValueError, RecursionError):
                self.unreadable += 1
                continue
            if isinstance(record, dict):
                yield record
            else:
                self.unreadable += 1


def _unreadable(path: str, error: OSError) -> InvalidRequest:
    problem = f"Cannot read the audit trail at {path}: {error.strerror}."
    return InvalidRequest("unreadable_trail", problem, field="file", hint="Name your own audit file.")


def _line(file: BinaryIO) -> bytes:
    """Return the next line; an incomplete one is left for the next call."""
    place = file.tell()
    line = file.readline(_MAX_LINE_BYTES)
    if line and not line.endswith(b"\n") and len(line) < _MAX_LINE_BYTES:
        file.seek(place)
        return b""
    return line
