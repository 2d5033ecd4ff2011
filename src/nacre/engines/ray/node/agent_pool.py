"""The agents of one driver: one on each node in use, started on demand and pinged after some silence.

If an agent has exited, its node need not be lost: the next run that is placed there gets a new agent.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from nacre import __version__
from nacre.engines.containers.pool import OpenOnce
from nacre.engines.ray.cluster.connection import AgentEnded, ClusterConnection, LeftCluster, NodeLost
from nacre.engines.ray.cluster.futures import ignore_result, wait_while_connected
from nacre.engines.ray.node.agent import Agent
from nacre.engines.ray.node.workspace import ShippedWorkspace
from nacre.errors import EngineUnavailable

T = TypeVar("T")

_START_TIMEOUT_S = 60.0
"""Seconds for an agent to start: Ray starts a process, and may prepare its environment."""
_UPLOAD_TIMEOUT_S = 600.0
"""Seconds for a workspace to be uploaded."""
_RECENT_REPLY_S = 0.25
"""An agent that replied within this time, in seconds, is not pinged before it is given a run."""
_PING_AFTER_S = 15.0
"""Seconds of silence after which an agent is pinged."""
_CONNECTION_POLL_S = 3.0
"""Seconds between checks of the connection: without one, neither an answer nor an error arrives."""
_PING_TIMEOUT_S = 30.0
"""Seconds for the answer to a ping: the agent may be starting a thousand commands."""
_MAX_CONCURRENT_CALLS = 100_000
"""Concurrent calls to an agent; a run is one, and its cancellation another."""
_OURS = {"RAY_kill_child_processes_on_worker_exit": "0"}
"""Otherwise Ray would kill the keeper together with the agent, and nothing would kill the keeper's runs."""


class AgentConnection:
    """An agent, with the time of its last reply."""

    def __init__(self, node: str, actor: Any, connection: ClusterConnection) -> None:
        self.node = node
        self.actor = actor
        """Ray's handle of the actor."""
        self._connection = connection
        self.last_reply_at = time.monotonic()
        self.pinged_at: Future[Any] | None = None
        """The current ping, which concurrent callers share."""
        self._given_up = itertools.count()

    def give_up(self) -> bool:
        """Return whether this is the first call."""
        return next(self._given_up) == 0

    @property
    def silence(self) -> float:
        return time.monotonic() - self.last_reply_at

    def call(self, name: str, *args: Any, ahead: int | None = None, **options: Any) -> Any:
        """Call a method of the agent. Return Ray's reference to the answer; with `ahead`, to a stream of answers, of
        which at most `ahead` are unread. LeftCluster: the connection is lost."""
        self._connection.check()
        method = getattr(self.actor, name)
        if ahead is not None:
            method = method.options(num_returns="streaming", _generator_backpressure_num_objects=ahead)
        try:
            return method.remote(*args, **options)
        except Exception:
            self._connection.check()  # if the connection was lost just now, that is the reason
            raise


