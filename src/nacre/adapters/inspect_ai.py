"""inspect_ai: a sandbox environment named `nacre`, found by its entry point.

    Task(dataset=…, solver=[use_tools(bash()), generate()], sandbox="nacre")
    Task(…, sandbox=SandboxEnvironmentSpec("nacre", NacreSandboxConfig(access="workspace")))

Each sample gets its own directory, which is removed after it, together with all processes that are still running.
Commands are checked, and sandboxed as configured; a refused one exits with 126, and stderr says why. File operations of
the evaluation run as commands in the same sandbox, but are not checked. File system and kernel are those of this
machine: for code that you would not run on it at all, use a virtual machine.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shlex
import shutil
import tempfile
from contextlib import nullcontext
from typing import Any, Literal, overload

from nacre.adapters.shared.files import check, read_request, write_request
from nacre.adapters.shared.output_limit import exceeded_stream, run_bounded
from nacre.adapters.shared.streams import read_streams
from nacre.adapters.shared.toolbox import missing_extra
from nacre.base.frozen import replace
from nacre.bash import Bash
from nacre.errors import InvalidRequest
from nacre.policy.policy import EVERYTHING, Policy
from nacre.profiles import DEFAULT
from nacre.result import Exited, Lost, NotStarted, Result, TimedOut
from nacre.tasks.tasks import Tasks
from nacre.types import Access, Request, ToolContext

try:
    from inspect_ai.util import (
        ExecResult,
        OutputLimitExceededError,
        SandboxEnvironment,
        SandboxEnvironmentConfigType,
        SandboxEnvironmentLimits,
        SandboxUnavailableError,
        SandboxUserUnsupportedError,
        sandboxenv,
    )
    from inspect_ai.util import concurrency as taking_turns
    from pydantic import BaseModel
except ImportError as error:
    raise missing_extra("inspect-ai", error) from error

_COMPLAINT_BYTES = 65_536
"""Enough for an error message."""
_FILE_TIMEOUT_S = 600.0
"""Timeout of reading or writing a file."""
_SYSTEM = "/usr/bin:/bin:/usr/sbin:/sbin"
"""PATH for the program that changes the user. It is fixed: no other setting may choose what runs before a command."""


class NacreSandboxConfig(BaseModel):
    """Configuration of a sample's sandbox."""

    model_config = {"frozen": True, "extra": "forbid"}

    access: Access = "unrestricted"
    """Access mode, as in `ToolContext`."""
    network: bool | Literal["loopback"] | tuple[int, ...] = False
    """Network access with `workspace`, as in `ToolContext`."""
    user: str | None = None
    """User for operations that name none. Only root can choose one, and only with access="unrestricted"."""


