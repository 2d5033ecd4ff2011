"""Bubblewrap: separate namespaces for each command, without a container engine and, on most systems, without
privileges.

Beyond what `Local` enforces, a command sees only its own processes, and private /tmp, /run and /dev. Leftovers are
treated as with any engine: the namespaces exist as long as a process is in them.
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
from nacre.base.threads import run_in_thread
from nacre.engines.engine import Engine
from nacre.engines.guest.bash_programs import FOREGROUND
from nacre.engines.guest.probe import probe
from nacre.engines.guest.run_dir import GuestRun, GuestStatus, RunDir, failed_start
from nacre.engines.guest.scripts import OWN, foreground_host_script, start_script
from nacre.environment import host_environment
from nacre.errors import AccessUnavailable, EngineUnavailable
from nacre.keeper.client.connection import TaskDirHandle, private_directory
from nacre.keeper.client.events import FinalEvent, RunStopped
from nacre.keeper.client.handle import UnstartedRun
from nacre.keeper.client.run import LocalRun
from nacre.planning.access import sandbox_request
from nacre.result import Process
from nacre.sandbox.kernel.seccomp import program as filter_for
from nacre.sandbox.resolve import SandboxPlan, SandboxRequest, limits_only
from nacre.sandbox.workspace import is_below
from nacre.types import Limits, Plan, ProtectedPaths, StrPath, ToolContext

_PRIVATE = ("/tmp", "/run")
"""Directories of other programs' temporary files and sockets, replaced by private ones."""
_FIXED_OPTIONS = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
_FILTER_FD, _OPTIONS_FD, _OWN_FD = 6, 7, 8
_FROM_FILE = ("--args", str(_OPTIONS_FD))
"""Reads options from a descriptor: they contain the command's environment variables, and any user can read an argv."""
_OF_BASH = frozenset({"BASHOPTS", "SHELLOPTS"})
"""Not passed on: these would also affect nacre's own bash in the sandbox."""
_ENFORCED = (
    "writes", "network", "unix-sockets", "abstract-sockets", "signals", "devices", "metadata", "shared-memory",
    "protected", "protected-existing", "hidden", "tracing", "privileges", "kernel", "processes", "limits",
)  # fmt: skip


class Bubblewrap(Engine):
    """Engine that runs each command by `bwrap`, in private namespaces. `program`: name or path of the executable."""

    name = "bwrap"

    def __init__(self, program: str = "bwrap") -> None:
        self.program = program
        self._path = ""
        """Path of the working executable; empty before the first run."""

    def sandbox_plan(self, ctx: ToolContext, limits: Limits, env: Mapping[str, str]) -> SandboxPlan:
        wanted = sandbox_request(ctx, env)
        own = limits_only(limits)
        if wanted is None:
            return replace(own, enforced=("signals", "tracing", "processes", "limits"))
        if isinstance(wanted.network, tuple):
            raise AccessUnavailable(
                "access_unavailable",
                "Bubblewrap can allow the whole network or none, not single ports.",
                field="network",
                hint="Use network=True or False, or the local engine.",
            )
        workspace = wanted.workspace
        protected = ProtectedPaths(
            compared=() if workspace is None else workspace.missing,
            writable_roots=() if workspace is None else workspace.roots,
            repositories=() if workspace is None else workspace.repositories,
            mounted=() if workspace is None else workspace.protected,
            covered=wanted.hidden,
            own_code=wanted.own,
        )
        return replace(own, request=wanted, enforced=_enforced_parts(wanted), protected=protected)

    def can_read(self, plan: Plan, path: StrPath | None) -> bool:
        if plan.sandbox_request is None:
            return True
        real = os.path.realpath(temporary_directory() if path is None else path)
        workspace = plan.sandbox_request.workspace
        if any(is_below(real, hidden) for hidden in plan.sandbox_request.hidden):
            return False
        kept = () if workspace is None else workspace.roots
        return any(is_below(real, root) for root in kept) or not any(is_below(real, each) for each in _PRIVATE)

    async def start(
        self, plan: Plan, state: int | None = None, folder: TaskDirHandle | None = None
    ) -> LocalRun | UnstartedRun:
        # only the first run needs a thread
        self._path = program = self._path or await run_in_thread(check, self.program)
        path = os.path.join(private_directory() if folder is None else folder.path, f"letter-{os.urandom(6).hex()}")
        cwd = _real_path(plan.cwd)
        script = start_script(plan, tag=None, letter=shlex.quote(path), cwd=cwd, export={})
        seccomp = b"" if plan.sandbox_request is None else _filter(plan.sandbox_request)
        options = [*flags(plan.sandbox_request, cwd=cwd, letter=path, scratch=plan.private_tmpdir), *_environment(plan)]
        # -p: ignore BASH_ENV and exported functions
        command = [program, *_FROM_FILE, plan.bash, "-p", f"{path}/front", path]
        files = {_OPTIONS_FD: "options", _OWN_FD: OWN, **({_FILTER_FD: "filter"} if seccomp else {})}
        outer = replace(
            plan,
            text=foreground_host_script(command, letter=path, files=files, discard=plan.dedicated_keeper),
            env={"PATH": host_environment().get("PATH", os.defpath)},  # none of the command's: bwrap runs unsandboxed
            deferred=(),
            private_tmpdir=False,
            reports_state=False,
            pipeline_commands=(),
            leftovers="keep" if plan.leftovers == "wait" else plan.leftovers,  # the shell inside waits
            standby_ok=False,
        )
        try:
            others = {"filter": seccomp, "options": _join_options(options), "front": FOREGROUND.encode()}
            letter = RunDir(path, plan.text, script, others, pipes=(OWN,))
            reply = GuestStatus(
                letter, state, cwd=plan.cwd, unstarted="bubblewrap failed to set up the sandbox; see its output"
            )
        except OSError as error:
            return failed_start(error)
        return await _NamespaceRun(program, letter, reply, discard=not plan.dedicated_keeper).start(outer, folder)


