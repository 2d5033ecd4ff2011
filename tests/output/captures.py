"""Captured output with an omitted middle."""

from __future__ import annotations

from nacre.capture.head_tail import HeadTailBuffer
from nacre.output.error_lines import ErrorScanner
from nacre.output.markers import OmittedMiddle
from nacre.output.shape import ShapeOptions
from nacre.result import Captured, Spill

SMALL = ShapeOptions(chars=600, lines=40)
FILE = Spill(path="/tmp/out.log", bytes=10**6, complete=True)


def capture_bytes(data: bytes, limit: int) -> Captured:
    record = HeadTailBuffer(limit)
    record.add(data)
    return record.to_captured()


def middle_of(data: bytes, part: Captured) -> OmittedMiddle:
    scanner = ErrorScanner()
    scanner.feed(data[len(part.head) : len(part.head) + part.dropped_bytes])
    found = scanner.error_lines()
    return OmittedMiddle(scanner.lines, found, scanner.total)
