"""`nacre output`: prints a task's output byte for byte. Loads asyncio only with `--follow`.

On a terminal, colours and newlines pass through; every other control sequence is escaped.
"""

from __future__ import annotations

from nacre.cli.common.arguments import Arguments
from nacre.cli.tasks.output_writers import JsonLines, RawOutput
from nacre.cli.tasks.task_selection import TaskSelection
from nacre.tasks.store.log_reader import MAX_READ_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser
    from nacre.tasks.store.log_reader import Output
    from nacre.tasks.tasks import Tasks

_MAX_LAST_LINES_BYTES = 64 * 1024 * 1024
"""Limit for the output of `--tail`."""


class _Arguments(Arguments):
    COMMAND = "output"
    USAGE = (("[options] ID", "what a task has printed so far, stdout and stderr in order"),)
    EPILOG = """\
The bytes go to stdout unchanged; on a terminal, colours work, and other escape sequences and invisible
characters are spelt out. The state of the task, the next cursor and lost output are reported on stderr.

  nacre output 3f9c --tail 20
  nacre output 3f9c --since 4096        only what is new
  nacre output -f 3f9c | grep -m1 ready

exit codes: 0; 125 no such task, or nacre itself failed; 130 Ctrl-C (the task keeps running).
"""
    MIN_OPERANDS = MAX_OPERANDS = 1

    follow = False
    since = 0
    tail: int | None = None
    json = False

    def __init__(self) -> None:
        self.selection = TaskSelection()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        from nacre.cli.common.parser import integer

        add = parser.add_argument
        parser.add_operand("ID", "of a task, or a unique prefix: bash-3f9c2a17, 3f9c")
        add("-f", "--follow", action="store_true", help="print new output until it has ended")
        add(
            "--since",
            type=integer,
            metavar="N",
            help="from byte N on, the cursor of an earlier call; -N: the last N bytes",
        )
        add("--tail", type=integer, metavar="LINES", help="only the last lines")
        add(
            "--json",
            action="store_true",
            help="one JSON object: task, text, start, cursor, dropped, skipped, more; at most a megabyte of text "
            "(`more`: call again with --since=cursor). With --follow one on a line, as it comes",
        )
        TaskSelection.add_options(parser)


def output(words: list[str]) -> int:
    args = _Arguments.parse(words)
    tasks, id = args.selection.open_tasks(args.operands), args.operands[0]
    since, lines = args.since, args.tail
    to = JsonLines() if args.json else RawOutput()
    if args.follow:
        from nacre.cli.tasks.follow import follow

        return follow(tasks, id, since, lines, to)
    first = tasks.output(
        id, since=since, lines=lines, limit=MAX_READ_BYTES if to.in_parts or lines is None else _MAX_LAST_LINES_BYTES
    )
    to.write(first)
    if lines is None and not to.in_parts:
        _write_rest(tasks, id, first, to)
    to.end()
    return 0


def _write_rest(tasks: Tasks, id: str, read: Output, to: RawOutput | JsonLines) -> None:
    """Write the output up to its size at the start: the task may print faster than the reader reads."""
    stop = read.task.bytes
    while read.more and read.cursor < stop:
        read = tasks.output(id, since=read.cursor, limit=min(MAX_READ_BYTES, stop - read.cursor))
        to.write(read)
