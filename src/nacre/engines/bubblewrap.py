"""Bubblewrap: namespaces of its own for each command, without an engine and, on most systems, without privileges.

Beyond what `Local` enforces a command sees no process but its own, and of /tmp, /run and /dev only what is its own.
What it leaves running is kept as anywhere: the namespaces live as long as something in them does.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
from collections.abc import Mapping
from functools import lru_cache

from nacre.base.frozen import replace
from nacre.base.temp_dir import temporary_directory
from nacre.base.threads import beside
from nacre.engines.engine import Engine
from nacre.engines.guest.bash_programs import FRONT
from nacre.engines.guest.probe import said_by
from nacre.engines.guest.run_dir import Far, Letter, Reply, unbegun
from nacre.engines.guest.scripts import OWN, go, here_in_front
from nacre.environment import host_environment
from nacre.errors import AccessUnavailable, EngineUnavailable
from nacre.keeper.client.connection import Folder, private_directory
from nacre.keeper.client.events import LastWord, Stopped
from nacre.keeper.client.handle import Stillborn
from nacre.keeper.client.run import LiveRun
from nacre.planning.access import wanted_for
from nacre.result import Process
from nacre.sandbox.kernel.seccomp import program as filter_for
from nacre.sandbox.resolve import Enforceable, Wanted, limited
from nacre.sandbox.workspace import is_below
from nacre.types import Limits, Plan, StrPath, ToolContext

_PRIVATE = ("/tmp", "/run")
"""Directories of other programs' temporary files and sockets."""
_ALWAYS = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_FILTER_FD, _OPTIONS_FD, _OWN_FD = 6, 7, 8
_FROM_FILE = ("--args", str(_OPTIONS_FD))
"""Its options have the command's variables in them, and nobody's argument list is private."""
_OF_BASH = frozenset({"BASHOPTS", "SHELLOPTS"})
"""Would not only be the command's."""
_ENFORCED = (
    "writes", "network", "unix-sockets", "abstract-sockets", "signals", "devices", "metadata", "shared-memory",
    "protected", "protected-existing", "hidden", "tracing", "privileges", "kernel", "processes", "limits",
)  # fmt: skip


