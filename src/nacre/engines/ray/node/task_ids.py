"""What a task of a cluster is called: `bash-3f9c2a17@4f2a91c3`, its id on its node and the beginning of the node's id.
Whoever has that need not ask every node. Pure."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.engines.ray.node.payload import Final
from nacre.keeper.client.events import Promoted
from nacre.result import Outcome, Result, Running, TaskRef
from nacre.tasks.store.log_reader import Output
from nacre.tasks.store.task import Task
from nacre.tasks.wait import Waited

_SIGN = "@"
_DIGITS = 8


def at(task: str, node: str) -> str:
    return f"{task}{_SIGN}{node[:_DIGITS]}"


def parted(name: str) -> tuple[str, str]:
    """A task's id, and the beginning of its node's; empty if nobody says so."""
    id, _, node = name.partition(_SIGN)
    return id, node


def final_at(final: Final, node: str) -> Final:
    """As its node has told it, so the others."""
    if final.task is None:
        return final
    task, remarks = _reference_at(final.task, node), _remarks_at(final.remarks, final.task, node)
    word = final.word._replace(task=task) if isinstance(final.word, Promoted) else final.word
    return replace(final, word=word, task=task, remarks=remarks)


def result_at(result: Result, node: str) -> Result:
    if result.task is None:
        return result
    task, remarks = _reference_at(result.task, node), _remarks_at(result.remarks, result.task, node)
    return replace(result, task=task, outcome=_outcome_at(result.outcome, node), remarks=remarks)


def task_at(task: Task, node: str) -> Task:
    outcome = None if task.outcome is None else _outcome_at(task.outcome, node)
    return replace(task, id=at(task.id, node), outcome=outcome)


def output_at(output: Output, node: str) -> Output:
    return replace(output, task=task_at(output.task, node))


def waited_at(waited: Waited, node: str) -> Waited:
    return Waited(
        tasks=tuple(task_at(task, node) for task in waited.tasks),
        met=tuple(at(id, node) for id in waited.met),
        ended=tuple(at(id, node) for id in waited.ended),
        timed_out=waited.timed_out,
        match={at(id, node): line for id, line in waited.match.items()},
    )


def _outcome_at(outcome: Outcome, node: str) -> Outcome:
    return replace(outcome, task=at(outcome.task, node)) if isinstance(outcome, Running) else outcome


def _reference_at(task: TaskRef, node: str) -> TaskRef:
    return replace(task, id=at(task.id, node))


def _remarks_at(remarks: tuple[str, ...], task: TaskRef, node: str) -> tuple[str, ...]:
    """Each names it by the id first: that it is in the name of a file, too, stays as it is."""
    return tuple(remark.replace(task.id, at(task.id, node), 1) for remark in remarks)
