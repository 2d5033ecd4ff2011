"""`nacre kill`: kills tasks with all their processes, and reports the result of each."""

from __future__ import annotations

from nacre.cli.common.fast_import import without_ssl
from nacre.cli.common.messages import notice, write_json, write_out
from nacre.cli.common.parser import parse_args
from nacre.cli.tasks.task_selection import tasks_of
from nacre.cli.tasks.wait import seconds
from nacre.tasks.store.task import Task
from nacre.views.console.task_status import status_sentence, survivors

_HELP = """\
usage: nacre kill [options] ID…     kill tasks and every process they started

  ID…                 of tasks, or unique prefixes: bash-3f9c2a17, 3f9c
  --signal NAME       the first signal (default: TERM), by name or number
  --grace SECONDS     time until survivors get KILL (default: 5)
  --json              one JSON object: tasks, survived
  --dir DIR           where tasks are kept
  --engine NAME       where they run: local (default) or ray; not needed for ID@NODE

  nacre kill 3f9c
  nacre kill --signal INT --grace 30 3f9c     give it time to clean up

exit codes: 0 no process of them is left; 1 something could not be killed, and is listed;
125 no such task (then nothing is killed), or nacre itself failed; 130 Ctrl-C.
"""


def kill(words: list[str]) -> int:
    args = parse_args(
        "kill", words, flags=("--json",), valued=("--signal", "--grace", "--dir", "--engine"), takes=(1, None)
    )
    if "--help" in args:
        write_out(_HELP)
        return 0
    tasks = tasks_of(args, args.operands)
    signal, grace = args.last("--signal") or "TERM", seconds(args, "--grace")
    with without_ssl():
        import asyncio

        from nacre.tasks.kill import checked_grace, signal_number

    number, patience = signal_number(signal), 5.0 if grace is None else checked_grace(grace)
    # an unknown id fails here, before any task is killed
    before = {task.id: task for task in [tasks.get(id) for id in args.operands]}

    async def end() -> list[Task]:
        return await asyncio.gather(*(tasks.kill(id, signal=number, grace=patience) for id in before))

    ended = asyncio.run(end())
    survived = [task for task in ended if task.alive or task.running or task.state == "broken"]
    if "--json" in args:
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