class AgentPool:
    """Agents by node id."""

    def __init__(
        self,
        connection: ClusterConnection,
        runtime_env: Mapping[str, Any],
        workspace: ShippedWorkspace | None,
        archive: Any,
    ) -> None:
        """`archive` is Ray's reference to the workspace's archive in its object store."""
        self.workspace = workspace
        self._connection = connection
        self._ray = connection.ray
        self._archive = archive
        variables = {**runtime_env.get("env_vars", {}), **_OURS}
        self._runtime_env = {**runtime_env, "env_vars": variables}
        self._agents = OpenOnce[str, AgentConnection](self._end)

    def recent_agent(self, node: str) -> AgentConnection | None:
        """Return the agent of a node if it has replied just now; otherwise None."""
        agent = self._agents.peek(node)
        return agent if agent is not None and agent.silence < _RECENT_REPLY_S else None

    async def agent_on(self, node: str) -> AgentConnection:
        """Return the agent of a node, with the workspace unpacked.

        NodeLost: the node does not answer. EngineUnavailable: nacre is not installed there, or is another version.
        """
        while True:
            agent = await self._agents.get(node, lambda: self._open(node))
            if agent.silence < _RECENT_REPLY_S:
                return agent
            try:
                await self._ping(agent)
                return agent
            except AgentEnded:
                self.drop(agent)
            except NodeLost:
                self.drop(agent)
                raise

    async def wait_reply(
        self, agent: AgentConnection, call: asyncio.Future[T], overdue: Callable[[], bool] = lambda: False
    ) -> T:
        """Await an agent's answer. NodeLost: the agent is lost, or the answer is `overdue`."""
        while not (await asyncio.wait([call], timeout=min(_CONNECTION_POLL_S, _PING_AFTER_S)))[0]:
            self._connection.check()
            if overdue():
                raise AgentEnded(agent.node)
            if agent.silence >= _PING_AFTER_S:
                reply_task = ignore_result(asyncio.ensure_future(self._ping(agent)))
                try:
                    either: list[asyncio.Future[Any]] = [call, reply_task]
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                    if not call.done():
                        await reply_task
                finally:
                    reply_task.cancel()
        return await self._await_reply(agent, call)

    def drop(self, agent: AgentConnection) -> None:
        """Forget a lost agent and kill it, with anything that it still runs."""
        self._agents.drop(agent.node, agent)

    def close(self) -> None:
        """Kill all agents and their runs, but not their tasks."""
        self._agents.clear()

    async def _await_reply(self, agent: AgentConnection, call: Awaitable[T]) -> T:
        errors = self._ray.exceptions
        try:
            told = await call
        except Exception as error:
            if not self._connection.alive:
                raise LeftCluster from error  # whichever exception Ray has raised
            if isinstance(error, errors.ActorDiedError):
                raise AgentEnded(agent.node) from error
            if isinstance(error, errors.RayError | StopAsyncIteration) and not isinstance(error, errors.RayTaskError):
                raise NodeLost(agent.node) from error
            raise  # the agent has a bug
        agent.last_reply_at = time.monotonic()
        return told

    async def _ping(self, agent: AgentConnection) -> None:
        """Wait until the agent answers. NodeLost: it does not."""
        asked = agent.pinged_at
        if asked is None or asked.done():
            asked = agent.pinged_at = agent.call("hello").future()
        try:
            async with asyncio.timeout(_PING_TIMEOUT_S):
                await self._await_reply(agent, asyncio.shield(ignore_result(asyncio.wrap_future(asked))))
        except TimeoutError:
            raise NodeLost(agent.node) from None

    async def _open(self, node: str) -> AgentConnection:
        try:
            agent = self._start(node)
            async with asyncio.timeout(_START_TIMEOUT_S):
                await self._check_hello(agent)
            if self.workspace is not None:
                async with asyncio.timeout(_UPLOAD_TIMEOUT_S):
                    is_missing = await self._call_and_wait(agent, "needs_workspace", self.workspace)
                    archive = self._archive if is_missing else None
                    await self._call_and_wait(agent, "unpack", self.workspace, archive)
        except Exception as error:
            raise self._translate_error(node, error) from error
        agent.last_reply_at = time.monotonic()
        return agent

    async def _call_and_wait(self, agent: AgentConnection, name: str, *args: Any) -> Any:
        """Return the answer of an agent that is not known to be alive yet."""
        call = ignore_result(asyncio.wrap_future(agent.call(name, *args).future()))
        return await wait_while_connected(self._connection, call)

    def _end(self, agent: AgentConnection) -> None:
        """Kill an agent once, although every run that was lost with it reports the loss."""
        if agent.give_up():
            self._connection.kill(agent.actor)

    def _start(self, node: str) -> AgentConnection:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._connection.check()
        actor = (
            self._ray.remote(Agent)
            .options(
                num_cpus=0,
                max_concurrency=_MAX_CONCURRENT_CALLS,
                runtime_env=self._runtime_env,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
            )
            .remote()
        )
        return AgentConnection(node, actor, self._connection)

    async def _check_hello(self, agent: AgentConnection) -> None:
        version = await self._call_and_wait(agent, "hello")
        if version != __version__:
            raise EngineUnavailable(
                f"The nodes have nacre {version}, and this is {__version__}.",
                "Install the same version on all of them.",
            )

    def _translate_error(self, node: str, error: Exception) -> Exception:
        if not self._connection.alive:
            return LeftCluster()
        exceptions = self._ray.exceptions
        if isinstance(error, exceptions.RuntimeEnvSetupError):
            return EngineUnavailable(f"Ray cannot start an agent on node {node}: {error}", "See `runtime_env`.")
        if isinstance(error, exceptions.ActorDiedError) and "nacre" in str(error) and "ModuleNotFound" in str(error):
            return EngineUnavailable(
                f"nacre is not installed on node {node}.",
                "Install it there, or RayEngine(runtime_env={'pip': ['nacre']}).",
            )
        if isinstance(error, TimeoutError | exceptions.RayError) and not isinstance(error, exceptions.RayTaskError):
            return NodeLost(node)
        return error
