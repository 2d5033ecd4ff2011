"""`nacre wait`: returns when tasks have ended or a condition is met. The tasks are not affected."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from nacre.base.units import format_duration, parse_duration
from nacre.cli.common.arguments import Arguments
from nacre.cli.common.exit_codes import EXIT_ERROR, EXIT_TIMED_OUT
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import notice, write_json
from nacre.cli.common.usage import UsageError
from nacre.cli.tasks.task_selection import TaskSelection
from nacre.result import Exited
from nacre.views.console.task_status import status_sentence

if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser
    from nacre.tasks.store.task import Task
    from nacre.tasks.wait import WaitCondition, WaitResult

_CONDITIONS = "exit, text:REGEX, port:[HOST:]N or quiet:SECONDS"


class _Arguments(Arguments):
    COMMAND = "wait"
    USAGE = (("[options] ID…", "until tasks have ended or meet a condition"),)
    EPILOG = """\
conditions:
  exit               it has ended (default)
  text:REGEX         it has printed a line that matches
  port:[HOST:]N      a process listens there
  quiet:SECONDS      it has printed nothing for that time

  nacre wait 3f9c && echo it exited with 0
  nacre wait 3f9c --until port:8000 --timeout 30
  nacre wait 3f9c --until 'text:[Ll]istening on'
  nacre wait --any 3f9c 77d0

exit codes, for the end of one task: its own; 128+n killed by signal n; 124 it timed out; 125 lost.
For several: 0 all (with --any: those that have ended) exited with 0; 1 otherwise.
For other conditions: 0 met; 1 a task ended before (with --any: all of them).
124 the --timeout expired; 125 no such task, or nacre itself failed; 130 Ctrl-C. The tasks keep running.
"""
    MIN_OPERANDS, MAX_OPERANDS = 1, None

    any = False
    timeout: float | None = None
    until = "exit"
    json = False

    def __init__(self) -> None:
        self.selection = TaskSelection()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        from nacre.cli.common.parser import duration

        add = parser.add_argument
        parser.add_operand("ID…", "of tasks, or unique prefixes: bash-3f9c2a17, 3f9c")
        add("--any", action="store_true", help="return at the first of them")
        add("--timeout", type=duration, metavar="SECONDS", help="maximum time (also 30s, 5m, 1h)")
        add("--until", metavar="WHAT", help="the condition to wait for: see below")
        add("--json", action="store_true", help="one JSON object: tasks, met, ended, timed_out, match")
        TaskSelection.add_options(parser)


def wait(words: list[str]) -> int:
    args = _Arguments.parse(words)
    with without_ssl():
        until = _parse_condition(args.until)
    waited = args.selection.open_tasks(args.operands).wait_sync(
        args.operands, any=args.any, timeout=args.timeout, until=until
    )
    if args.json:
        write_json(_data(waited))
    else:
        for task in waited.tasks:
            notice(_sentence(task, waited, until))
            for note in task.notes:
                notice(note)
        if waited.timed_out:
            notice(f"timed out after {format_duration(args.timeout or 0)}")
    return _code(waited, until, any=args.any)


def _parse_condition(word: str) -> WaitCondition:
    from nacre.tasks.match import Match
    from nacre.tasks.wait import Exit, Port, Quiet

    kind, colon, value = word.partition(":")
    if word == "exit":
        return Exit()
    if kind == "text" and value:
        return Match(value)
    if kind == "quiet" and (length := parse_duration(value)) is not None:
        return Quiet(length)
    if kind == "port" and colon:
        host, _, number = value.rpartition(":")
        if number.isascii() and number.isdigit() and len(number) < 6:
            return Port(int(number), host.strip("[]")) if host else Port(int(number))

    raise UsageError(f"Invalid value for --until: {word!r}.", f"Write {_CONDITIONS}.", field="until")


def _data(waited: WaitResult) -> dict[str, object]:
    return {
        "tasks": [task.to_dict() for task in waited.tasks],
        "met": list(waited.met),
        "ended": list(waited.ended),
        "timed_out": waited.timed_out,
        "match": waited.match,
    }


def _sentence(task: Task, waited: WaitResult, until: WaitCondition) -> str:
    from nacre.tasks.match import Match
    from nacre.tasks.wait import Exit, Port, Quiet

    if task.id not in waited.met:
        how = "" if task.alive or isinstance(until, Exit) else "it ended first; "
        return how + status_sentence(task)
    match until:
        case Exit():
            return status_sentence(task)
        case Match():
            return f"{task.id} printed: {waited.match[task.id]}"
        case Port(number, host):
            return f"{task.id}: {'port' if host == '127.0.0.1' else host} {number} accepts connections"
        case Quiet(length):
            return f"{task.id} has printed nothing for {format_duration(length)}"
        case _:
            assert_never(until)


def _code(waited: WaitResult, until: WaitCondition, *, any: bool) -> int:
    from nacre.tasks.wait import Exit

    if waited.timed_out:
        return EXIT_TIMED_OUT
    if not isinstance(until, Exit):
        return 0 if (waited.met if any else not waited.ended) else 1
    if len(waited.tasks) == 1:
        (task,) = waited.tasks
        return EXIT_ERROR if task.outcome is None else task.outcome.exit_status
    over = [task for task in waited.tasks if not task.alive]
    return 0 if all(task.outcome == Exited(0) for task in over) else 1
