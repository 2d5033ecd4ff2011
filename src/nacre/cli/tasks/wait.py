"""`nacre wait`: returns when tasks have ended or a condition is met. The tasks are not affected."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from nacre.base.units import format_duration, parse_duration
from nacre.cli.common.exit_codes import EXIT_TIMED_OUT
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.common.parser import parse_args
from nacre.cli.common.usage import UsageError
from nacre.cli.tasks.task_selection import tasks_of
from nacre.result import Exited
from nacre.views.console.task_status import status_sentence

if TYPE_CHECKING:
    from nacre.cli.common.parser import ParsedArgs
    from nacre.tasks.store.task import Task
    from nacre.tasks.wait import WaitCondition, WaitResult

_HELP = """\
usage: nacre wait [options] ID…     until tasks have ended or meet a condition

  ID…                 of tasks, or unique prefixes: bash-3f9c2a17, 3f9c
  --any               return at the first of them
  --timeout SECONDS   maximum time (also 30s, 5m, 1h)
  --until WHAT        exit: it has ended (default)
                      text:REGEX         it has printed a line that matches
                      port:[HOST:]N      a process listens there
                      quiet:SECONDS      it has printed nothing for that time
  --json              one JSON object: tasks, met, ended, timed_out, match
  --dir DIR           where tasks are kept
  --engine NAME       where they run: local (default) or ray; not needed for ID@NODE

  nacre wait 3f9c && echo it exited with 0
  nacre wait 3f9c --until port:8000 --timeout 30
  nacre wait 3f9c --until 'text:[Ll]istening on'
  nacre wait --any 3f9c 77d0

exit codes, for the end of one task: its own; 128+n killed by signal n; 124 it timed out; 125 lost.
For several: 0 all (with --any: those that have ended) exited with 0; 1 otherwise.
For other conditions: 0 met; 1 a task ended before (with --any: all of them).
124 the --timeout expired; 125 no such task, or nacre itself failed; 130 Ctrl-C. The tasks keep running.
"""
_WAYS = "exit, text:REGEX, port:[HOST:]N or quiet:SECONDS"


def wait(words: list[str]) -> int:
    args = parse_args(
        "wait", words, flags=("--any", "--json"), valued=("--timeout", "--until", "--dir", "--engine"), takes=(1, None)
    )
    if "--help" in args:
        write_out(_HELP)
        return 0
    timeout = seconds(args, "--timeout")
    with without_ssl():
        until = _until(args.last("--until") or "exit")
    tasks, any = tasks_of(args, args.operands), "--any" in args
    waited = tasks.wait_sync(args.operands, any=any, timeout=timeout, until=until)
    if "--json" in args:
        write_json(_data(waited))
    else:
        for task in waited.tasks:
            notice(_sentence(task, waited, until))
            for note in task.notes:
                notice(note)
        if waited.timed_out:
            notice(f"timed out after {format_duration(timeout or 0)}")
    return _code(waited, until, any=any)


def seconds(args: ParsedArgs, option: str) -> float | None:
    """Return the value of a duration option; None if it was not given. Raise UsageError if it is invalid."""
    word = args.last(option)
    if word is None or (found := parse_duration(word)) is not None:
        return None if word is None else found
    raise UsageError(
        f"{option} {word!r} is not a duration.", "Write seconds, or 30s, 5m, 1h.", field=option.lstrip("-")
    )


def _until(word: str) -> WaitCondition:
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
    raise UsageError(f"--until {word!r} is not a condition.", f"Write {_WAYS}.", field="until")


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
        return 125 if task.outcome is None else task.outcome.exit_status
    over = [task for task in waited.tasks if not task.alive]
    return 0 if all(task.outcome == Exited(0) for task in over) else 1
