"""`nacre write`: writes to the standard input of a task that was started with it open."""

from __future__ import annotations

from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import write_out
from nacre.cli.common.parser import parse_args
from nacre.cli.common.stdin import read_input
from nacre.cli.common.usage import UsageError
from nacre.cli.tasks.task_selection import tasks_of

_HELP = """\
usage: nacre write [options] ID TEXT     write to the standard input of a task

  ID                  of a task, or a unique prefix: bash-3f9c2a17, 3f9c
  TEXT                written as is, without a line break; - copies nacre's own stdin to EOF
  --close             then close it: the task reads EOF
  --dir DIR           where tasks are kept
  --engine NAME       where they run: local (default) or ray; not needed for ID@NODE

Only for a task started with --open-stdin. Returns when everything has been written, which
blocks while the task does not read.

  id=$(nacre run --background --open-stdin 'python3 -i')
  nacre write "$id" $'print(6 * 7)\\n'
  nacre write "$id" --close

exit codes: 0; 125 no such task, it has ended, or its stdin is not open; 130 Ctrl-C.
"""


def write(words: list[str]) -> int:
    args = parse_args("write", words, flags=("--close",), valued=("--dir", "--engine"), takes=(1, 2))
    if "--help" in args:
        write_out(_HELP)
        return 0
    id, *texts = args.operands
    if not texts and "--close" not in args:
        raise UsageError("There is nothing to write.", "Write: nacre write ID TEXT, or - for stdin.", field="text")
    tasks = tasks_of(args, [id])
    id = tasks.get(id).id  # fails for an unknown task before the user types any input
    data = read_input() if texts == ["-"] else texts[0] if texts else None
    with without_ssl():
        import asyncio
    if data is None:
        asyncio.run(tasks.close_stdin(id))
    else:
        asyncio.run(tasks.write(id, data, close="--close" in args))
    return 0
