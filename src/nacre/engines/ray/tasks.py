"""RayTasks: the background commands of a cluster, whichever program on whichever host started them.

A task lives on its node, and its files are there. Its id, `bash-3f9c2a17@4f2a91c3`, contains the beginning of the
node's id; without that, every node is queried. Like `nacre.Tasks`, but all methods are async.
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
"""States, the most complete first: the entry of a node that knows less about a task comes later."""


@frozen(kw_only=True)
class PlacedTask:
    """A task, and the id of the node that it is on."""

    node: str
    task: Task


class RayTasks:
    """Access to the background tasks of a cluster.

    Ids may be given without the node's part, and as a unique prefix. Every method that takes an id raises NoSuchTask if
    there is no such task, or several; and EngineUnavailable if the cluster or the node cannot be reached.
    """

    def __init__(self, engine: RayEngine, directory: StrPath | None = None) -> None:
        """`directory` is the store on the nodes; by default, the one in the state directory of their user."""
        self._engine = engine
        self.directory = None if directory is None else absolute(directory, "directory")
        self._known: dict[str, tuple[str, str]] = {}
        """Node and id of a task, by its full id only: a prefix may become ambiguous."""

    async def list(self, *, all: bool = True, node: str | None = None) -> builtins.list[PlacedTask]:
        """Return the tasks of every reachable node, or of one `node`, given by its address or a prefix of its id;
        oldest first.

        With `all=False`, only those that run. Raises InvalidRequest if there is no such node, or several;
        EngineUnavailable if no node can be queried.
        """
        alive = await self._alive()
        asked = builtins.list(alive) if node is None else [_node(node, alive)]
        found = sorted(await self._tasks_of_nodes(asked, all), key=lambda placed: placed.task.created)
        return [PlacedTask(node=placed.node, task=qualify_task(placed.task, placed.node)) for placed in found]

    async def _tasks_of_nodes(self, nodes: builtins.list[str], all: bool) -> builtins.list[PlacedTask]:
        """Return the tasks with their ids on the nodes. If no node can be queried, raise the first error."""
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
        """Return a task. Raises NoSuchTask if there is none, or several."""
        node, name = await self._locate(id)
        return PlacedTask(node=node, task=qualify_task(await self._ask(node, "get", name), node))

    async def output(self, id: str, *, since: int = 0, lines: int | None = None, limit: int = MAX_READ_BYTES) -> Output:
        """Return output of a task, as `Tasks.output`."""
        node, name = await self._locate(id)
        output: Output = await self._ask(node, "output", name, since=since, lines=lines, limit=limit)
        return qualify_output(output, node)

    async def wait(self, id: str, *, timeout: float | None = None, until: WaitCondition | None = None) -> WaitResult:
        """Wait for a task, as `Tasks.wait`; a port is probed on the task's node."""
        node, name = await self._locate(id)
        waited: WaitResult = await self._ask(node, "wait", name, timeout=timeout, until=until)
        return qualify_wait_result(waited, node)

    async def kill(self, id: str, *, signal: int | str = "TERM", grace: float = 5.0) -> Task:
        """Kill a task, as `Tasks.kill`."""
        node, name = await self._locate(id)
        task: Task = await self._ask(node, "kill", name, signal=signal, grace=grace)
        return qualify_task(task, node)

    async def write(self, id: str, data: bytes | str, *, close: bool = False) -> None:
        """Write to a task's standard input, as `Tasks.write`."""
        node, name = await self._locate(id)
        await self._ask(node, "write", name, data, close=close)

    async def close_stdin(self, id: str) -> None:
        """Close a task's standard input, as `Tasks.close_stdin`."""
        node, name = await self._locate(id)
        await self._ask(node, "close_stdin", name)

    async def _locate(self, id: str) -> tuple[str, str]:
        """Return a task's node, and its id there."""
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
        """Return the addresses of the live nodes, by id."""
        connection = (await self._engine.slots()).connection
        connection.check()
        return await wait_while_connected(connection, call_in_thread(lambda: nodes(connection.ray)))

    async def _ask(self, node: str, method: str, *args: Any, **options: Any) -> Any:
        try:
            return await self._call_node(node, method, *args, **options)
        except NodeLost:  # locate its tasks anew: another node may share their directory
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
            places.connection.cancel(call)  # cancel it on the node, too
            raise
        if isinstance(answer, InvalidRequest):
            raise answer
        return answer


def _node(name: str, alive: Mapping[str, str]) -> str:
    """Return the node with this address, or prefix of its id. Raises InvalidRequest if there is none, or several."""
    found = [id for id, address in alive.items() if name and (id.startswith(name) or address == name)]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"{id[:8]} ({address})" for id, address in alive.items())
    raise InvalidRequest(
        "bad_node",
        f"{'Several nodes are' if found else 'No node of the Ray cluster is'} called {name!r}.",
        field="node",
        hint=f"Nodes: {there}.",
    )


def _unique(found: Iterable[PlacedTask]) -> builtins.list[PlacedTask]:
    """Keep one entry per task: nodes with a common state directory see each other's tasks. The entry of the node
    where it runs has the most facts."""
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
            f"No node has task {id!r}.",
            field="task",
            hint="`nacre tasks --engine ray --all`, or `RayTasks.list`, lists all tasks.",
        )
    names = ", ".join(sorted(qualify_task_id(task, node) for node, task in found))
    return NoSuchTask("no_such_task", f"Several tasks begin with {id!r}.", field="task", hint=f"Use one of: {names}.")
