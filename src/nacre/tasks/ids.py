"""Task ids: resolve a full id, or a unique prefix of one."""

from __future__ import annotations

import os
import re

from nacre.base.suggest import find_similar
from nacre.errors import NoSuchTask
from nacre.tasks.store.directory import open_store
from nacre.tasks.store.status import is_id, names_in
from nacre.tasks.store.store import live_names

_PREFIX = "bash-"
_BEGINNING = re.compile(r"[0-9a-f]{4,8}")
_MAX_NAMED_TASKS = 5


def resolve(store: str, id: str) -> str:
    """Return the id of a task directory of this store, given an id or a unique prefix of 4 or more digits.

    The result always has the form of an id; for a full id, the directory need not exist. NoSuchTask: no id, or not
    exactly one task.
    """
    digits = id.removeprefix(_PREFIX) if isinstance(id, str) else ""
    if not _BEGINNING.fullmatch(digits):
        raise no_such_task(store, id)
    name = _PREFIX + digits
    if is_id(name):
        return name
    found = [each for each in _ids(store) if each.startswith(name)]
    if len(found) != 1:
        raise no_such_task(store, id)
    return found[0]


def no_such_task(store: str, id: object) -> NoSuchTask:
    """Return the error for an unknown or ambiguous id, with similar or running ids as a hint."""
    wanted = id if isinstance(id, str) else ""
    ids = _ids(store)
    digits = wanted.removeprefix(_PREFIX)
    several = sorted(each for each in ids if digits and each.startswith(_PREFIX + digits))
    shown = repr(wanted if len(wanted) <= 40 else wanted[:39] + "…") if wanted else repr(id)[:40]
    if len(several) > 1 and _BEGINNING.fullmatch(digits):
        return NoSuchTask(
            "no_such_task",
            f"{len(several)} tasks begin with {shown}.",
            field="task",
            hint=f"Use one of: {_format_ids(several)}.",
        )
    return NoSuchTask("no_such_task", f"No such task: {shown}.", field="task", hint=_hint(store, wanted, ids))


def _hint(store: str, wanted: str, ids: list[str]) -> str:
    if not ids:
        return f"There are no tasks in {store}."
    near = find_similar(_PREFIX + wanted.removeprefix(_PREFIX)[:40], ids, max_names=_MAX_NAMED_TASKS, cutoff=0.7)
    live = sorted(set(live_names(store)) & set(ids))
    if near:
        return f"Did you mean {_format_ids(near)}?"
    return f"Running: {_format_ids(live)}." if live else "No task is running; list them all to see the others."


def _format_ids(names: list[str]) -> str:
    rest = len(names) - _MAX_NAMED_TASKS
    return ", ".join(names[:_MAX_NAMED_TASKS]) + (f" and {rest} more" if rest > 0 else "")


def _ids(store: str) -> list[str]:
    fd = open_store(store)
    if fd is None:
        return []
    try:
        return [name for name in names_in(fd) if is_id(name)]
    finally:
        os.close(fd)
