"""Masks secrets in every field of a result except its output, which `viewport` masks when it decodes it. Pure."""

from __future__ import annotations

from nacre.base.frozen import replace
from nacre.result import Outcome, Process, Redacts, Result, Spill, TaskRef


def masked_description(result: Result, description: str) -> str:
    """Return the caller's description of the command, with secrets masked."""
    return description if result.redactor is None else result.redactor.mask(description)


def mask_result(result: Result) -> Result:
    """Return the result with secrets masked in everything except its output."""
    redactor = result.redactor
    if redactor is None or not redactor.values():
        return result
    mask = redactor.mask

    def processes(each: tuple[Process, ...]) -> tuple[Process, ...]:
        return tuple(replace(process, command=mask(process.command)) for process in each)

    task, spill = result.task, result.spill
    return replace(
        result,
        command=mask(result.command),
        cwd=mask(result.cwd),
        outcome=_outcome(result.outcome, redactor),
        running=processes(result.running),
        killed_leftovers=processes(result.killed_leftovers),
        task=None if task is None else TaskRef(task.id, task.pid, task.pgid, mask(task.output_file)),
        spill=None if spill is None else Spill(mask(spill.path), spill.bytes, spill.complete),
        notes=tuple(mask(note) for note in result.notes),
    )


def _outcome(outcome: Outcome, redactor: Redacts) -> Outcome:
    fields = {name: redactor.mask_all(getattr(outcome, name)) for name in outcome.__match_args__}
    return type(outcome)(**fields)
