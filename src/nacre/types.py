"""Input values: the request, its context and limits, and the resulting plan.

Frozen values without behaviour. Of nacre, only `base`, the cancel switch and the verdict are imported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypeAlias

from nacre.base.frozen import field, frozen, uncompared_field
from nacre.cancel import Cancel
from nacre.verdict import Verdict

if TYPE_CHECKING:
    from dataclasses import KW_ONLY

    from nacre.engines.containers.options import ContainerSpec
    from nacre.engines.ray.node.payload import PlanContext
    from nacre.redact.redactor import Redactor
    from nacre.sandbox.kernel.ruleset import Ruleset
    from nacre.sandbox.resolve import SandboxRequest

Mode: TypeAlias = Literal["default", "slow", "background"]
Access: TypeAlias = Literal["unrestricted", "workspace", "restricted"]
Network: TypeAlias = "bool | Literal['loopback'] | tuple[int, ...]"
Leftovers: TypeAlias = Literal["keep", "end", "detach", "wait"]
Lifetime: TypeAlias = Literal["foreground", "promotable", "background"]
"""The caller waits for the end of the run, or until it is promoted to a task; or the run is a task from the start."""
StrPath: TypeAlias = "str | PathLike[str]"
EngineData: TypeAlias = "ContainerSpec | PlanContext"
"""Data that an engine puts into a plan for itself. Other engines do not look into it."""

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@frozen
class Request:
    """One command to run."""

    command: str
    """Shell script, passed to bash byte for byte."""
    _: KW_ONLY
    description: str = ""
    """Shown to people and in logs; never interpreted."""
    mode: Mode = "default"
    """Selects the profile's timeout if `timeout` is not given. `background` starts a task, which has no default
    timeout, and returns at once."""
    timeout: float | None = None
    """Seconds; None: the profile's. A value above the profile's maximum is lowered, and the result has a note about
    it."""
    yield_after: float | None = None
    """Seconds after which the run becomes a background task and the call returns with the output so far."""
    cwd: StrPath | None = None
    """Working directory, relative to the context's `working_dir`. Default: `working_dir`."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables added to the inherited environment; never filtered."""
    clear_env: bool = False
    """Inherit no environment: pass only `env` and the variables that keep programs from prompting."""
    stdin: str | bytes | None = None
    """Standard input; None: `/dev/null`."""
    open_stdin: bool = False
    """With `background`: keep stdin open for `Tasks.write`."""
    merge: bool = False
    """Use one pipe for stdout and stderr: their order is then exact, and `stdout` holds both. Tasks always do this."""
    leftovers: Leftovers | None = None
    """Handling of processes that are still running when the shell has exited. `keep`: they become a task that is killed
    when the host process exits. `detach`: they become a task that outlives the host process. `end`: they are killed
    now. `wait`: the shell waits for its jobs before it exits, within the timeout; other leftovers are kept. None: the
    profile's choice."""


@frozen(kw_only=True)
class Limits:
    """Resource limits of one run. None: the profile's limit."""

    output: int | None = None
    """Bytes kept in memory of each stream, and of both together: half from the beginning, half from the end."""
    spill: int | None = None
    """Bytes of the spill file, which holds output that memory does not. 0: no spill file."""
    log: int | None = None
    """Bytes of a task's log; of more output, the beginning and the end are kept."""
    tasks: int | None = None
    """Running tasks in one task directory; at this limit, no task is started and no leftovers are adopted. Promoting a
    run is always allowed."""
    memory: int | None = None
    """Bytes of memory of all processes of the run together."""
    cpu: float | None = None
    """Seconds of CPU time of all processes together."""
    processes: int | None = None
    """Processes at the same time. The limit of threads is four times this number, and at least 256."""
    file_size: int | None = None
    """Bytes of each file that it writes."""
    open_files: int | None = None
    """File descriptors of each process."""


@frozen(kw_only=True)
class ToolContext:
    """The context of one call, so that one `Bash` can serve many conversations."""

    working_dir: StrPath | None = None
    """Working directory. None: the current directory of this process."""
    workspace: StrPath | None = None
    """Project root: writable with `access="workspace"`, mounted into containers, base of the relative paths below.
    None: `working_dir`."""
    cancel: Cancel | None = None
    """Cancels the run from any thread."""
    access: Access = "unrestricted"
    """`restricted`: no writes, no network. `workspace`: writes in the workspace only. The kernel enforces it; if it
    cannot, the command is not run."""
    network: Network = False
    """With `workspace`: True for full access, a tuple of TCP ports to connect to, or `loopback` for a private loopback
    network."""
    unix_sockets: bool = False
    """With `workspace`: allow unix sockets. Services such as Docker and systemd listen on some, and run anything for
    their clients."""
    writable: tuple[StrPath, ...] = ()
    """With `workspace`: further writable directories."""
    protected: tuple[StrPath, ...] = ()
    """With `workspace`: read-only paths inside it, in addition to those that are always protected (docs/sandbox.md)."""
    unprotected: tuple[str, ...] = ()
    """With `workspace`: names, such as `AGENTS.md`, that are writable this time although protected by default."""
    hidden: tuple[StrPath, ...] = ()
    """Paths that a sandboxed command cannot read."""
    strict: bool = False
    """With `restricted`: no private TMPDIR either."""
    allow_partial: bool = False
    """Run with the restrictions that this kernel can enforce instead of failing; `Result.enforced` lists them."""
    output_dir: StrPath | None = None
    """Directory for spill files and tasks, which are kept there. None: spill files go to a private directory that is
    removed when this process exits, tasks to the user's state directory."""
    spill_dir: StrPath | None = None
    """Directory for spill files, which are kept there, if not `output_dir`."""
    conversation_id: str = ""
    """Part of the names of files written for this call."""
    caller: str = ""
    """Name of the calling program or adapter, for logs and the audit trail; never interpreted."""
    allowed_paths: tuple[StrPath, ...] = ()
    """If given, the only directories, with those below, in which a command may start."""
    approve: Callable[[Verdict], Awaitable[bool] | bool] | None = None
    """Called when the checker wants a person's approval; True runs the command. Show `Verdict.approval_request` to the
    person."""
    limits: Limits = Limits()
    secrets: tuple[str, ...] = ()
    """Values that no command inherits, under any variable name, and that every rendering of a result masks."""
    pass_env: tuple[str, ...] = ()
    """Names or glob patterns of variables that pass the environment filter."""
    login_env: bool = False
    """Inherit the environment of the user's login shell instead of this process's."""


