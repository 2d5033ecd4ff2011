"""`nacre tasks --watch`: reprints the table; on a terminal in place once a second, elsewhere only after a change.

The cursor is restored however this ends.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from nacre.cli.common.messages import WriteFailed, write_json, write_out
from nacre.cli.common.terminal import is_dumb
from nacre.cli.tasks.table import no_tasks_text, table, width
from nacre.tasks.store.task import Task
from nacre.tasks.tasks import Tasks

_INTERVAL_MS = 1000
"""Refresh interval."""
_HIDE, _SHOW = "\x1b[?25l\x1b[?7l", "\x1b[?25h\x1b[?7h"
"""Hide and show the cursor; also turn wrapping off and on, so that the terminal cuts lines that are still too long."""
_CLEAR, _THIS_LINE, _REST = "\x1b[H\x1b[2J", "\x1b[2K", "\x1b[J"


class _Terminated(BaseException):
    """SIGTERM or SIGHUP, raised by the signal handler with the signal's number."""


def watch(tasks: Tasks, *, all: bool, as_json: bool) -> int:
    if as_json or not os.isatty(1) or is_dumb():
        return _print_changes(tasks, all=all, as_json=as_json)
    try:
        with _terminal() as screen:
            while True:
                screen.draw(tasks.list(all=all), no_tasks_text(tasks.directory, all=all))
                _pause()
    except _Terminated as told:
        return 128 + int(told.args[0])


def _pause() -> None:
    """Wait for one interval. Raise BrokenPipeError if stdout has no reader any more."""
    poll = select.poll()
    poll.register(1, 0)
    if poll.poll(_INTERVAL_MS):
        raise BrokenPipeError


def _print_changes(tasks: Tasks, *, all: bool, as_json: bool) -> int:
    before: object = None
    while True:
        found = tasks.list(all=all)
        now = [(task.id, task.state, task.outcome, task.bytes, task.problem) for task in found]
        if now != before:
            before = now
            if as_json:
                write_json({"directory": tasks.directory, "tasks": [task.to_dict() for task in found]})
            else:
                lines = table(found, width()) if found else [no_tasks_text(tasks.directory, all=all)]
                write_out("".join(f"{line}\n" for line in lines) + "\n")
        _pause()


class _TaskScreen:
    def __init__(self) -> None:
        self._drawn = 0
        self._size = os.terminal_size((0, 0))

    def draw(self, found: list[Task], otherwise: str) -> None:
        size = _size()
        if size != self._size and self._drawn:  # a resize moves our lines to unknown places
            write_out(_CLEAR)
            self._drawn = 0
        self._size = size
        room = max(size.lines - 2, 1)
        rows = found[-room:] if len(found) <= room else found[-(room - 1) :]
        lines = table(rows, size.columns) if found else [otherwise[: size.columns]]
        if more := len(found) - len(rows):
            lines.insert(1, f"… {more:,} older"[: size.columns])
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        write_out(f"\r{up}" + "".join(f"{_THIS_LINE}{line}\n" for line in lines) + _REST)
        self._drawn = len(lines)

    def forget(self) -> None:
        """Draw at the cursor next time: another program has written in between."""
        self._drawn = 0


def _size() -> os.terminal_size:
    try:
        size = os.get_terminal_size(1)
    except OSError:
        size = os.terminal_size((0, 0))
    return size if size.columns and size.lines else os.terminal_size((80, 24))


@contextmanager
def _terminal() -> Iterator[_TaskScreen]:
    def end(number: int, _: object) -> None:
        raise _Terminated(number)

    def rest(number: int, _: object) -> None:
        """On Ctrl-Z, restore the cursor for the shell that gets the terminal."""
        write_out(_SHOW)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, rest)
        write_out(_HIDE)
        screen.forget()

    screen = _TaskScreen()
    handlers = {signal.SIGTERM: end, signal.SIGHUP: end, signal.SIGTSTP: rest}
    before = {
        number: signal.signal(number, handler)
        for number, handler in handlers.items()
        if signal.getsignal(number) is signal.SIG_DFL
    }
    try:
        write_out(_HIDE)
        yield screen
    finally:
        with suppress(OSError, WriteFailed):
            write_out(f"\r{_SHOW}{_REST}")
        for number, handler in before.items():
            signal.signal(number, handler)
