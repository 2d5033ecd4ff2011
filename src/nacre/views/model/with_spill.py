"""Renders the text that a model reads about a Result, with information from the spill file.

Reads files and a megabyte of output: this takes 0.6 s for a large file, and more than a second for output that was made
to be slow. A host with an event loop calls it in a thread.

`inspect_spill` checks that the spill exists and is complete, counts the lines of the part that memory does not hold and
finds the errors in it. `for_model` writes a spill if the text is cut, or similar lines are folded, and memory holds all
of the output, so that the omitted part can be read.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable

from nacre.base.frozen import replace
from nacre.capture.spill import SpillFile
from nacre.output.error_lines import ErrorScanner
from nacre.output.markers import OmittedMiddle
from nacre.result import Captured, Result, Spill
from nacre.views.model.text import DEFAULT, ModelOptions, SpillInfo, render_model_text

SCAN_TIMEOUT_S = 0.3
"""Limit for searching errors. After it, lines are only counted, for the same time again."""
_BLOCK_BYTES = 256 * 1024
_MAX_ERRORS = 1000
"""From this number of errors on, they are reported even if the search was cut short: the text says "or more"."""


def for_model(
    result: Result,
    options: ModelOptions = DEFAULT,
    *,
    secrets: Iterable[str] = (),
    directory: Callable[[], str] | None = None,
    name: str = "bash",
) -> str:
    """Return the text that a model reads. `directory` returns where to write a file (None: a private one, removed when
    this process exits); `name` is the prefix of the file's name."""
    kept = inspect_spill(result, options.output.errors)
    hidden = tuple(secrets)
    text = render_model_text(result, options, secrets=hidden, kept=kept)
    lacks = text.cut and kept.spill is None and not result.dropped_bytes and not result.files_unreachable
    if lacks and (spill := write_spill(result.both, directory, name)):
        kept = SpillInfo(spill=spill)
        text = render_model_text(result, options, secrets=hidden, kept=kept, readings=text.readings)
    return text.text


def inspect_spill(result: Result, errors: int = 5) -> SpillInfo:
    """Return the spill as it is on disk now, and the part that memory does not hold, as far as it could be read, with
    up to `errors` of its errors."""
    if result.spill is None:
        return SpillInfo()
    try:
        fd = os.open(result.spill.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return SpillInfo()
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or not status.st_size:
            return SpillInfo()
        spill = result.spill
        if status.st_size < spill.bytes:
            spill = replace(spill, bytes=status.st_size, complete=False)
        middle = _middle(fd, result.both, errors) if spill.complete else None
        return SpillInfo(spill=spill, middle=middle)
    except OSError:
        return SpillInfo()
    finally:
        os.close(fd)


def _middle(fd: int, captured: Captured, errors: int) -> OmittedMiddle | None:
    """Count the lines of the part that memory does not hold, and find its errors. Return None if it could not be read
    to its end in time."""
    if not captured.dropped_bytes:
        return None
    scanner, lines, scans = ErrorScanner(max(errors, 1)), 0, True
    began, place = time.monotonic(), len(captured.head)
    end = place + captured.dropped_bytes
    while place < end:
        block = os.pread(fd, min(_BLOCK_BYTES, end - place), place)
        if not block:
            return None
        place += len(block)
        spent = time.monotonic() - began
        scans = scans and spent < SCAN_TIMEOUT_S
        if scans:
            scanner.feed(block)
        elif spent < 2 * SCAN_TIMEOUT_S:
            lines += block.count(b"\n")
        else:
            return None
    found = scanner.error_lines()
    known = scans or scanner.total >= _MAX_ERRORS
    return OmittedMiddle(scanner.lines + lines, found if known else (), scanner.total if known else 0)


def _private() -> str:
    from nacre.keeper.client.connection import private_directory

    return private_directory()


def write_spill(captured: Captured, directory: Callable[[], str] | None, name: str = "bash") -> Spill | None:
    """Write the captured output to a new file. Return None if it could not be written completely. `directory` and
    `name` are those of `for_model`."""
    file = SpillFile(directory or _private, name, captured.total_bytes)
    file.write(captured.head + captured.tail)
    if file.complete:
        return file.finish()
    file.discard()
    return None


def check_spill(spill: Spill | None) -> Spill | None:
    """Return the spill as it is on disk now; None if it is missing or empty."""
    if spill is None:
        return None
    try:
        status = os.lstat(spill.path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode) or not status.st_size:
        return None
    return spill if status.st_size >= spill.bytes else replace(spill, bytes=status.st_size, complete=False)
