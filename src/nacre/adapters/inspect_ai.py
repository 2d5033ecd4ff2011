"""inspect_ai: a sandbox environment named `nacre`, found by its entry point.

    Task(dataset=…, solver=[use_tools(bash()), generate()], sandbox="nacre")
    Task(…, sandbox=SandboxEnvironmentSpec("nacre", NacreSandboxConfig(access="workspace")))

Each sample has a directory of its own, which goes with it, as does everything that it has left running. Commands are
checked, and confined as far as the configuration says; a refused one exits with 126, and stderr says why. Files go
through commands too, so that what confines those confines them. It shares this machine's file system and kernel: for
code that one would not run at all, take a virtual machine.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import tempfile
from typing import Any, Literal, overload

from nacre.adapters.extras import missing
from nacre.adapters.files import check, reading, writing
from nacre.adapters.streams import streams
from nacre.errors import InvalidRequest
from nacre.frozen import replace
from nacre.policy.policy import Policy
from nacre.profiles import DEFAULT
from nacre.result import Captured, Refused, Result, TimedOut
from nacre.tasks.tasks import Tasks
from nacre.tool import Bash
from nacre.types import Access, Limits, Request, ToolContext

try:
    from inspect_ai.util import (
        ExecResult,
        OutputLimitExceededError,
        SandboxEnvironment,
        SandboxEnvironmentConfigType,
        SandboxEnvironmentLimits,
        sandboxenv,
    )
    from pydantic import BaseModel
except ImportError as error:
    raise missing("inspect-ai", error) from error

_SOME = 65_536
"""Bytes that are enough for a complaint."""


class NacreSandboxConfig(BaseModel):
    """How the commands of a sample are held."""

    model_config = {"frozen": True, "extra": "forbid"}

    access: Access = "unrestricted"
    network: bool = False
    """For `workspace`."""
    user: str | None = None
    """Who runs what names nobody; only root can choose."""


@sandboxenv(name="nacre")
class NacreSandboxEnvironment(SandboxEnvironment):
    def __init__(self, config: NacreSandboxConfig | None = None, *, policy: Policy = DEFAULT.policy) -> None:
        self._config = config or NacreSandboxConfig()
        self._bash = Bash(replace(DEFAULT, policy=policy, timeout=float("inf"), max_timeout=float("inf")))
        self._own = tempfile.mkdtemp(prefix="nacre-sandbox-")
        self.directory = os.path.join(self._own, "work")
        """Where commands start, and relative paths begin."""
        self.state = os.path.join(self._own, "state")
        os.mkdir(self.directory)
        if self._config.user is not None and os.geteuid() == 0:
            os.chmod(self._own, 0o711)
            shutil.chown(self.directory, self._config.user)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        if config is not None and not isinstance(config, NacreSandboxConfig):
            raise ValueError(f"the configuration of a nacre sandbox is a NacreSandboxConfig, not {config!r}")
        return {"default": cls(config)}

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

    async def close(self) -> None:
        """End what is left running, and remove the directory."""
        tasks = Tasks(self.state)
        for task in tasks.list(all=False):
            await tasks.kill(task.id)
        shutil.rmtree(self._own, ignore_errors=True)

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
        who = user or self._config.user
        if who is not None and not _exists(who):
            text = f"unable to find user {who}: no matching entries in passwd file"
            return ExecResult(False, 126, text, "")
        most = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        request = Request(_as(who, cmd), stdin=input, cwd=cwd, env=dict(env or {}), timeout=timeout)
        result = await self._run(request, most)
        said = streams(result)
        for part in (result.out, result.err):
            if part.seen > most:
                raise OutputLimitExceededError(
                    SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, _beginning(part, most).decode("utf-8", "replace")
                )
        if isinstance(result.outcome, TimedOut):
            raise TimeoutError(f"the command did not end in {timeout} s, and was ended")
        if said.code == 126 and not isinstance(result.outcome, Refused):
            raise PermissionError(said.stderr.strip())
        return ExecResult(said.code == 0, said.code, said.stdout, said.stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        data = contents.encode() if isinstance(contents, str) else contents
        check(await self._run(self._by_user(writing(self._path(file), data)), _SOME), file)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        most = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        result = await self._run(self._by_user(reading(self._path(file))), most)
        check(result, file)
        if result.out.seen > most:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        data = result.out.head + result.out.tail
        return data.decode() if text else data

    async def _run(self, request: Request, most: int) -> Result:
        """Holds a little more than the limit, and twice that is what is kept of either end."""
        config = self._config
        ctx = ToolContext(
            working_dir=self.directory,
            access=config.access,
            network=config.network,
            output_dir=self.state,
            limits=Limits(output=2 * most, spill=0),
        )
        try:
            return await self._bash.run(request, ctx)
        except InvalidRequest as error:
            if error.field == "cwd":
                raise FileNotFoundError(str(error)) from error
            raise ValueError(str(error)) from error

    def _by_user(self, request: Request) -> Request:
        user = self._config.user
        return request if user is None else replace(request, command=_as(user, ["sh", "-c", request.command]))

    def _path(self, file: str) -> str:
        return os.path.join(self.directory, file)


def _as(user: str | None, words: list[str]) -> str:
    """The command line, run by somebody."""
    if user is not None and user not in (str(os.geteuid()), pwd.getpwuid(os.geteuid()).pw_name):
        words = ["runuser", "-u", user, "--", "sh", "-c", 'exec "$@"', "sh", *words]
    return shlex.join(words)


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return user.isdigit()
    return True


def _beginning(part: Captured, most: int) -> bytes:
    """`head` is half of what is held, and that is twice the limit."""
    return (part.head + part.tail)[:most] if not part.dropped else part.head[:most]
