"""Containers: docker or podman by their command lines, one container kept warm for each conversation.

A command is an `exec` in its conversation's container. Killing the `exec` process does not kill the command, so all
processes with the run's tag are killed inside the container. The context's workspace is mounted at the same path, and
no other directory of this machine. A model may choose where a command starts, never what is mounted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Mapping

from nacre.base.frozen import replace
from nacre.base.temp_dir import temporary_directory
from nacre.engines.containers.container import Container
from nacre.engines.containers.options import (
    GUEST_DIR,
    TAG_BITS,
    ContainerSpec,
    describe_container,
    enforced_parts,
    find_mount_state,
    guest_path,
    is_visible,
)
from nacre.engines.containers.pool import OpenOnce
from nacre.engines.engine import Engine, passed_variables
from nacre.engines.guest.probe import run_detached
from nacre.engines.guest.run_dir import GuestRun, GuestStatus, RunDir, failed_start
from nacre.engines.guest.scripts import host_script, kill_script, start_script
from nacre.environment import host_environment
from nacre.errors import AccessUnavailable, InvalidRequest
from nacre.keeper.client.connection import TaskDirHandle
from nacre.keeper.client.events import FinalEvent, KeeperLost, RunStopped, StartFailed
from nacre.keeper.client.handle import UnstartedRun
from nacre.keeper.client.run import LocalRun
from nacre.keeper.protocol.ending import EndKind
from nacre.planning.access import sandbox_request
from nacre.planning.paths import resolve_cwd, resolve_workspace
from nacre.planning.validate import absolute
from nacre.sandbox.resolve import SandboxPlan
from nacre.sandbox.workspace import Workspace
from nacre.types import Limits, Plan, ProtectedPaths, Request, StrPath, ToolContext

_IDLE_MARGIN_S = 0.1
_NOTHING = Workspace(roots=())


class Containers(Engine):
    """Engine that runs commands in containers, as in `Bash(engine=Containers("debian"))`.

    Close it by `aclose` when it is no longer needed, or leave that to the end of the process.
    """

    is_local = False

    def __init__(
        self,
        image: str,
        *,
        program: str = "podman",
        workspace: StrPath | None = None,
        network: bool = False,
        memory: int | None = None,
        cpus: float | None = None,
        processes: int | None = None,
        user: str | None = None,
        options: tuple[str, ...] = (),
        most: int = 16,
        idle: float = 1800.0,
    ) -> None:
        """Create an engine; the first command starts a container.

        `image` must contain bash. `program` is `podman`, `docker`, or a path. `workspace` is mounted; by default, the
        context's. `network` and the limits (`memory` in bytes, `cpus`, `processes`) apply where the context does not
        set them. `user` and `options` are passed to the engine's `run`. At most `most` idle containers are kept, each
        for at most `idle` seconds. InvalidRequest: invalid `image`.
        """
        if not image or image.startswith("-"):
            raise InvalidRequest("bad_image", f"`image` is {image!r}.", field="image", hint="Name one.")
        self.name = os.path.basename(program)
        self._program = program
        self._base = ContainerSpec(
            conversation="",
            image=image,
            workspace="" if workspace is None else os.path.realpath(absolute(workspace, "workspace")),
            access="unrestricted",
            network=network,
            memory=memory,
            cpus=cpus,
            processes=processes,
            user=user,
            options=tuple(options),
            mount_state=find_mount_state("", _NOTHING, ()),
        )
        self._max_containers = most
        self._idle = idle
        self._containers = OpenOnce[ContainerSpec, Container](Container.close)
        self._process = os.getpid()
        self._cleanup_timer: asyncio.AbstractEventLoop | None = None
        """Event loop on which the next check for idle containers is scheduled."""

    def directory(self, request: Request, ctx: ToolContext) -> str:
        """Return the working directory. It need not exist here; the container reports if it is missing there."""
        return resolve_cwd(request, ctx, here=False)

    async def base_environment(self, ctx: ToolContext) -> Mapping[str, str]:
        """Return only the variables to pass: the image has its own environment."""
        return passed_variables(ctx)

    def sandbox_plan(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> SandboxPlan:
        _check_countable(ctx.limits, self.name)
        own = self._base.workspace or os.path.realpath(resolve_workspace(ctx))
        wanted = sandbox_request(replace(ctx, workspace=own), env)
        made = replace(
            self._base,
            conversation=ctx.conversation_id,
            workspace=own,
            access=ctx.access,
            memory=limits.memory or self._base.memory,
            processes=limits.processes or self._base.processes,
            mount_state=find_mount_state(own, _NOTHING, ()),
        )
        if wanted is not None:
            _check_supported_access(ctx, self.name)
            made = replace(
                made,
                network=wanted.network is True,
                hidden=wanted.hidden,
                explicit_paths=tuple(map(os.fspath, (*ctx.writable, *ctx.protected))),
                mount_state=find_mount_state(
                    own, wanted.workspace or _NOTHING, wanted.hidden, reads=ctx.access == "restricted"
                ),
            )
        _check_can_be_named((*made.roots, *made.mount_state.mounted), self.name)
        workspace = made.mount_state.workspace
        exposed = {"hidden"} if wanted is not None and wanted.exposed else set()
        return SandboxPlan(
            enforced=tuple(name for name in enforced_parts(made) if name not in exposed),
            protected=ProtectedPaths(
                compared=workspace.missing,
                writable_roots=workspace.roots,
                repositories=workspace.repositories,
                mounted=workspace.protected if made.access == "workspace" else (),
                covered=made.hidden,
                own_code=() if wanted is None else wanted.own,
            ),
            engine_data=made,
            description=describe_container(made),
        )

    async def start(
        self, plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None
    ) -> LocalRun | UnstartedRun:
        container = await self._container(_spec_of(plan))
        tag = int.from_bytes(os.urandom(TAG_BITS // 8), "big")
        path, inside = os.path.join(container.run_dirs, str(tag)), f"{GUEST_DIR}/{tag}"
        ward = ["bash", f"{GUEST_DIR}/ward", inside, str(tag), "merge" if plan.merge else ""]
        execute = [self._program, "exec", "-i", container.name, *ward]
        made = container.spec
        confined = made.access != "unrestricted"
        end = kill_script(
            self._program, container.name, reap=f"{GUEST_DIR}/reap", tag=tag, letter=path, confined=confined
        )
        outer = replace(
            plan,
            text=host_script(
                execute,
                letter=path,
                hold=container.keepalive,
                end=end,
                apart=plan.dedicated_keeper,
                memory=made.memory,
                processes=made.processes,
            ),
            cwd="/",
            env=host_environment(),
            deferred=(),
            kill_script=end,
            private_tmpdir=False,
            reports_state=False,
            pipeline_commands=(),
            leftovers="keep" if plan.leftovers == "wait" else plan.leftovers,  # the shell inside waits
            standby_ok=False,
        )
        cwd = guest_path(made, plan.cwd)
        try:
            letter = RunDir(path, plan.text, start_script(plan, tag=tag, letter=inside, cwd=cwd, export=plan.env))
            reply = GuestStatus(
                letter,
                state,
                cwd=plan.cwd,
                unstarted=f"{self.name} could not start the command in its container; see the output",
                lost=f"its container exited, or {self.name} lost the connection to it",
            )
        except OSError as error:
            container.release()
            return failed_start(error)
        return await _ContainerRun(self._schedule_cleanup, container, letter, reply, plan, end).start(outer, folder)

    def can_read(self, plan: Plan, path: StrPath | None) -> bool:
        return is_visible(_spec_of(plan), temporary_directory() if path is None else path)

    async def aclose(self) -> None:
        """Close all containers. Each exits when nothing runs in it any more, and none is kept warm from now on."""
        self._idle = 0.0
        self._containers.clear()

    async def _container(self, made: ContainerSpec) -> Container:
        self._reset_after_fork()
        self._close_idle()
        self._drop_outdated(made)

        async def open_container() -> Container:
            container = Container(self._program, made)
            await container.open()
            return container

        while True:
            container = await self._containers.get(made, open_container)
            if await container.is_running() and container.acquire():
                return container
            self._containers.drop(made, container)

    def _drop_outdated(self, made: ContainerSpec) -> None:
        """Drop containers with the same spec but for the mount state, which has changed since."""
        for other, container in self._containers.items():
            if other != made and replace(other, mount_state=made.mount_state) == made:
                self._containers.drop(other, container)

    def _reset_after_fork(self) -> None:
        """Forget the containers of the parent process, which may close them."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._containers = OpenOnce(Container.close)
            self._cleanup_timer = None

    def _schedule_cleanup(self) -> None:
        """Close idle containers now, and once more later, since no further command may come to do it."""
        self._close_idle()
        unused = [container.used for _, container in self._containers.items() if not container.running]
        if unused and (self._cleanup_timer is None or self._cleanup_timer.is_closed()):
            with contextlib.suppress(RuntimeError):  # no event loop: the process is about to exit
                self._cleanup_timer = asyncio.get_running_loop()
                self._cleanup_timer.call_later(
                    min(unused) + self._idle - time.monotonic() + _IDLE_MARGIN_S, self._on_cleanup_timer
                )

    def _on_cleanup_timer(self) -> None:
        self._cleanup_timer = None
        self._schedule_cleanup()

    def _close_idle(self) -> None:
        """Close containers that were unused for `idle` seconds, and the least recently used ones beyond the limit."""
        kept = self._containers.items()
        unused = sorted(((made, each) for made, each in kept if not each.running), key=lambda row: row[1].used)
        late = time.monotonic() - self._idle
        for number, (made, container) in enumerate(unused):
            if container.used <= late or number < len(kept) - self._max_containers:
                self._containers.drop(made, container)


