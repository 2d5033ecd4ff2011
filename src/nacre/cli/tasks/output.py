"""`nacre output`: prints a task's output byte for byte. Loads asyncio only with `--follow`.

On a terminal, colours and newlines pass through; every other control sequence is escaped.
"""

from __future__ import annotations

from nacre.cli.common.messages import write_out
from nacre.cli.common.parser import int_option, parse_args
from nacre.cli.tasks.output_writers import JsonLines, RawOutput
from nacre.cli.tasks.task_selection import tasks_of
from nacre.tasks.store.log_reader import MAX_READ_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.tasks.store.log_reader import Output
    from nacre.tasks.tasks import Tasks

_HELP = """\
usage: nacre output [options] ID     what a task has printed so far, stdout and stderr in order

  ID                  of a task, or a unique prefix: bash-3f9c2a17, 3f9c
  -f, --follow        print new output until it has ended
  --since N           from byte N on, the cursor of an earlier call; -N: the last N bytes
  --tail LINES        only the last lines
  --json              one JSON object: task, text, start, cursor, dropped, skipped, more; at most a megabyte of text
                      (`more`: call again with --since=cursor). With --follow one on a line, as it comes
  --dir DIR           where tasks are kept
  --engine NAME       where they run: local (default) or ray; not needed for ID@NODE

The bytes go to stdout unchanged; on a terminal, colours work, and other escape sequences and invisible
characters are spelt out. The state of the task, the next cursor and lost output are reported on stderr.

  nacre output 3f9c --tail 20
  nacre output 3f9c --since 4096        only what is new
  nacre output -f 3f9c | grep -m1 ready

exit codes: 0; 125 no such task, or nacre itself failed; 130 Ctrl-C (the task keeps running).
"""
_MAX_LAST_LINES_BYTES = 64 * 1024 * 1024
"""Limit for the output of `--tail`."""


def output(words: list[str]) -> int:
    args = parse_args(
        "output",
        words,
        flags=("-f", "--follow", "--json"),
        valued=("--since", "--tail", "--dir", "--engine"),
        takes=(1, 1),
    )
    if "--help" in args:
        write_out(_HELP)
        return 0
    tasks, id = tasks_of(args, args.operands), args.operands[0]
    since, lines = int_option(args, "--since") or 0, int_option(args, "--tail")
    to = JsonLines() if "--json" in args else RawOutput()
    if "-f" in args or "--follow" in args:
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
