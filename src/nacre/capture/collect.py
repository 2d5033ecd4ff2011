"""Collect the output of a run: stdout, stderr and both together, each bounded, with an optional spill file.

Chunks are split between characters: the bytes of a character that is split over two writes are held back until the rest
arrives. So each chunk decodes separately, and the order of arrival is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from nacre.base.utf8 import incomplete_suffix
from nacre.capture.head_tail import HeadTailBuffer
from nacre.capture.spill import SpillFile
from nacre.result import Captured, Spill, StreamName


class Collector:
    """The captured output of one run."""

    def __init__(self, *, limit: int, spill: int, directory: Callable[[], str], name: str, merge: bool) -> None:
        self._limit = limit
        self._cap = spill
        self._directory = directory
        self._name = name
        self._both = HeadTailBuffer(limit)
        self._streams = {"stdout": self._both, "stderr": HeadTailBuffer(0)}
        if not merge:
            self._streams = {"stdout": HeadTailBuffer(limit), "stderr": HeadTailBuffer(limit)}
        self._cut: dict[StreamName, bytes] = {}
        self._spill: SpillFile | None = None

    def feed(self, stream: StreamName, data: bytes) -> bytes:
        """Add a chunk; return the bytes that can be shown now, starting with those held back from the previous
        chunk."""
        if before := self._cut.pop(stream, b""):
            data = before + data
        if rest := incomplete_suffix(data):
            self._cut[stream] = data[-rest:]
            data = data[:-rest]
        if data:
            self._take(stream, data)
        return data

    def flush(self) -> list[tuple[StreamName, bytes]]:
        """End the streams; return the incomplete characters that were held back."""
        rest = list(self._cut.items())
        self._cut.clear()
        for stream, data in rest:
            self._take(stream, data)
        return rest

    def _take(self, stream: StreamName, data: bytes) -> None:
        if self._spill is None and self._cap and self._both.total_bytes + len(data) > self._limit:
            self._spill = SpillFile(self._directory, self._name, self._cap)
            self._spill.write(self._both.all_bytes())
        if self._spill is not None:
            self._spill.write(data)
        self._both.add(data)
        record = self._streams[stream]
        if record is not self._both:
            record.add(data)

    def to_captured(self) -> tuple[Captured, Captured, Captured]:
        """Return stdout, stderr and both together. A stream that printed everything shares its bytes with both."""
        both = self._both.to_captured()
        out, err = (
            both if each.total_bytes == both.total_bytes else each.to_captured() for each in self._streams.values()
        )
        return out, err, both

    @property
    def total_bytes(self) -> int:
        """Bytes printed so far."""
        return self._both.total_bytes + sum(map(len, self._cut.values()))

    def replay(self) -> Iterator[bytes]:
        """Yield all output in order, as far as it is kept in memory or in the spill file."""
        if self._spill is None:
            yield self._both.all_bytes()
        else:
            yield from self._spill.blocks()
        yield b"".join(self._cut.values())

    def notes(self) -> list[str]:
        """Return a note if output is missing from the spill file because of an error."""
        if self._spill is None or not self._spill.problem:
            return []
        return [f"The output left out could not be written to {self._spill.path}: {self._spill.problem}."]

    def close(self) -> Spill | None:
        """Close the spill file and return it; None if there is none."""
        if self._spill is None:
            return None
        return self._spill.finish()
