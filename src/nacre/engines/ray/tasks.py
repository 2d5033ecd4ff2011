"""RayTasks: the background commands of a cluster, for whoever did or did not start them, on whichever host.

A task lives on its node and is kept there. Its id, `bash-3f9c2a17@4f2a91c3`, says which one, by the beginning of the
node's id; without that every node is asked. As `nacre.Tasks`, but all of it is awaited.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nacre.base.frozen import frozen
from nacre.engines.ray.cluster.connect import nodes
from nacre.engines.ray.cluster.connection import NodeLost
from nacre.engines.ray.cluster.futures import call_in_thread, ignore_result, wait_while_connected
from nacre.engines.ray.node.task_ids import (
    qualify_output,
    qualify_task,
    qualify_task_id,
    qualify_wait_result,
    split_task_id,
)
from nacre.errors import EngineUnavailable, InvalidRequest, NoSuchTask
from nacre.planning.validate import absolute
from nacre.tasks.store.log_reader import MAX_READ_BYTES, Output
from nacre.tasks.store.task import Task, TaskState
from nacre.types import StrPath

if TYPE_CHECKING:
    from nacre.engines.ray.engine import RayEngine
    from nacre.tasks.wait import WaitCondition, WaitResult

_PREFIX = "bash-"
_MIN_ID_CHARS = len("bash-0000")
_KNOWN: tuple[TaskState, ...] = ("running", "ended", "lost", "broken")
"""From who knows most about a task to who knows least."""


@frozen(kw_only=True)
class PlacedTask:
    """A task and the node that it is on."""

    node: str
    task: Task


class RayTasks:
    def __init__(self, engine: RayEngine, directory: StrPath | None = None) -> None:
        """`directory`: where the nodes keep them, if not in the state directory of their user."""
        self._engine = engine
        self.directory = None if directory is None else absolute(directory, "directory")
        self._known: dict[str, tuple[str, str]] = {}
        """Where a task is, by its whole id: what begins like it today may be another's tomorrow."""

    async def list(self, *, all: bool = True, node: str | None = None) -> builtins.list[PlacedTask]:
        """Of every node that can be asked, or of one, by its address or the beginning of its id: the oldest first; only
        those that run, unless `all`."""
        alive = await self._alive()
        asked = builtins.list(alive) if node is None else [_node(node, alive)]
        found = sorted(await self._tasks_of_nodes(asked, all), key=lambda placed: placed.task.created)
        return [PlacedTask(node=placed.node, task=qualify_task(placed.task, placed.node)) for placed in found]

    async def _tasks_of_nodes(self, nodes: builtins.list[str], all: bool) -> builtins.list[PlacedTask]:
        """As their nodes know them. EngineUnavailable: none of them can be asked, and why not the first."""
        told = await asyncio.gather(*(self._ask(node, "list", all=all) for node in nodes), return_exceptions=True)
        failed = [each for each in told if isinstance(each, BaseException)]
        other = [each for each in failed if not isinstance(each, EngineUnavailable)]
        if other or (failed and len(failed) == len(told)):
            raise [*other, *failed][0]
        rows = zip(nodes, told, strict=True)
        return _unique(
            PlacedTask(node=node, task=task) for node, row in rows if isinstance(row, builtins.list) for task in row
        )

    async def get(self, id: str) -> PlacedTask:
        """By its id, as every other method takes it, too; NoSuchTask."""
        node, name = await self._locate(id)
        return PlacedTask(node=node, task=qualify_task(await self._ask(node, "get", name), node))

    async def output(self, id: str, *, since: int = 0, lines: int | None = None, limit: int = MAX_READ_BYTES) -> Output:
        """As `Tasks.output`."""
        node, name = await self._locate(id)
        output: Output = await self._ask(node, "output", name, since=since, lines=lines, limit=limit)
        return qualify_output(output, node)

    async def wait(self, id: str, *, timeout: float | None = None, until: WaitCondition | None = None) -> WaitResult:
        """As `Tasks.wait`; a port is looked for on the task's node."""
        node, name = await self._locate(id)
        waited: WaitResult = await self._ask(node, "wait", name, timeout=timeout, until=until)
        return qualify_wait_result(waited, node)

    async def kill(self, id: str, *, signal: int | str = "TERM", grace: float = 5.0) -> Task:
        """As `Tasks.kill`."""
        node, name = await self._locate(id)
        task: Task = await self._ask(node, "kill", name, signal=signal, grace=grace)
        return qualify_task(task, node)

    async def write(self, id: str, data: bytes | str, *, close: bool = False) -> None:
        """As `Tasks.write`."""
        node, name = await self._locate(id)
        await self._ask(node, "write", name, data, close=close)

    async def close_stdin(self, id: str) -> None:
        """As `Tasks.close_stdin`."""
        node, name = await self._locate(id)
        await self._ask(node, "close_stdin", name)

    async def _locate(self, id: str) -> tuple[str, str]:
        """Its node, and its id there."""
        if id in self._known:
            return self._known[id]
        name, where = split_task_id(id if id.startswith(_PREFIX) else _PREFIX + id)
        asked = [node for node in await self._alive() if node.startswith(where)]
        found = {
            (placed.node, placed.task.id)
            for placed in await self._tasks_of_nodes(asked, all=True)
            if placed.task.id == name or (placed.task.id.startswith(name) and len(name) >= _MIN_ID_CHARS)
        }
        if len(found) != 1:
            raise _no_such_task(id, found)
        node, whole = found.pop()
        if name == whole:
            self._known[id] = node, whole
        return node, whole

    async def _alive(self) -> dict[str, str]:
        """Each node, and where it is."""
        connection = (await self._engine.slots()).connection
        connection.check()
        return await wait_while_connected(connection, call_in_thread(lambda: nodes(connection.ray)))

    async def _ask(self, node: str, method: str, *args: Any, **options: Any) -> Any:
        try:
            return await self._call_node(node, method, *args, **options)
        except NodeLost:  # who is asked for it next looks for it anew: its directory may be another node's, too
            self._known = {id: where for id, where in self._known.items() if where[0] != node}
            raise

    async def _call_node(self, node: str, method: str, *args: Any, **options: Any) -> Any:
        places = await self._engine.slots()
        agent = await places.agents.agent_on(node)
        call = agent.call("tasks", self.directory, method, *args, **options)
        try:
            answer = await places.agents.wait_reply(agent, ignore_result(asyncio.wrap_future(call.future())))
        except NodeLost:
            places.agents.drop(agent)
            raise
        except asyncio.CancelledError:
            places.connection.cancel(call)  # nobody waits there, either
            raise
        if isinstance(answer, InvalidRequest):
            raise answer
        return answer