@sandboxenv(name="nacre")
class NacreSandboxEnvironment(SandboxEnvironment):
    """The sandbox environment `nacre`. `policy` decides which commands may run."""

    def __init__(self, config: NacreSandboxConfig | None = None, *, policy: Policy = DEFAULT.policy) -> None:
        super().__init__()
        self._config = config or NacreSandboxConfig()
        self._bash = Bash(replace(DEFAULT, policy=policy, timeout=float("inf"), max_timeout=float("inf")))
        self._own_bash = Bash(replace(DEFAULT, policy=EVERYTHING, timeout=_FILE_TIMEOUT_S))
        who = self._account(None)
        self._own = tempfile.mkdtemp(prefix="nacre-sandbox-")
        self.directory = os.path.join(self._own, "work")
        """Working directory of commands, and base of relative paths."""
        self.state = os.path.join(self._own, "state")
        """Directory of background tasks."""
        os.mkdir(self.directory)
        if who is not None:
            shutil.chown(self.directory, who.pw_uid, who.pw_gid)

    @classmethod
    async def task_init(cls, task_name: str, config: SandboxEnvironmentConfigType | None) -> None:
        """Fail the task, instead of each command, if the configuration cannot be enforced on this machine."""
        made = _configuration(config)
        Bash().constraints(ToolContext(access=made.access, network=made.network))
        _account(made.user, made.access)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        return {"default": cls(_configuration(config))}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        for each in environments.values():
            await each.as_type(cls).close()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        return NacreSandboxConfig(**config)

    def default_polling_interval(self) -> float:
        return 0.2  # the sandbox is local

    async def close(self) -> None:
        """Kill all running tasks and remove the directory."""
        try:
            tasks = Tasks(self.state)
            for task in tasks.list(all=False):
                await tasks.kill(task.id)
        finally:
            await asyncio.to_thread(shutil.rmtree, self._own, ignore_errors=True)

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command and return its result.

        Raises OutputLimitExceededError, TimeoutError, SandboxUnavailableError if it could not be started,
        PermissionError if the program is not executable, FileNotFoundError if `cwd` is missing, ValueError for an
        invalid argument.
        """
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        request = self._request(cmd, user, env=env, cwd=cwd, stdin=input, timeout=timeout)
        async with taking_turns("subprocesses", _at_once()) if concurrency else nullcontext():
            result = await self._run(self._bash, request, most)
        said = read_streams(result)
        if (beginning := exceeded_stream(result, most)) is not None:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, beginning)
        match result.outcome:
            case TimedOut(after):
                late = TimeoutError(f"the command timed out after {after:g} s and was killed")
                late.truncated_output = said.stdout + said.stderr  # type: ignore[attr-defined]  # inspect_ai shows it
                raise late
            case NotStarted() | Lost():
                raise SandboxUnavailableError(said.stderr.strip())
            case Exited(126) if not await self._is_runnable(cmd[0], user, env=env, cwd=cwd):
                raise PermissionError(said.stderr.strip())
        return ExecResult(said.code == 0, said.code, said.stdout, said.stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file and create missing directories. Raises an OSError."""
        data = contents.encode() if isinstance(contents, str) else contents
        check(await self._on_file(write_request(self._path(file), data), _COMPLAINT_BYTES), file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Return the content of a file. Raises an OSError, OutputLimitExceededError, or UnicodeDecodeError if
        `text`."""
        most = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        result = await self._on_file(read_request(self._path(file)), most)
        if result.out.total_bytes > most:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        check(result, file)
        data = result.out.head + result.out.tail
        return data.decode() if text else data

    async def _on_file(self, request: Request, most: int) -> Result:
        """Run a file operation as the configured user."""
        if self._account(None) is None:
            return await self._run(self._own_bash, request, most)
        by_user = self._request(["bash", "-c", request.command], None, env=dict(request.env), stdin=request.stdin)
        return await self._run(self._own_bash, by_user, most)

    async def _is_runnable(
        self, program: str, user: str | None, *, env: dict[str, str] | None, cwd: str | None
    ) -> bool:
        """Return whether the program exists and is executable: then exit status 126 is the program's own."""
        looks = self._request(["bash", "-c", 'type -P -- "$0"', program], user, env=env, cwd=cwd)
        return (await self._run(self._own_bash, looks, _COMPLAINT_BYTES)).exit_code == 0

    async def _run(self, bash: Bash, request: Request, most: int) -> Result:
        config = self._config
        ctx = ToolContext(
            working_dir=self.directory,
            access=config.access,
            network=config.network,
            output_dir=self.state,
            caller="inspect-ai",
        )
        try:
            return await run_bounded(bash, request, ctx, most)
        except InvalidRequest as error:
            if error.field == "cwd":
                raise FileNotFoundError(str(error)) from error
            raise ValueError(str(error)) from error

    def _request(
        self,
        words: list[str],
        user: str | None,
        *,
        env: dict[str, str] | None = None,
        cwd: str | None = None,
        stdin: str | bytes | None = None,
        timeout: float | None = None,
    ) -> Request:
        """Build the request. `exec`: the first word is a program, even if it is also a builtin or function of the
        shell."""
        if not words:
            raise ValueError("there is no command")
        account, env = self._account(user), dict(env or {})
        if account is not None:
            os.chmod(self._own, 0o711)  # the user must be able to reach the working directory
            ids = ["--reuid", str(account.pw_uid), "--regid", str(account.pw_gid), "--init-groups"]
            words = [_changes_user(), *ids, "--", *words]
            env = {"HOME": account.pw_dir, "USER": account.pw_name, "LOGNAME": account.pw_name, **env}
        return Request(f"exec -- {shlex.join(words)}", stdin=stdin, cwd=cwd, env=env, timeout=timeout)

    def _account(self, user: str | None) -> pwd.struct_passwd | None:
        return _account(user or self._config.user, self._config.access)

    def _path(self, file: str) -> str:
        return os.path.join(self.directory, file)


def _configuration(config: SandboxEnvironmentConfigType | None) -> NacreSandboxConfig:
    if config is None:
        return NacreSandboxConfig()
    if not isinstance(config, NacreSandboxConfig):
        raise ValueError(f"the configuration of a nacre sandbox is a NacreSandboxConfig, not {config!r}")
    return config


def _account(user: str | None, access: Access) -> pwd.struct_passwd | None:
    """Return the account to switch to; None if it is the current one. Raises SandboxUserUnsupportedError if it cannot
    be used."""
    if user is None:
        return None
    try:
        found = pwd.getpwuid(int(user)) if user.isdecimal() else pwd.getpwnam(user)
    except (KeyError, OverflowError, ValueError):
        raise SandboxUserUnsupportedError(f"there is no user {user!r} on this machine") from None
    if found.pw_uid == os.geteuid():
        return None
    if os.geteuid() != 0:
        raise SandboxUserUnsupportedError(f"only root can run commands as {user!r}")
    if access != "unrestricted":
        raise SandboxUserUnsupportedError(f"a sandboxed command has no privileges, and cannot become {user!r}")
    return found


def _at_once() -> int:
    """Return the limit on parallel subprocesses: the evaluation's `max_subprocesses`, which has no public name."""
    try:
        from inspect_ai.util._subprocess import max_subprocesses_context_var
    except ImportError:
        return os.cpu_count() or 1
    return int(max_subprocesses_context_var.get())


def _changes_user() -> str:
    """Return the path of setpriv. It execs the command, so no extra process stays in between; and the checker knows
    it."""
    found = shutil.which("setpriv", path=_SYSTEM)
    if found is None:
        raise SandboxUserUnsupportedError("setpriv (of util-linux) is needed to run commands as another user")
    return found
