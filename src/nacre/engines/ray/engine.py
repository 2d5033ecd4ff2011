"""RayEngine: runs each command on a node that Ray chooses."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from nacre.base.frozen import replace
from nacre.cancel import Cancel, run_unless_cancelled
from nacre.engines.engine import Engine, passed_variables
from nacre.engines.ray.cluster.connect import check_not_forked, connect, is_forked, load
from nacre.engines.ray.cluster.connection import ClusterConnection, NodeLost
from nacre.engines.ray.cluster.futures import ignore_result
from nacre.engines.ray.node.agent_pool import AgentPool
from nacre.engines.ray.node.payload import MARK, PlanContext, RunPayload, make_sendable, strip_local
from nacre.engines.ray.node.task_ids import qualify_result
from nacre.engines.ray.node.workspace import (
    ShippedWorkspace,
    check_workspace,
    digest_of,
    pack,
    real_context,
    real_directory,
)
from nacre.engines.ray.placement.leases import Leases
from nacre.engines.ray.placement.resources import AT, ResourceRequest
from nacre.engines.ray.placement.slots import Slots
from nacre.engines.ray.placement.throttle import Throttle
from nacre.engines.ray.run import RayRun
from nacre.engines.ray.tasks import RayTasks
from nacre.engines.ray.tasks_adapter import ClusterTasks
from nacre.errors import EngineUnavailable, InvalidRequest
from nacre.execution.finish import result_of_unstarted
from nacre.planning.access import plan_sandbox
from nacre.planning.paths import resolve_cwd
from nacre.result import Cancelled, Ended, Event, Lost, Started
from nacre.sandbox.resolve import SandboxPlan
from nacre.types import NO_PROTECTED_PATHS, Limits, Plan, Request, StrPath, ToolContext

if TYPE_CHECKING:
    from nacre.keeper.client.connection import TaskDirHandle
    from nacre.tasks import Tasks

_ID_DIGITS = 56
_MIN_RESOURCE = 0.0001
"""Smallest amount of a resource; Ray counts no finer."""


class RayEngine(Engine):
    """Engine that runs commands on the nodes of a Ray cluster."""

    name = "ray"
    is_local = False

    def __init__(
        self,
        address: str | None = None,
        *,
        num_cpus: float = 1,
        resources: Mapping[str, float] | None = None,
        label_selector: Mapping[str, str] | None = None,
        node: str | None = None,
        retries: int = 0,
        workspace: StrPath | None = None,
        patience: float = 60.0,
        runtime_env: Mapping[str, Any] | None = None,
    ) -> None:
        """Create an engine; the first run connects to the cluster at `address` (default: as Ray finds it).

        Each run reserves `num_cpus` and `resources` while it lasts, on a node with the labels of `label_selector`, or
        on `node` (an id or an address). A run whose node is lost is restarted from its beginning on another node, up to
        `retries` times; only the caller can know whether that is harmless. `workspace` is shipped to the nodes; by
        default, paths are the same on every node. `runtime_env` is Ray's runtime environment for nacre itself.

        When all resources are in use, runs wait. After `patience` seconds, in which a cluster may grow, a run that no
        node could ever hold raises EngineUnavailable, as does a cluster that has not answered.

        EngineUnavailable: Ray is not installed. InvalidRequest: `address` is one of Ray's client, or the run needs no
        resources.
        """
        if address is not None and address.startswith("ray://"):
            raise InvalidRequest(
                "bad_address",
                "Ray's client (ray://) cannot stream output.",
                field="address",
                hint="Run this program on a machine of the cluster, with address='auto'.",
            )
        load()
        bundle = {name: float(amount) for name, amount in {"CPU": num_cpus, **(resources or {})}.items() if amount}
        if not bundle or min(bundle.values()) < 0:
            raise InvalidRequest(
                "bad_resources",
                "Ray cannot place a run without any resources.",
                field="num_cpus",
                hint="For commands that mostly wait: num_cpus=0.01.",
            )
        is_id = node is not None and len(node) == _ID_DIGITS
        if node is not None and not is_id:
            bundle[f"{AT}{node}"] = _MIN_RESOURCE
        self._address = address
        self._resources = ResourceRequest(
            bundle=bundle, labels=dict(label_selector or {}), node=node if is_id else None
        )
        self._retries = retries
        self._patience = patience
        self._runtime_env = dict(runtime_env or {})
        self._workspace = None if workspace is None else check_workspace(workspace)
        self._copy = os.urandom(6).hex()
        self._throttle = Throttle()
        self._slots: Slots | None = None
        self._opening: Future[Slots] | None = None
        self._lock = threading.Lock()

    @property
    def confines(self) -> bool:
        """Whether this machine's kernel can enforce access modes. Each node checks its own, and refuses commands that
        it cannot sandbox."""
        from nacre.sandbox.probe import kernel

        return kernel().confines

    async def base_environment(self, ctx: ToolContext) -> Mapping[str, str]:
        """Return the variables to pass: each node has its own environment."""
        await self._throttle.wait_turn()  # called before planning
        return {**passed_variables(ctx), MARK: self.name}

    def directory(self, request: Request, ctx: ToolContext) -> str:
        """Return the working directory, by default in the shipped workspace. It need not exist here: the node reports
        if it is missing."""
        path = resolve_cwd(request, self._with_real_workspace(ctx), here=False)
        if self._workspace is not None:
            real_directory(path, self._workspace)
        return path

    def sandbox_plan(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> SandboxPlan:
        ctx = self._with_real_workspace(ctx)
        planned = plan_sandbox(ctx, limits, env) or SandboxPlan(enforced=())
        sent = make_sendable(ctx)
        if self._workspace is not None:
            sent = real_context(sent, self._workspace)
            # the node looks at those of its copy
            planned = replace(planned, protected=NO_PROTECTED_PATHS)
        return replace(planned, engine_data=PlanContext(ctx=sent, inherits=MARK in env))

    def _with_real_workspace(self, ctx: ToolContext) -> ToolContext:
        if self._workspace is None or ctx.working_dir is not None:
            return ctx
        return replace(ctx, working_dir=self._workspace)

    async def start(self, plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None) -> RayRun:
        assert folder is None, "a task must be started on its node"
        tells = state is not None
        return RayRun(self, lambda places: self._build_payload(places, plan, tells=tells), plan, state, self._retries)

    def start_task(self, request: Request, ctx: ToolContext, plan: Plan) -> AsyncGenerator[Event, None]:  # noqa: ARG002
        """Start a task on the node where it is placed, and yield its events; see `RayTasks`."""
        return self._start_task(plan, ctx)

    async def _start_task(self, plan: Plan, ctx: ToolContext) -> AsyncGenerator[Event, None]:
        cancel = ctx.cancel or Cancel()
        places = await run_unless_cancelled(cancel, self.slots())
        place = None if places is None else await places.find(cancel)
        if places is None or place is None:
            yield Ended(result_of_unstarted(plan, Cancelled()))
            return
        lease, agent = place
        answer = None
        try:
            answer = agent.call("start_task", self._build_payload(places, plan, tells=False))
            events = await places.agents.wait_reply(agent, ignore_result(asyncio.wrap_future(answer.future())))
        except NodeLost as lost:
            places.on_lost(lease, lost, agent)
            outcome = Lost("its engine was closed" if places.closed else lost.reason)
            yield Ended(result_of_unstarted(plan, outcome))
            return
        except BaseException:  # the caller will not learn of the task: cancel its start
            if answer is not None:
                places.connection.cancel(answer)
            places.release(lease)
            raise
        if isinstance(events, InvalidRequest):
            places.release(lease)
            raise events
        task = None
        for event in events:
            if isinstance(event, Started):
                event = replace(event, redactor=plan.redactor)  # not sent to nodes
            elif isinstance(event, Ended):
                task, result = event.result.task, qualify_result(event.result, lease.node)
                notes = (*plan.notes, *result.notes)
                event = Ended(replace(result, cwd=plan.cwd, redactor=plan.redactor, notes=notes))
            yield event
        if task is None:
            places.release(lease)
        else:
            places.release_after_task(lease, agent, plan.task.directory, task.id)

    def tasks(self, directory: StrPath | None = None) -> Tasks:
        """Return the tasks of all nodes with the interface of `Tasks`, which blocks in part. `RayTasks` is all
        async."""
        return ClusterTasks(RayTasks(self, directory))

    async def aclose(self) -> None:
        """Kill all runs except tasks, and release agents and leases."""
        if is_forked():
            return  # they belong to the parent process
        with self._lock:
            places, self._slots, self._opening = self._slots, None, None
        if places is not None:
            await asyncio.to_thread(places.close)

    def is_connected(self) -> Slots | None:
        """Return the slots if this engine is connected; None if it has to connect first."""
        places = self._slots
        return places if not is_forked() and places is not None and places.connection.alive else None

    async def slots(self) -> Slots:
        """Return the slots, connecting if needed: at the first call, or if the program has left the cluster, or joined
        another."""
        check_not_forked()
        places = self.is_connected()
        if places is not None:
            return places
        return await asyncio.shield(ignore_result(asyncio.wrap_future(self._open_in_thread())))

    def _open_in_thread(self) -> Future[Slots]:
        """Connect in a daemon thread: Ray may take long, and cannot be cancelled."""
        with self._lock:
            opening, places = self._opening, self._slots
            stale = places is None or not places.connection.alive
            if opening is None or (opening.done() and stale):
                opening = self._opening = Future()
                opening.set_running_or_notify_cancel()  # a cancelled caller does not affect the others
                threading.Thread(target=self._open, args=(opening,), name="nacre-connect", daemon=True).start()
            return opening

    def _open(self, opening: Future[Slots]) -> None:
        try:
            connection = connect(self._address, self._patience)
            workspace, archive = self._upload_workspace(connection)
            leases = Leases(self._resources, self._patience, connection)
            places = Slots(connection, leases, AgentPool(connection, self._runtime_env, workspace, archive))
        except BaseException as error:
            opening.set_exception(error)
            return
        with self._lock:
            wanted = self._opening is opening
            if wanted:
                self._slots = places
        if not wanted:  # closed meanwhile
            places.close()
        opening.set_result(places)

    def _upload_workspace(self, connection: ClusterConnection) -> tuple[ShippedWorkspace | None, Any]:
        if self._workspace is None:
            return None, None
        archive, ray = pack(self._workspace), connection.ray
        connection.check()
        try:
            return ShippedWorkspace(here=self._workspace, digest=digest_of(archive), copy=self._copy), ray.put(archive)
        except ray.exceptions.RayError as error:
            raise EngineUnavailable(
                f"Ray cannot hold the workspace {self._workspace} ({len(archive)} bytes): {error}",
                "Give Ray a larger object store, or put the workspace on storage that every node shares.",
            ) from error

    def _build_payload(self, places: Slots, plan: Plan, *, tells: bool) -> RunPayload:
        context, sent = plan.engine_data, strip_local(plan)
        assert isinstance(context, PlanContext)
        if self._workspace is not None:
            sent = replace(sent, cwd=real_directory(plan.cwd, self._workspace))
        return RunPayload(id="", plan=sent, context=context, reports_state=tells, workspace=places.agents.workspace)