class Bubblewrap(Engine):
    name = "bwrap"

    def __init__(self, program: str = "bwrap") -> None:
        self.program = program
        self._path = ""
        """The path at which it was found to work; empty before the first run."""

    def confined(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> Enforceable:
        wanted = wanted_for(ctx, env)
        own = limited(limits)
        if wanted is None:
            return replace(own, enforced=("signals", "tracing", "processes", "limits"))
        if isinstance(wanted.network, tuple):
            raise AccessUnavailable(
                "access_unavailable",
                "Bubblewrap opens the whole network or none of it, not single ports.",
                field="network",
                hint="Use network=True or False, or the local engine.",
            )
        own = replace(own, wanted=wanted, enforced=_enforced(wanted), covered=wanted.hidden, own_code=wanted.own)
        if wanted.workspace is None:
            return own
        return replace(
            own,
            watched=wanted.workspace.missing,
            roots=wanted.workspace.roots,
            repositories=wanted.workspace.repositories,
            mounted=wanted.workspace.protected,
        )

    def shows(self, plan: Plan, path: StrPath | None) -> bool:
        if plan.wanted is None:
            return True
        real = os.path.realpath(temporary_directory() if path is None else path)
        workspace = plan.wanted.workspace
        if any(is_below(real, hidden) for hidden in plan.wanted.hidden):
            return False
        kept = () if workspace is None else workspace.roots
        return any(is_below(real, root) for root in kept) or not any(is_below(real, each) for each in _PRIVATE)

    async def start(self, plan: Plan, state: int | None = None, folder: Folder | None = None) -> LiveRun | Stillborn:
        self._path = program = self._path or await beside(check, self.program)  # a thread is for the first run only
        path = os.path.join(private_directory() if folder is None else folder.path, f"letter-{os.urandom(6).hex()}")
        cwd = _there(plan.cwd)
        script = go(plan, tag=None, letter=shlex.quote(path), cwd=cwd, export={})
        seccomp = b"" if plan.wanted is None else _filter(plan.wanted)
        options = [*flags(plan.wanted, cwd=cwd, letter=path, scratch=plan.scratch), *_environment(plan)]
        command = [program, *_FROM_FILE, plan.bash, "-p", f"{path}/front", path]  # -p: no BASH_ENV, no functions yet
        files = {_OPTIONS_FD: "options", _OWN_FD: OWN, **({_FILTER_FD: "filter"} if seccomp else {})}
        outer = replace(
            plan,
            text=here_in_front(command, letter=path, files=files, discard=plan.apart),
            env={"PATH": host_environment().get("PATH", os.defpath)},  # nothing of the command's: this is not confined
            deferred=(),
            scratch=False,
            session=False,
            stages=(),
            waits=False,
            reusable=False,
        )
        try:
            others = {"filter": seccomp, "options": _joined(options), "front": FRONT.encode()}
            letter = Letter(path, plan.text, script, others, pipes=(OWN,))
            reply = Reply(letter, state, cwd=plan.cwd, unstarted="bubblewrap could not set it up; the output says why")
        except OSError as error:
            return unbegun(error)
        return await _InNamespaces(program, letter, reply, discard=not plan.apart).begin(outer, folder)


def _there(path: str) -> str:
    """As the workspace is mounted: without links."""
    return os.path.realpath(path)


class _InNamespaces(Far):
    """Report what is left running there, without the process that keeps the namespaces."""

    def __init__(self, program: str, letter: Letter, reply: Reply, *, discard: bool) -> None:
        super().__init__(letter, reply, discard=discard)
        self._own = " ".join((program, *_FROM_FILE, ""))

    def conclude(self, word: LastWord) -> LastWord:
        meant = super().conclude(word)
        if not isinstance(meant, Stopped):
            return meant
        self._discard = True
        return meant._replace(running=self._others(meant.running), ended=self._others(meant.ended))

    def cancel(self) -> None:
        super().cancel()
        self._discard = True  # who would do it is ended

    def _others(self, processes: tuple[Process, ...]) -> tuple[Process, ...]:
        return tuple(each for each in processes if not each.command.startswith(self._own)) or processes


def _environment(plan: Plan) -> list[str]:
    """As options, and nothing but that."""
    env = {name: value for name, value in plan.env.items() if name not in _OF_BASH}
    if plan.wanted is not None:
        env |= {name: f"/tmp/{below}" for name, below in plan.wanted.caches}
    if plan.scratch:
        env["TMPDIR"] = "/tmp"
    return ["--clearenv", *(word for name, value in env.items() for word in ("--setenv", name, value))]


def _joined(options: list[str]) -> bytes:
    return b"".join(os.fsencode(option) + b"\0" for option in options)


def flags(wanted: Wanted | None, *, cwd: str, letter: str, scratch: bool) -> list[str]:
    """As bubblewrap takes them: what comes later lies over what came before. `scratch`: /tmp can be written."""
    if wanted is None:
        return [*_ALWAYS, "--dev-bind", "/", "/", "--proc", "/proc"]
    made = [*_ALWAYS, "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if wanted.network is not True:
        made.append("--unshare-net")
    for path in _PRIVATE:
        made += ["--tmpfs", path]
    workspace = wanted.workspace
    if any(cwd != path and is_below(cwd, path) for path in _PRIVATE):
        made += ["--ro-bind", cwd, cwd]  # it starts there, whether it may write there or not
    if workspace is not None:
        for path in sorted({*workspace.roots, *workspace.pinned}):
            made += ["--bind", path, path]
        for path in workspace.protected:
            made += ["--ro-bind", path, path]
    emptied = [path for path in wanted.hidden if os.path.isdir(path)]
    for path in emptied:
        made += ["--tmpfs", path]
    for path in wanted.hidden:
        if os.path.lexists(path) and path not in emptied:
            made += ["--ro-bind-try", os.devnull, path]
    made += ["--ro-bind", letter, letter, "--remount-ro", "/proc"]  # root steers the kernel there, capabilities or not
    if workspace is None:
        for path in ("/dev", *_PRIVATE, *emptied):
            made += ["--remount-ro", path] if path != "/tmp" or not scratch else []
    return [*made, "--seccomp", str(_FILTER_FD)] if _filter(wanted) else made


def _filter(wanted: Wanted) -> bytes:
    """Close what namespaces leave open: sockets of other programs, and what of the kernel nobody needs."""
    machine = platform.machine()
    if machine not in ("x86_64", "aarch64"):
        return b""
    return filter_for(
        machine,
        sockets="none" if wanted.network is False else "internet",
        unix=wanted.unix_sockets,
        metadata=wanted.access == "restricted",
        shared=not wanted.unix_sockets,
        truncation=False,
    )


def _enforced(wanted: Wanted) -> tuple[str, ...]:
    out = set()
    if wanted.network is True:
        out.add("network")
    if wanted.unix_sockets or not _filter(wanted):
        out |= {"unix-sockets", "kernel"}
    if wanted.workspace is None or wanted.workspace.missing:
        out.add("protected")
    if wanted.workspace is None or not wanted.workspace.missing:
        out.add("protected-existing")
    if not wanted.hidden or wanted.exposed:
        out.add("hidden")
    return tuple(name for name in _ENFORCED if name not in out)


@lru_cache(maxsize=8)
def check(program: str) -> str:
    """Its path. EngineUnavailable: it is not here, or may not do here what it is for."""
    words = said_by([program, *_ALWAYS, "--ro-bind", "/", "/", "--proc", "/proc", "true"])
    path = shutil.which(program)
    if words is None or path is None:
        raise EngineUnavailable(
            f"There is no bubblewrap here ({program}).", "Install it: the package is called bubblewrap."
        )
    if words:
        raise EngineUnavailable(
            f"Bubblewrap cannot make namespaces here: {words}",
            "It needs user namespaces, or root; inside a container the engine has to allow them.",
        )
    return os.path.abspath(path)