@frozen(kw_only=True)
class Timing:
    """Times of a run in seconds, from its start."""

    timeout: float
    """Until it is killed; inf: never."""
    grace: float
    """From SIGTERM to SIGKILL."""
    yield_after: float | None = None
    """Until it becomes a task."""


@frozen(kw_only=True)
class OutputLimits:
    """The part of a run's output that is kept, and where."""

    memory: int
    """Bytes of each stream, and of both together."""
    spill: int
    """Bytes of the spill file; 0: none."""
    spill_dir: str | None
    """None: a private directory that is removed when this process exits."""
    file_prefix: str
    """Beginning of the spill file's name."""


@frozen(kw_only=True)
class TaskPlan:
    """The task that a run is, or that it or its leftovers may become."""

    directory: str | None = None
    """Directory of the tasks. None: in the user's state directory."""
    log: int = 0
    """Bytes of the log."""
    log_name: str = ""
    """Another name for the log; `{id}` stands for the task's id."""
    max_tasks: int = 0
    """Running tasks at which no further one is started."""


@frozen(kw_only=True)
class ProtectedPaths:
    """Paths whose state is recorded before a run, and compared and restored after it."""

    compared: tuple[str, ...] = ()
    """Protected paths that the kernel does not protect here."""
    writable_roots: tuple[str, ...] = ()
    """Writable directories. A file that the run plants in place of a protected path is removed only inside them."""
    repositories: tuple[str, ...] = ()
    """Git directories in which the run may leave no links and no unfinished operations that run programs."""
    mounted: tuple[str, ...] = ()
    """Protected paths held by mounts. A mount is lost when a process outside replaces the path."""
    covered: tuple[str, ...] = ()
    """Hidden paths that only mounts hide."""
    own_code: tuple[str, ...] = ()
    """Paths of `mounted` that are not compared: nacre's own code, which is too large, and nacre's own output."""

    @property
    def need_snapshot(self) -> bool:
        """Whether there is anything to record."""
        return bool(self.compared or self.repositories or self.mounted or self.covered)


NO_PROTECTED_PATHS = ProtectedPaths()


@frozen(kw_only=True)
class Plan:
    """The plan of a run: every default filled in, every path absolute. No later stage makes decisions."""

    request: Request
    """The request that is carried out."""
    text: bytes
    """The script for bash: the command, or what an engine runs in its place."""
    bash: str
    cwd: str
    env: Mapping[str, str]
    stdin: bytes | None
    open_stdin: bool = False
    merge: bool
    timing: Timing
    lifetime: Lifetime
    leftovers: Leftovers
    output: OutputLimits
    task: TaskPlan
    standby_ok: bool = False
    """Only the script is specific to this call, so a standby shell for the next call may be started with the same
    plan."""
    notes: tuple[str, ...] = ()
    """Changes to the request that the reader of the result should know."""
    ruleset: Ruleset | None = None
    """Restrictions for the kernel; None for none."""
    private_tmpdir: bool = False
    """Whether the run gets a private TMPDIR."""
    limits: Limits = Limits()
    """Resource limits of the run."""
    sandbox_request: SandboxRequest | None = None
    """The requested restrictions, from which denials are explained."""
    enforced: tuple[str, ...] = ()
    protected: ProtectedPaths = NO_PROTECTED_PATHS
    removed_env: tuple[str, ...] = ()
    """Variables that the run may not have, for an engine that adds its own environment."""
    deferred: tuple[str, ...] = ()
    """Variables of `env` that came with the request. bash gets them after the tag and the limits are set."""
    engine_data: EngineData | None = None
    """Data that the engine needs to start the run."""
    reports_state: bool = False
    """Whether the shell reports its final working directory and environment."""
    pipeline_commands: tuple[str, ...] = ()
    """Commands of the last pipeline, if the shell can report the exit status of each."""
    kill_script: bytes = b""
    """Shell script that kills the run where signals do not reach. Its arguments: the signal number and the grace in
    seconds."""
    redactor: Redactor | None = uncompared_field(default=None)
    """Masks secrets in every rendering of the result."""

    @property
    def dedicated_keeper(self) -> bool:
        """Whether the run gets a dedicated keeper, because it or its leftovers may outlive this process."""
        return self.lifetime != "foreground" or self.leftovers == "detach"
