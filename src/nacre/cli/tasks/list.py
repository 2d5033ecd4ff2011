"""`nacre tasks`: lists this user's background tasks, one line each. Does not load asyncio."""

from __future__ import annotations

from nacre.cli.common.arguments import Arguments
from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.common.terminal import has_colour
from nacre.cli.tasks.table import no_tasks_text, table, width
from nacre.cli.tasks.task_selection import TaskSelection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser
    from nacre.tasks.store.task import Task


class _Arguments(Arguments):
    COMMAND = "tasks"
    USAGE = (("[options]", "running background tasks, of any caller"),)
    EPILOG = """\
  STATE   running; exit N; the signal that killed it; timed out; killed (by `nacre kill`, or with its host);
          over a limit; lost (its keeper was killed, or the machine restarted); broken (not a valid task)
  TIME    how long it runs, or ran
  QUIET   since its last output
  BYTES   that it has printed
  PID     of its shell: `kill -9 -PID` kills its process group, `nacre kill` everything it started

A narrow terminal shows fewer columns. Unprintable characters in a command are shown as \\n, \\x1b, \\u202e.

  nacre run --background 'make'     start one
  nacre tasks --all                 how did they end?
  nacre tasks --json | jq -r '.tasks[] | select(.idle > 60) | .id'

exit codes: 0; 125 nacre itself failed; 130 Ctrl-C.
"""

    all = False
    watch = False
    json = False

    def __init__(self) -> None:
        self.selection = TaskSelection()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        add = parser.add_argument
        add("--all", action="store_true", help="also those that have ended or cannot be read")
        add("--watch", action="store_true", help="show changes until Ctrl-C")
        add("--json", action="store_true", help="one JSON object; with --watch, one on a line for each change")
        add(
            "--dir",
            metavar="DIR",
            help="where they are kept (default: nacre/tasks in $XDG_STATE_HOME, or in ~/.local/state)",
        )
        add(
            "--engine",
            metavar="NAME",
            help="where they run: local (default), or ray for all nodes of the cluster",
        )


def tasks(words: list[str]) -> int:
    args = _Arguments.parse(words)
    known = args.selection.open_tasks()
    if args.watch:
        from nacre.cli.tasks.watch import watch

        return watch(known, all=args.all, as_json=args.json)
    found = known.list(all=args.all)
    if args.json:
        write_json({"directory": known.directory, "tasks": [task.to_dict() for task in found]})
    elif found and has_colour():
        write_out(_in_colour(found))
    elif found:
        write_out("".join(f"{line}\n" for line in table(found, width())))
    else:
        notice(no_tasks_text(known.directory, all=args.all))
    return 0


def _in_colour(found: list[Task]) -> str:
    from nacre.cli.common.terminal import (
        terminal_capabilities,  # slow to load: only for a person at a terminal, not for a script
    )
    from nacre.views.panels.style import render
    from nacre.views.panels.task_table import task_table

    shown = terminal_capabilities()
    return render(task_table(found, shown), shown)
