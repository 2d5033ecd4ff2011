"""`nacre output`: what a task has printed, byte for byte. Light as long as nobody follows: no event loop then.

On a terminal, colours and lines stay what they are, and every other command to the terminal is spelt out.
"""

from __future__ import annotations

import os

from nacre.cli.common.messages import CannotWrite, encoded, put, put_json, say, write_all
from nacre.cli.common.parser import sort_out, whole
from nacre.cli.tasks.task_selection import tasks_of
from nacre.tasks.store.log_reader import LIMIT
from nacre.views.console.escape import Screen
from nacre.views.console.task_status import sentence_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nacre.tasks.store.log_reader import Output
    from nacre.tasks.store.task import Task
    from nacre.tasks.tasks import Tasks

_HELP = """\
usage: nacre output [options] ID     what a task has printed so far, stdout and stderr as they came

  ID                  of a task, or enough of its beginning: bash-3f9c2a17, 3f9c
  -f, --follow        go on as it prints, until it has ended
  --since N           from byte N on, as an earlier call named it; -N: the last N bytes
  --tail LINES        only the last lines
  --json              one JSON object: task, text, start, cursor, dropped, skipped, more; at most a megabyte of text
                      (`more`: call again with --since=cursor). With --follow one on a line, as it comes
  --dir DIR           where tasks are kept
  --engine NAME       where they run: local (default) or ray; ID@NODE needs no word about it

The bytes go to stdout as they were printed; if that is a terminal, colours work, and what else would command it or
cannot be seen is spelt out. How the task stands, and where to read on, is said on stderr; so is what was not kept.

  nacre output 3f9c --tail 20
  nacre output 3f9c --since 4096        only what is new
  nacre output -f 3f9c | grep -m1 ready

exit codes: 0; 125 there is no such task, or nacre itself failed; 130 Ctrl-C (the task goes on).
"""
_MOST = 64 * 1024 * 1024
"""Bytes of the last lines."""


def output(words: list[str]) -> int:
    asked = sort_out(
        "output",
        words,
        flags=("-f", "--follow", "--json"),
        valued=("--since", "--tail", "--dir", "--engine"),
        takes=(1, 1),
    )
    if "--help" in asked:
        put(_HELP)
        return 0
    tasks, id = tasks_of(asked, asked.operands), asked.operands[0]
    since, lines = whole(asked, "--since") or 0, whole(asked, "--tail")
    to = JsonLines() if "--json" in asked else Bytes()
    if "-f" in asked or "--follow" in asked:
        from nacre.cli.tasks.follow import follow

        return follow(tasks, id, since, lines, to)
    first = tasks.output(id, since=since, lines=lines, limit=LIMIT if to.in_parts or lines is None else _MOST)
    to.write(first)
    if lines is None and not to.in_parts:
        _write_rest(tasks, id, first, to)
    to.end()
    return 0


def _write_rest(tasks: Tasks, id: str, read: Output, to: Bytes | JsonLines) -> None:
    """Up to where it was when we began: it may print faster than anybody reads."""
    stop = read.task.bytes
    while read.more and read.cursor < stop:
        read = tasks.output(id, since=read.cursor, limit=min(LIMIT, stop - read.cursor))
        to.write(read)


class JsonLines:
    in_parts = True
    reset = ""

    def write(self, read: Output) -> None:
        put_json(_data(read))

    def end(self, *, interrupted: bool = False) -> None:
        pass


def _data(read: Output) -> dict[str, Any]:
    return {
        "task": read.task.to_dict(),
        "text": read.text,
        "start": read.start,
        "cursor": read.cursor,
        "dropped": read.dropped,
        "skipped": read.skipped,
        "more": read.more,
    }


class Bytes:
    """The bytes themselves."""

    in_parts = False

    def __init__(self) -> None:
        self._screen = Screen() if os.isatty(1) else None
        self._task: Task | None = None
        self._cursor = 0
        self._line_open = False

    @property
    def reset(self) -> str:
        """What a terminal has to be sent if this is all."""
        return "" if self._screen is None else self._screen.reset

    def write(self, read: Output) -> None:
        if read.dropped:
            self._say(f"{read.dropped:,} bytes before byte {read.start:,} were not kept")
        self._task, self._cursor = read.task, read.start  # whoever interrupts us reads some twice rather than never
        self._put(read.data if self._screen is None else self._screen.show(read.data))
        self._cursor = read.cursor
        if read.data:
            self._line_open = not read.data.endswith(b"\n")

    def end(self, *, interrupted: bool = False) -> None:
        """How it stands. `interrupted`: by a person, and the terminal shows that."""
        if interrupted and os.isatty(2):
            put("\n", to=2)
            self._line_open = False
        if self._screen is not None:
            self._put(self._screen.end())
        if self._task is not None:
            self._say(f"{sentence_on(self._task)}; to read on: --since {self._cursor}")
            for note in self._task.notes:
                self._say(note)

    def _put(self, data: bytes | str) -> None:
        try:
            write_all(1, data if isinstance(data, bytes) else encoded(data, 1))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise CannotWrite(error.strerror) from error

    def _say(self, text: str) -> None:
        if self._line_open and os.isatty(1) and os.isatty(2):
            put("\n", to=2)
            self._line_open = False
        say(text)
