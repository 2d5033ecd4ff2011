"""Containers: docker or podman by their command lines, one container kept warm for each conversation.

A command is an `exec` in its conversation's container; ending it means ending all that carries its tag in there, which
killing the `exec` from outside does not. The context's workspace is mounted at the same path, and nothing else of this
machine is. Where a command starts, a model may decide; what is mounted, never.
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
from nacre.engines.containers.options import LETTERS, TAGS, Made, described, enforced, found, shown, there
from nacre.engines.containers.pool import Shared
from nacre.engines.engine import Engine, asked_for
from nacre.engines.guest.probe import by_itself
from nacre.engines.guest.run_dir import Far, Letter, Reply, unbegun
from nacre.engines.guest.scripts import ender, go, here
from nacre.environment import host_environment
from nacre.errors import AccessUnavailable, InvalidRequest
from nacre.keeper.client.connection import Folder
from nacre.keeper.client.events import LastWord, NeverBegan, Stopped, Vanished
from nacre.keeper.client.handle import Stillborn
from nacre.keeper.client.run import LiveRun
from nacre.keeper.protocol.ending import EXIT
from nacre.planning.access import wanted_for
from nacre.planning.paths import directory_for, workspace_of
from nacre.planning.validate import absolute
from nacre.sandbox.resolve import Enforceable
from nacre.sandbox.workspace import Workspace
from nacre.types import Limits, Plan, Request, StrPath, ToolContext

_MOMENT = 0.1
_NOTHING = Workspace(roots=())


class Containers(Engine):
    """For `Bash(engine=Containers("debian"))`. Close it when it is not needed any more, or leave that to the end of the
    process."""

    here = False

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
        """`workspace` is mounted; None: that of the context. `network`, and the
        limits, are for a container whose context does not say. `options` go to the engine's `run` as they are. At most
        `most` idle containers are kept, and none that had nothing to do for `idle` seconds."""
        if not image or image.startswith("-"):
            raise InvalidRequest("bad_image", f"`image` is {image!r}.", field="image", hint="Name one.")
        self.name = os.path.basename(program)
        self._program = program
        self._base = Made(
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
            found=found("", _NOTHING, ()),
        )
        self._most = most
        self._idle = idle
        self._containers = Shared[Made, Container](Container.close)
        self._process = os.getpid()
        self._alarm: asyncio.AbstractEventLoop | None = None
        """The event loop in which idle ones are going to be looked for."""

    def directory(self, request: Request, ctx: ToolContext) -> str:
        """It need not be here: the container says if it is not there."""
        return directory_for(request, ctx, here=False)

    async def inherited(self, ctx: ToolContext) -> Mapping[str, str]:
        """The image has an environment of its own."""
        return asked_for(ctx)

    def confined(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> Enforceable:
        _check_countable(ctx.limits, self.name)
        own = self._base.workspace or os.path.realpath(workspace_of(ctx))
        wanted = wanted_for(replace(ctx, workspace=own), env)
        made = replace(
            self._base,
            conversation=ctx.conversation_id,
            workspace=own,
            access=ctx.access,
            memory=limits.memory or self._base.memory,
            processes=limits.processes or self._base.processes,
            found=found(own, _NOTHING, ()),
        )
        if wanted is not None:
            _check_can_be_had(ctx, self.name)
            made = replace(
                made,
                network=wanted.network is True,
                hidden=wanted.hidden,
                asked=tuple(map(os.fspath, (*ctx.writable, *ctx.protected))),
                found=found(own, wanted.workspace or _NOTHING, wanted.hidden, reads=ctx.access == "restricted"),
            )
        _check_can_be_named((*made.roots, *made.found.mounted), self.name)
        workspace = made.found.workspace
        exposed = {"hidden"} if wanted is not None and wanted.exposed else set()
        return Enforceable(
            confinement=b"",
            enforced=tuple(name for name in enforced(made) if name not in exposed),
            watched=workspace.missing,
            roots=workspace.roots,
            repositories=workspace.repositories,
            mounted=workspace.protected if made.access == "workspace" else (),
            covered=made.hidden,
            own_code=() if wanted is None else wanted.own,
            place=made,
            words=described(made),
        )

    async def start(self, plan: Plan, state: int | None = None, folder: Folder | None = None) -> LiveRun | Stillborn:
        container = await self._container(plan.place)
        tag = int.from_bytes(os.urandom(TAGS // 8), "big")
        path, inside = os.path.join(container.letters, str(tag)), f"{LETTERS}/{tag}"
        ward = ["bash", f"{LETTERS}/ward", inside, str(tag), "merge" if plan.merge else ""]
        execute = [self._program, "exec", "-i", container.name, *ward]
        made = container.made
        confined = made.access != "unrestricted"
        end = ender(self._program, container.name, reap=f"{LETTERS}/reap", tag=tag, letter=path, confined=confined)
        outer = replace(
            plan,
            text=here(
                execute,
                letter=path,
                hold=container.hold,
                end=end,
                apart=plan.apart,
                memory=made.memory,
                processes=made.processes,
            ),
            cwd="/",
            env=host_environment(),
            deferred=(),
            ender=end,
            scratch=False,
            session=False,
            stages=(),
            waits=False,
            reusable=False,
        )
        cwd = there(made, plan.cwd)
        try:
            letter = Letter(path, plan.text, go(plan, tag=tag, letter=inside, cwd=cwd, export=plan.env))
            reply = Reply(
                letter,
                state,
                cwd=plan.cwd,
                unstarted=f"{self.name} could not start it in its container; the output says why",
                lost=f"its container, or {self.name}'s connection to it, has ended",
            )
        except OSError as error:
            container.leave()
            return unbegun(error)
        return await _InContainer(self._rest, container, letter, reply, plan, end).begin(outer, folder)

    def shows(self, plan: Plan, path: StrPath | None) -> bool:
        return shown(plan.place, temporary_directory() if path is None else path)

    async def aclose(self) -> None:
        """Containers go when nothing runs in them any more, and none is kept warm from now on."""
        self._idle = 0.0
        self._containers.clear()

    async def _container(self, made: Made) -> Container:
        self._start_afresh_after_fork()
        self._tidy()
        self._drop_outdated(made)

        async def opened() -> Container:
            container = Container(self._program, made)
            await container.open()
            return container

        while True:
            container = await self._containers.get(made, opened)
            if await container.is_well() and container.enter():
                return container
            self._containers.drop(made, container)

    def _drop_outdated(self, made: Made) -> None:
        """Drop containers that were made alike before something else came to be covered."""
        for other, container in self._containers.items():
            if other != made and replace(other, found=made.found) == made:
                self._containers.drop(other, container)

    def _start_afresh_after_fork(self) -> None:
        """Forget the containers of the other process, which may end them."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._containers = Shared(Container.close)
            self._alarm = None

    def _rest(self) -> None:
        """A command has ended, and nobody may come for a long time: look again by then, once."""
        self._tidy()
        unused = [container.used for _, container in self._containers.items() if not container.running]
        if unused and (self._alarm is None or self._alarm.is_closed()):
            with contextlib.suppress(RuntimeError):  # no loop any more: the process is about to end
                self._alarm = asyncio.get_running_loop()
                self._alarm.call_later(min(unused) + self._idle - time.monotonic() + _MOMENT, self._wake)

    def _wake(self) -> None:
        self._alarm = None
        self._rest()

    def _tidy(self) -> None:
        """Let go of those that nobody has used for long, and of the oldest if there are too many."""
        kept = self._containers.items()
        unused = sorted(((made, each) for made, each in kept if not each.running), key=lambda row: row[1].used)
        late = time.monotonic() - self._idle
        for number, (made, container) in enumerate(unused):
            if container.used <= late or number < len(kept) - self._most:
                self._containers.drop(made, container)


