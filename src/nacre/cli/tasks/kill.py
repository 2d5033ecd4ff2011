"""`nacre kill`: kills tasks with all their processes, and reports the result of each."""

from __future__ import annotations

from nacre.cli.common.arguments import Arguments
from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import notice, write_json
from nacre.cli.tasks.task_selection import TaskSelection
from nacre.tasks.store.task import Task
from nacre.views.console.task_status import status_sentence, survivors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nacre.cli.common.parser import OptionParser


class _Arguments(Arguments):
    COMMAND = "kill"
    USAGE = (("[options] ID…", "kill tasks and every process they started"),)
    EPILOG = """\
  nacre kill 3f9c
  nacre kill --signal INT --grace 30 3f9c     give it time to clean up

exit codes: 0 no process of them is left; 1 something could not be killed, and is listed;
125 no such task (then nothing is killed), or nacre itself failed; 130 Ctrl-C.
"""
    MIN_OPERANDS, MAX_OPERANDS = 1, None

    signal = "TERM"
    grace = 5.0
    json = False

    def __init__(self) -> None:
        self.selection = TaskSelection()

    @classmethod
    def add_options(cls, parser: OptionParser) -> None:
        from nacre.cli.common.parser import duration

        add = parser.add_argument
        parser.add_operand("ID…", "of tasks, or unique prefixes: bash-3f9c2a17, 3f9c")
        add("--signal", metavar="NAME", help="the first signal (default: TERM), by name or number")
        add("--grace", type=duration, metavar="SECONDS", help="time until survivors get KILL (default: 5)")
        add("--json", action="store_true", help="one JSON object: tasks, survived")
        TaskSelection.add_options(parser)


def kill(words: list[str]) -> int:
    args = _Arguments.parse(words)
    tasks = args.selection.open_tasks(args.operands)
    with without_ssl():
        import asyncio

        from nacre.tasks.kill import checked_grace, signal_number

    number, patience = signal_number(args.signal), checked_grace(args.grace)
    # an unknown id fails here, before any task is killed
    before = {task.id: task for task in [tasks.get(id) for id in args.operands]}

    async def end() -> list[Task]:
        return await asyncio.gather(*(tasks.kill(id, signal=number, grace=patience) for id in before))

    ended = asyncio.run(end())
    survived = [task for task in ended if task.alive or task.running or task.state == "broken"]
    if args.json:
        write_json({"tasks": [task.to_dict() for task in ended], "survived": [task.id for task in survived]})
    else:
        for task in ended:
            notice(_sentence(task, was_over=not before[task.id].alive))
            for note in task.notes:
                notice(note)
    return 1 if survived else 0


def _sentence(task: Task, *, was_over: bool) -> str:
    if task.alive:
        return f"{task.id} could not be killed: its keeper does not answer"
    if task.running:
        return f"{status_sentence(task)}; could not be killed: {survivors(task)}"
    already = "; it had already ended" if was_over and task.state == "ended" else ""
    return status_sentence(task) + already
