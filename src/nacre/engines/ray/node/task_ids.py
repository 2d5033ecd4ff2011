"""What a task of a cluster is called: `bash-3f9c2a17@4f2a91c3`, its id on its node and the beginning of the node's id.
Whoever has that need not ask every node. Pure."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.engines.ray.node.payload import FinalMessage
from nacre.keeper.client.events import Promoted
from nacre.result import Outcome, Result, Running, TaskRef
from nacre.tasks.store.log_reader import Output
from nacre.tasks.store.task import Task
from nacre.tasks.wait import WaitResult

_SIGN = "@"
_DIGITS = 8


def qualify_task_id(task: str, node: str) -> str:
    return f"{task}{_SIGN}{node[:_DIGITS]}"


def split_task_id(name: str) -> tuple[str, str]:
    """A task's id, and the beginning of its node's; empty if nobody says so."""
    id, _, node = name.partition(_SIGN)
    return id, node


def qualify_final(final: FinalMessage, node: str) -> FinalMessage:
    """As its node has told it, so the others."""
    if final.task is None:
        return final
    task, notes = _qualify_reference(final.task, node), _qualify_notes(final.notes, final.task, node)
    word = final.event._replace(task=task) if isinstance(final.event, Promoted) else final.event
    return replace(final, event=word, task=task, notes=notes)


def qualify_result(result: Result, node: str) -> Result:
    if result.task is None:
        return result
    task, notes = _qualify_reference(result.task, node), _qualify_notes(result.notes, result.task, node)
    return replace(result, task=task, outcome=_qualify_outcome(result.outcome, node), notes=notes)


def qualify_task(task: Task, node: str) -> Task:
    outcome = None if task.outcome is None else _qualify_outcome(task.outcome, node)
    return replace(task, id=qualify_task_id(task.id, node), outcome=outcome)


def qualify_output(output: Output, node: str) -> Output:
    return replace(output, task=qualify_task(output.task, node))


def qualify_wait_result(waited: WaitResult, node: str) -> WaitResult:
    return WaitResult(
        tasks=tuple(qualify_task(task, node) for task in waited.tasks),
        met=tuple(qualify_task_id(id, node) for id in waited.met),
        ended=tuple(qualify_task_id(id, node) for id in waited.ended),
        timed_out=waited.timed_out,
        match={qualify_task_id(id, node): line for id, line in waited.match.items()},
    )


def _qualify_outcome(outcome: Outcome, node: str) -> Outcome:
    return replace(outcome, task=qualify_task_id(outcome.task, node)) if isinstance(outcome, Running) else outcome


def _qualify_reference(task: TaskRef, node: str) -> TaskRef:
    return replace(task, id=qualify_task_id(task.id, node))


def _qualify_notes(notes: tuple[str, ...], task: TaskRef, node: str) -> tuple[str, ...]:
    """Each names it by the id first: that it is in the name of a file, too, stays as it is."""
    return tuple(remark.replace(task.id, qualify_task_id(task.id, node), 1) for remark in notes)
