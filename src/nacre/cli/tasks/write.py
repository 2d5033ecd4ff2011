"""`nacre write`: writes to the standard input of a task that was started with it open."""

from __future__ import annotations

from nacre.cli.common.arguments import Arguments
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.stdin import read_input
from nacre.cli.common.usage import UsageError
from nacre.cli.tasks.task_selection import TaskSelection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser


class _Arguments(Arguments):
    COMMAND = "write"
    USAGE = (("[options] ID TEXT", "write to the standard input of a task"),)
    EPILOG = """\
Only for a task started with --open-stdin. Returns when everything has been written, which
blocks while the task does not read.

  id=$(nacre run --background --open-stdin 'python3 -i')
  nacre write "$id" $'print(6 * 7)\\n'
  nacre write "$id" --close

exit codes: 0; 125 no such task, it has ended, or its stdin is not open; 130 Ctrl-C.
"""
    MIN_OPERANDS, MAX_OPERANDS = 1, 2

    close = False

    def __init__(self) -> None:
        self.selection = TaskSelection()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        parser.add_operand("ID", "of a task, or a unique prefix: bash-3f9c2a17, 3f9c")
        parser.add_operand("TEXT", "written as is, without a line break; - copies nacre's own stdin to EOF")
        parser.add_argument("--close", action="store_true", help="then close it: the task reads EOF")
        TaskSelection.add_options(parser)


def write(words: list[str]) -> int:
    args = _Arguments.parse(words)
    id, *texts = args.operands
    if not texts and not args.close:
        raise UsageError("There is nothing to write.", "Write: nacre write ID TEXT, or - for stdin.", field="text")
    tasks = args.selection.open_tasks([id])
    id = tasks.get(id).id  # fails for an unknown task before the user types any input
    data = read_input() if texts == ["-"] else texts[0] if texts else None
    with without_ssl():
        import asyncio
    if data is None:
        asyncio.run(tasks.close_stdin(id))
    else:
        asyncio.run(tasks.write(id, data, close=args.close))
    return 0