def _check_countable(limits: Limits, name: str) -> None:
    """Refuse a limit on computing: what a dead process has used that was nobody's in there, nobody can tell. A
    profile's own bound, far off as it is, holds for each process."""
    if limits.cpu is not None:
        raise AccessUnavailable(
            "access_unavailable",
            f"{name} does not count how long a command has been computing.",
            field="cpu",
            hint="Leave it out: a timeout bounds it as well, and Containers(cpus=…) how much it computes at a time. "
            "Or use another engine.",
        )


def _check_can_be_named(paths: tuple[str, ...], name: str) -> None:
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise InvalidRequest(
                "bad_workspace",
                f"{path!r} is not UTF-8, and {name} can mount nothing else.",
                field="working_dir",
                hint="Rename it, or use another engine.",
            ) from None


def _check_can_be_had(ctx: ToolContext, name: str) -> None:
    if ctx.strict:
        raise AccessUnavailable(
            "access_unavailable",
            "A container has memory that can be written: /tmp, /dev/shm and the like.",
            field="strict",
            hint="Leave it out: all that goes with the container. Or use another engine.",
        )
    if not isinstance(ctx.network, bool | str):
        raise AccessUnavailable(
            "access_unavailable",
            f"{name} opens the whole network or none of it, not single ports.",
            field="network",
            hint="Use network=True or False, or the local engine.",
        )


class _InContainer(Far):
    def __init__(
        self,
        rest: Callable[[], None],
        container: Container,
        letter: Letter,
        reply: Reply,
        plan: Plan,
        end: bytes,
    ) -> None:
        """`rest` is told when it is over."""
        super().__init__(letter, reply, discard=False)
        self._rest = rest
        self._container = container
        self._bash = plan.bash
        self._end = end

    def conclude(self, word: LastWord) -> LastWord:
        meant = super().conclude(word)
        if isinstance(meant, Vanished | NeverBegan):
            self._container.doubted = True
        if isinstance(word, Vanished):  # the keeper is gone, which would have ended it
            by_itself(self._bash, self._end, "9", "0.000")
        unseen = isinstance(meant, Stopped) and meant.reason != EXIT and not self.reply.ended
        if unseen and not self.unborn:  # nobody saw it end
            self._container.doubted = True
            by_itself(self._bash, self._container.remove.encode())
        return meant

    def close(self) -> None:
        super().close()
        self._container.leave()
        self._rest()
