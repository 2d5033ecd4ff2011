"""The nouns of the way in: what is asked, for whom, within which bounds, and what will be done.

Frozen values, no behaviour, nothing of ours imported but the cancel switch and the verdict.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nacre.base.frozen import field, frozen
from nacre.cancel import Cancel
from nacre.verdict import Verdict

if TYPE_CHECKING:
    from dataclasses import KW_ONLY

    from nacre.redact.redactor import Redactor
    from nacre.sandbox.resolve import SandboxRequest

Mode: TypeAlias = Literal["default", "slow", "background"]
Access: TypeAlias = Literal["unrestricted", "workspace", "restricted"]
Network: TypeAlias = "bool | Literal['loopback'] | tuple[int, ...]"
Leftovers: TypeAlias = Literal["keep", "end", "detach", "wait"]
StrPath: TypeAlias = "str | PathLike[str]"

KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB


@frozen
class Request:
    """What was asked: one command."""

    command: str
    """Shell text, handed to bash byte for byte."""
    _: KW_ONLY
    description: str = ""
    """For the people and logs that watch; never interpreted."""
    mode: Mode = "default"
    """Which of the profile's timeouts applies when `timeout` is not given; `background` starts a task, which has none,
    and returns at once."""
    timeout: float | None = None
    """Seconds. None: the profile's. Above the profile's maximum it is lowered, and the result says so."""
    yield_after: float | None = None
    """Seconds after which it goes on as a task, and the call returns with what it has printed so far."""
    cwd: StrPath | None = None
    """Relative to the context's `working_dir`, which is also the default."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Laid over the inherited environment; never filtered."""
    clear_env: bool = False
    """Inherit nothing: only `env`, and what keeps programs from waiting for a person."""
    stdin: str | bytes | None = None
    """None: `/dev/null`."""
    open_stdin: bool = False
    """For `background`: leave stdin open, for `Tasks.write`."""
    merge: bool = False
    """One pipe for stdout and stderr: their order is then exact, and all of it is `stdout`. A task always has one."""
    leftovers: Leftovers | None = None
    """Processes still running when the shell has exited become a task: `keep` it until the host ends, or `detach` it
    from the host; or `end` them now. `wait`: the shell waits for its jobs before it exits, in the same time; what is
    not one of them is kept. None: the profile's choice."""


@frozen(kw_only=True)
class Limits:
    """Bounds on what one run may cost. None: the profile's own."""

    output: int | None = None
    """Bytes of each stream (and of both together) held in memory: its beginning and its end."""
    spill: int | None = None
    """Bytes of the spill file, which keeps what memory does not. 0: no spill file."""
    log: int | None = None
    """Bytes of a task's log; beyond that its beginning and its end."""
    tasks: int | None = None
    """How many tasks may be running in one place when another is started. What goes on as a task always may."""
    memory: int | None = None
    """Bytes of memory, all processes of the run together."""
    cpu: float | None = None
    """Seconds of computing, all processes together."""
    processes: int | None = None
    """How many at once. Of threads, four times as many, and at least 256."""
    file_size: int | None = None
    """Bytes of any file that it writes."""
    open_files: int | None = None
    """Descriptors of each process."""