def _real_path(path: str) -> str:
    """Return the path without symbolic links, as the workspace is mounted."""
    return os.path.realpath(path)


class _NamespaceRun(GuestRun):
    """A run in namespaces. Leftovers are reported without the bwrap process that keeps the namespaces."""

    def __init__(self, program: str, letter: RunDir, reply: GuestStatus, *, discard: bool) -> None:
        super().__init__(letter, reply, discard=discard)
        self._own = " ".join((program, *_FROM_FILE, ""))

    def translate_end(self, word: FinalEvent) -> FinalEvent:
        meant = super().translate_end(word)
        if not isinstance(meant, RunStopped):
            return meant
        self._discard = True
        return meant._replace(
            running=self._others(meant.running), killed_leftovers=self._others(meant.killed_leftovers)
        )

    def cancel(self) -> None:
        super().cancel()
        self._discard = True  # the process that would do it is killed

    def _others(self, processes: tuple[Process, ...]) -> tuple[Process, ...]:
        return tuple(each for each in processes if not each.command.startswith(self._own)) or processes


def _environment(plan: Plan) -> list[str]:
    """Return the bwrap options that set the plan's environment, and no other variables."""
    env = {name: value for name, value in plan.env.items() if name not in _OF_BASH}
    if plan.sandbox_request is not None:
        env |= {name: f"/tmp/{below}" for name, below in plan.sandbox_request.caches}
    if plan.private_tmpdir:
        env["TMPDIR"] = "/tmp"
    return ["--clearenv", *(word for name, value in env.items() for word in ("--setenv", name, value))]


def _join_options(options: list[str]) -> bytes:
    return b"".join(os.fsencode(option) + b"\0" for option in options)


def flags(wanted: SandboxRequest | None, *, cwd: str, letter: str, scratch: bool) -> list[str]:
    """Return the bwrap options for an access request. Later mounts cover earlier ones. `scratch`: /tmp is writable."""
    if wanted is None:
        return [*_FIXED_OPTIONS, "--dev-bind", "/", "/", "--proc", "/proc"]
    made = [*_FIXED_OPTIONS, "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    if wanted.network is not True:
        made.append("--unshare-net")
    for path in _PRIVATE:
        made += ["--tmpfs", path]
    workspace = wanted.workspace
    if any(cwd != path and is_below(cwd, path) for path in _PRIVATE):
        made += ["--ro-bind", cwd, cwd]  # the working directory, writable or not
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
    # root can write kernel settings there even without capabilities
    made += ["--ro-bind", letter, letter, "--remount-ro", "/proc"]
    if workspace is None:
        for path in ("/dev", *_PRIVATE, *emptied):
            made += ["--remount-ro", path] if path != "/tmp" or not scratch else []
    return [*made, "--seccomp", str(_FILTER_FD)] if _filter(wanted) else made


def _filter(wanted: SandboxRequest) -> bytes:
    """Return the seccomp filter for what namespaces leave open: sockets of other programs, and kernel features that
    commands do not need. Empty on an unsupported machine."""
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


def _enforced_parts(wanted: SandboxRequest) -> tuple[str, ...]:
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
    """Return the absolute path of bubblewrap. EngineUnavailable: it is not installed, or cannot create namespaces
    here."""
    words = probe([program, *_FIXED_OPTIONS, "--ro-bind", "/", "/", "--proc", "/proc", "true"])
    path = shutil.which(program)
    if words is None or path is None:
        raise EngineUnavailable(
            f"bubblewrap was not found ({program}).", "Install it: the package is called bubblewrap."
        )
    if words:
        raise EngineUnavailable(
            f"Bubblewrap cannot create namespaces here: {words}",
            "It needs user namespaces, or root; inside a container the engine must allow them.",
        )
    return os.path.abspath(path)