def _spec_of(plan: Plan) -> ContainerSpec:
    assert isinstance(plan.engine_data, ContainerSpec), "the plan was made for another engine"
    return plan.engine_data


def _check_countable(limits: Limits, name: str) -> None:
    """Refuse a limit on CPU time: that of an exited process without a parent in the container is not known. A profile's
    own, very high bound applies to each process."""
    if limits.cpu is not None:
        raise AccessUnavailable(
            "access_unavailable",
            f"{name} does not measure a command's CPU time.",
            field="cpu",
            hint="Leave it out: a timeout limits the run as well, and Containers(cpus=…) the CPUs it uses. Or use "
            "another engine.",
        )


def _check_can_be_named(paths: tuple[str, ...], name: str) -> None:
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise InvalidRequest(
                "bad_workspace",
                f"{path!r} is not UTF-8, and {name} can mount only UTF-8 paths.",
                field="working_dir",
                hint="Rename it, or use another engine.",
            ) from None


def _check_supported_access(ctx: ToolContext, name: str) -> None:
    if ctx.strict:
        raise AccessUnavailable(
            "access_unavailable",
            "A container has writable memory: /tmp, /dev/shm and the like.",
            field="strict",
            hint="Leave it out: all of that is removed with the container. Or use another engine.",
        )
    if not isinstance(ctx.network, bool | str):
        raise AccessUnavailable(
            "access_unavailable",
            f"{name} can allow the whole network or none, not single ports.",
            field="network",
            hint="Use network=True or False, or the local engine.",
        )


class _ContainerRun(GuestRun):
    def __init__(
        self,
        rest: Callable[[], None],
        container: Container,
        letter: RunDir,
        reply: GuestStatus,
        plan: Plan,
        end: bytes,
    ) -> None:
        """`rest` is called when the run is closed."""
        super().__init__(letter, reply, discard=False)
        self._rest = rest
        self._container = container
        self._bash = plan.bash
        self._end = end

    def translate_end(self, word: FinalEvent) -> FinalEvent:
        meant = super().translate_end(word)
        if isinstance(meant, KeeperLost | StartFailed):
            self._container.needs_check = True
        if isinstance(word, KeeperLost):  # the keeper would have killed the command, but is gone
            run_detached(self._bash, self._end, "9", "0.000")
        unseen = isinstance(meant, RunStopped) and meant.reason.kind is not EndKind.EXIT and not self.status.has_ended
        if unseen and not self.never_started:  # it may still be running
            self._container.needs_check = True
            run_detached(self._bash, self._container.remove.encode())
        return meant

    def close(self) -> None:
        super().close()
        self._container.release()
        self._rest()