def _node(name: str, alive: Mapping[str, str]) -> str:
    """InvalidRequest: there is none of that name, or there are several."""
    found = [id for id, address in alive.items() if name and (id.startswith(name) or address == name)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"{id[:8]} ({address})" for id, address in alive.items())
    raise InvalidRequest(
        "bad_node",
        f"{'Several nodes are' if found else 'No node of the Ray cluster is'} called {name!r}.",
        field="node",
        hint=f"There are: {there}.",
    )


def _unique(found: Iterable[PlacedTask]) -> builtins.list[PlacedTask]:
    """Nodes with one state directory for all of them see each other's tasks; where one runs, it is known best."""
    best: dict[str, PlacedTask] = {}
    for placed in found:
        other = best.setdefault(placed.task.id, placed)
        if _KNOWN.index(placed.task.state) < _KNOWN.index(other.task.state):
            best[placed.task.id] = placed
    return builtins.list(best.values())


def _no_such_task(id: str, found: set[tuple[str, str]]) -> NoSuchTask:
    if not found:
        return NoSuchTask(
            "no_such_task",
            f"No node has a task {id!r}.",
            field="task",
            hint="`nacre tasks --engine ray --all`, or `RayTasks.list`, gives all of them.",
        )
    names = ", ".join(sorted(qualify_task_id(task, node) for node, task in found))
    return NoSuchTask("no_such_task", f"Several tasks begin with {id!r}.", field="task", hint=f"There are: {names}.")
