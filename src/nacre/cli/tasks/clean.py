"""`nacre clean`: removes ended tasks by age, number and size. Running tasks are never touched."""

from __future__ import annotations

from nacre.base.units import format_size, parse_duration, parse_size
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.common.parser import int_option, parse_args
from nacre.cli.common.usage import UsageError
from nacre.cli.tasks.task_selection import tasks_of

_HELP = """\
usage: nacre clean [options]     remove tasks that have ended, with their output

  --older-than AGE    tasks that ended longer ago (default: 7d; also 90m, 12h, 0)
  --keep N            of the others, the newest N (default: 1000)
  --keep-size SIZE    of those, the newest with at most this total size (default: 1G)
  --json              one JSON object: removed, bytes, problems
  --dir DIR           where tasks are kept

The ids of what was removed go to stdout. Running tasks, and processes that outlived their task, stay.

  nacre clean                     all that ended a week ago
  nacre clean --older-than 0      all that have ended

exit codes: 0; 1 something could not be removed, and is listed; 125 nacre itself failed.
"""


def clean(words: list[str]) -> int:
    args = parse_args(
        "clean", words, flags=("--json",), valued=("--older-than", "--keep", "--keep-size", "--dir"), takes=(0, 0)
    )
    if "--help" in args:
        write_out(_HELP)
        return 0
    limits: dict[str, float] = {}
    if (age := args.last("--older-than")) is not None:
        limits["older_than"] = _require_value(
            parse_duration(age), "--older-than", age, "Write 7d, 12h, 90m or seconds."
        )
    if (most := args.last("--keep-size")) is not None:
        limits["keep_bytes"] = _require_value(parse_size(most), "--keep-size", most, "Write 512M, 1G or bytes.")
    if (count := int_option(args, "--keep")) is not None:
        limits["keep"] = count
    with without_ssl():
        done = tasks_of(args).clean(**limits)  # type: ignore[arg-type]  # sizes are whole numbers
    if "--json" in args:
        write_json({"removed": list(done.removed), "bytes": done.bytes, "problems": list(done.problems)})
    else:
        write_out("".join(f"{id}\n" for id in done.removed))
        notice(f"{_count(len(done.removed))} removed, {format_size(done.bytes)} bytes freed")
        for problem in done.problems:
            notice(problem)
    return 1 if done.problems else 0


def _require_value(value: float | None, option: str, word: str, hint: str) -> float:
    if value is None:
        raise UsageError(f"{option} {word!r} is invalid.", hint, field=option.lstrip("-"))
    return value


def _count(number: int) -> str:
    return "1 task" if number == 1 else f"{number:,} tasks"
