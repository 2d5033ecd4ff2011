"""Writers for a task's output: raw bytes, or JSON lines."""

from __future__ import annotations

import os

from nacre.cli.common.messages import WriteFailed, encode_for_terminal, notice, write_all, write_json, write_out
from nacre.views.console.escape import TerminalFilter
from nacre.views.console.task_status import status_sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nacre.tasks.store.log_reader import Output
    from nacre.tasks.store.task import Task


class JsonLines:
    """Writer of one JSON object for each read."""

    in_parts = True
    reset = ""

    def write(self, read: Output) -> None:
        write_json(_data(read))

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


class RawOutput:
    """Writer of the raw bytes; on a terminal, filtered by `TerminalFilter`."""

    in_parts = False

    def __init__(self) -> None:
        self._screen = TerminalFilter() if os.isatty(1) else None
        self._task: Task | None = None
        self._cursor = 0
        self._line_open = False

    @property
    def reset(self) -> str:
        """Escape sequence that resets the terminal's colour, if the output ends here."""
        return "" if self._screen is None else self._screen.reset

    def write(self, read: Output) -> None:
        if read.dropped:
            self._say(f"{read.dropped:,} bytes before byte {read.start:,} were not kept")
        # before the write: after an interrupt, `--since` repeats some bytes rather than skipping them
        self._task, self._cursor = read.task, read.start
        self._put(read.data if self._screen is None else self._screen.show(read.data))
        self._cursor = read.cursor
        if read.data:
            self._line_open = not read.data.endswith(b"\n")

    def end(self, *, interrupted: bool = False) -> None:
        """Print the task's state. With `interrupted`, start a new line on the terminal, after its `^C`."""
        if interrupted and os.isatty(2):
            write_out("\n", to=2)
            self._line_open = False
        if self._screen is not None:
            self._put(self._screen.end())
        if self._task is not None:
            self._say(f"{status_sentence(self._task)}; to read on: --since {self._cursor}")
            for note in self._task.notes:
                self._say(note)

    def _put(self, data: bytes | str) -> None:
        try:
            write_all(1, data if isinstance(data, bytes) else encode_for_terminal(data, 1))
        except BrokenPipeError:
            raise
        except OSError as error:
            raise WriteFailed(error.strerror) from error

    def _say(self, text: str) -> None:
        if self._line_open and os.isatty(1) and os.isatty(2):
            write_out("\n", to=2)
            self._line_open = False
        notice(text)
