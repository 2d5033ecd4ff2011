"""`nacre tasks`: lists this user's background tasks, one line each. Loads neither asyncio nor argparse."""

from __future__ import annotations

from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.common.parser import parse_args
from nacre.cli.common.terminal import has_colour
from nacre.cli.tasks.table import no_tasks_text, table, width
from nacre.cli.tasks.task_selection import tasks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.tasks.store.task import Task

_HELP = """\
usage: nacre tasks [options]     running background tasks, of any caller

  --all               also those that have ended or cannot be read
  --watch             show changes until Ctrl-C
  --json              one JSON object; with --watch, one on a line for each change
  --dir DIR           where they are kept (default: nacre/tasks in $XDG_STATE_HOME, or in ~/.local/state)
  --engine NAME       where they run: local (default), or ray for all nodes of the cluster

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


def tasks(words: list[str]) -> int:
    args = parse_args("tasks", words, flags=("--all", "--json", "--watch"), valued=("--dir", "--engine"), takes=(0, 0))
    if "--help" in args:
        write_out(_HELP)
        return 0
    known = tasks_of(args)
    if "--watch" in args:
        from nacre.cli.tasks.watch import watch

        return watch(known, all="--all" in args, as_json="--json" in args)
    found = known.list(all="--all" in args)
    if "--json" in args:
        write_json({"directory": known.directory, "tasks": [task.to_dict() for task in found]})
    elif found and has_colour():
        write_out(_in_colour(found))
    elif found:
        write_out("".join(f"{line}\n" for line in table(found, width())))
    else:
        notice(no_tasks_text(known.directory, all="--all" in args))
    return 0


def _in_colour(found: list[Task]) -> str:
    from nacre.cli.common.terminal import (
        terminal_capabilities,  # slow to load: only for a person at a terminal, not for a script
    )
    from nacre.views.panels.style import render
    from nacre.views.panels.task_table import task_table

    shown = terminal_capabilities()
    return render(task_table(found, shown), shown)