@frozen(kw_only=True)
class ToolContext:
    """What belongs to one call, so that one `Bash` can serve many conversations."""

    working_dir: StrPath | None = None
    """None: the current directory of this process."""
    workspace: StrPath | None = None
    """What the work is in, wherever a command starts: `access="workspace"` lets it write there, a container has that of
    this machine, and the paths below are relative to it. None: `working_dir`."""
    cancel: Cancel | None = None
    """Ends the run from anywhere, any thread included."""
    access: Access = "unrestricted"
    """`restricted`: no writes, no network. `workspace`: writes in the workspace. The kernel enforces it; where
    it cannot, the command is not run."""
    network: Network = False
    """For `workspace`: True for all of it, ports that may be connected to, or `loopback` for one of its own."""
    unix_sockets: bool = False
    """For `workspace`: let it use unix sockets. Docker and systemd listen on some, and do anything for you."""
    writable: tuple[StrPath, ...] = ()
    """For `workspace`: more directories that may be written."""
    protected: tuple[StrPath, ...] = ()
    """For `workspace`: paths in it that may only be read, beside those that always are (docs/sandbox.md)."""
    unprotected: tuple[str, ...] = ()
    """For `workspace`: names that always are protected and may be written this time, such as `AGENTS.md`."""
    hidden: tuple[StrPath, ...] = ()
    """Paths that a confined command cannot read."""
    strict: bool = False
    """For `restricted`: no private TMPDIR either."""
    allow_partial: bool = False
    """Run confined as far as this kernel goes, rather than not at all; `Result.enforced` tells how far."""
    output_dir: StrPath | None = None
    """Where spill files and tasks go, and stay. None: spill files go to a private directory that goes when this process
    does, tasks to the user's state directory."""
    spill_dir: StrPath | None = None
    """Where spill files go, and stay, if not with the tasks in `output_dir`."""
    conversation_id: str = ""
    """Part of the names of files made for this call."""
    caller: str = ""
    """Who asks, for logs and the audit trail: the name of a program or an adapter; never interpreted."""
    allowed_paths: tuple[StrPath, ...] = ()
    """When given, a command may only start in one of these directories or below."""
    approve: Callable[[Verdict], Awaitable[bool] | bool] | None = None
    """Asked when the checker wants a person's word; True lets the command run. `Verdict.approval_request` is what to
    show."""
    limits: Limits = Limits()
    secrets: tuple[str, ...] = ()
    """Values that no command may inherit, under whatever name, and that no rendering of a result shows."""
    pass_env: tuple[str, ...] = ()
    """Names (or globs) of variables to let through the environment filter."""
    login_env: bool = False
    """Inherit the environment of the user's login shell instead of this process's."""


@frozen(kw_only=True)
class Plan:
    """What will be done: every default filled in, every path absolute. Nothing after this decides anything."""

    text: bytes
    bash: str
    cwd: str
    env: Mapping[str, str]
    stdin: bytes | None
    merge: bool
    timeout: float
    grace: float
    leftovers: Literal["keep", "end"]
    output: int
    spill: int
    spill_dir: str | None
    """None: a private directory that goes when this process does."""
    file_prefix: str
    task_dir: str | None = None
    """None: the user's state directory."""
    standby_ok: bool = False
    """Nothing in it is for this call only but the text: a shell for the next call may be started ahead."""
    notes: tuple[str, ...] = ()
    """What was changed on the way here that the reader of the result should know."""
    ruleset: bytes = b""
    """What the kernel is to enforce, as the keeper takes it."""
    private_tmpdir: bool = False
    """With a private TMPDIR."""
    limits: Limits = Limits()
    """What it may cost."""
    sandbox_request: SandboxRequest | None = None
    """The same in words, for whoever explains a denial."""
    enforced: tuple[str, ...] = ()
    compared_paths: tuple[str, ...] = ()
    """Paths to be compared before and after."""
    writable_roots: tuple[str, ...] = ()
    """Where it may write: what is put in the way of those is removed there, and nowhere else."""
    repositories: tuple[str, ...] = ()
    """Git directories in which it may leave no links, and no steps that run programs."""
    mounted: tuple[str, ...] = ()
    """Protected paths that mounts hold, which come off when somebody outside replaces what is there."""
    covered: tuple[str, ...] = ()
    """Hidden paths that mounts alone hide."""
    own_code: tuple[str, ...] = ()
    """Those of `mounted` that are too large to be compared."""
    removed_env: tuple[str, ...] = ()
    """Variables that it is not to have, for an engine that lays an environment of its own below."""
    deferred: tuple[str, ...] = ()
    """Variables of `env` that came with the call and that bash gets once tag and limits are in place."""
    engine_data: Any = None
    """What the engine needs to know to start it."""
    reports_state: bool = False
    """The shell is to tell its last directory and environment."""
    pipeline_commands: tuple[str, ...] = ()
    """The commands of its last pipeline, if it can tell how each of them ended."""
    dedicated_keeper: bool = False
    """With a keeper of its own, because it may outlive this process."""
    background: bool = False
    """It is a task from the start."""
    open_stdin: bool = False
    yield_after: float | None = None
    """Seconds after which it becomes a task."""
    detach: bool = False
    """What it leaves running outlives this process."""
    wait_for_jobs: bool = False
    """The shell waits for its jobs before it exits."""
    kill_script: bytes = b""
    """Shell text that ends it where signals do not reach; it gets the signal's number and the seconds of grace."""
    log: int = 0
    """Bytes of a task's log."""
    log_name: str = ""
    """Another name for it, with `{id}` for the task's."""
    tasks: int = 0
    """How many may be running when it is started."""
    redactor: Redactor | None = None
    """What no rendering of its result may show."""
