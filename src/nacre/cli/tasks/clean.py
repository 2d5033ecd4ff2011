"""`nacre clean`: removes ended tasks by age, number and size. Running tasks are never touched."""

from __future__ import annotations

from nacre.base.units import format_size
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.tasks.task_selection import TaskSelection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser


class _Arguments(Arguments):
    COMMAND = "clean"
    USAGE = (("[options]", "remove tasks that have ended, with their output"),)
    EPILOG = """\
The ids of what was removed go to stdout. Running tasks, and processes that outlived their task, stay.

  nacre clean                     all that ended a week ago
  nacre clean --older-than 0      all that have ended

exit codes: 0; 1 something could not be removed, and is listed; 125 nacre itself failed.
"""

    older_than: float | None = None
    keep: int | None = None
    keep_size: int | None = None
    json = False

    def __init__(self) -> None:
        self.selection = TaskSelection()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        from nacre.cli.common.parser import duration, integer, size

        add = parser.add_argument
        add(
            "--older-than",
            type=duration,
            metavar="AGE",
            help="tasks that ended longer ago (default: 7d; also 90m, 12h, 0)",
        )
        add("--keep", type=integer, metavar="N", help="of the others, the newest N (default: 1000)")
        add(
            "--keep-size",
            type=size,
            metavar="SIZE",
            help="of those, the newest with at most this total size (default: 1G)",
        )
        add("--json", action="store_true", help="one JSON object: removed, bytes, problems")
        add("--dir", metavar="DIR", help="where tasks are kept")


def clean(words: list[str]) -> int:
    args = _Arguments.parse(words)
    given = {"older_than": args.older_than, "keep": args.keep, "keep_bytes": args.keep_size}
    limits = {name: value for name, value in given.items() if value is not None}
    with without_ssl():
        done = args.selection.open_tasks().clean(**limits)  # type: ignore[arg-type]  # numbers and sizes are integers
    if args.json:
        write_json({"removed": list(done.removed), "bytes": done.bytes, "problems": list(done.problems)})
    else:
        write_out("".join(f"{id}\n" for id in done.removed))
        notice(f"{_count(len(done.removed))} removed, {format_size(done.bytes)} bytes freed")
        for problem in done.problems:
            notice(problem)
    return 1 if done.problems else 0


def _count(number: int) -> str:
    return "1 task" if number == 1 else f"{number:,} tasks"
