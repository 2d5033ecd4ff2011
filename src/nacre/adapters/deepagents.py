"""deepagents: a sandbox backend. Its file tools run as commands, so the same sandbox applies to them.

    agent = create_deep_agent(model, backend=NacreBackend(ctx=ToolContext(working_dir=".", access="workspace")))

A refused command exits with 126, and its output says why. Writing, editing or deleting a file with the file tools is
checked like a command that does it. The scripts with which deepagents implements these tools are not checked: no model
wrote them.
"""

from __future__ import annotations

import os
from copy import copy

from nacre.adapters.shared.files import check, read_request, touch_request, write_request
from nacre.adapters.shared.output_limit import run_bounded
from nacre.adapters.shared.streams import read_streams
from nacre.adapters.shared.toolbox import missing_extra, with_caller
from nacre.base.frozen import replace
from nacre.base.threads import block_on
from nacre.bash import Bash
from nacre.errors import InvalidRequest
from nacre.policy.policy import EVERYTHING
from nacre.result import Refused, Result
from nacre.types import MIB, Request, ToolContext

try:
    from deepagents.backends.protocol import (
        EditResult,
        ExecuteResponse,
        FileDownloadResponse,
        FileUploadResponse,
        GlobResult,
        GrepResult,
        LsResult,
        ReadResult,
        WriteResult,
    )
    from deepagents.backends.sandbox import BaseSandbox
except ImportError as error:
    raise missing_extra("deepagents", error) from error

MAX_DOWNLOAD_BYTES = 64 * MIB
"""Maximum size of a file that can be downloaded."""
_COMPLAINT_BYTES = 64 * 1024
"""Enough for an error message."""


class _Sandbox(BaseSandbox):
    """The operations on which deepagents builds the others with its own scripts."""

    def __init__(self, bash: Bash, ctx: ToolContext, id: str) -> None:
        self._bash = bash
        self._ctx = ctx
        self._id = id

    @property
    def id(self) -> str:
        return self._id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return block_on(self.aexecute(command, timeout=timeout))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        """Run a command. `timeout=0`: the longest that the profile allows."""
        limit = float("inf") if timeout == 0 else timeout
        try:
            result = await self._bash.run(Request(command, timeout=limit, merge=True), self._ctx)
        except InvalidRequest as error:
            return ExecuteResponse(output=f"Error ({error.code}): {error}", exit_code=125)
        said = read_streams(result)
        return ExecuteResponse(
            output=said.stdout + said.stderr, exit_code=said.code, truncated=result.dropped_bytes > 0
        )

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return block_on(self.aupload_files(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=await self._write(path, data)) for path, data in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return block_on(self.adownload_files(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [await self._read(path) for path in paths]

    async def _write(self, path: str, data: bytes) -> str | None:
        try:
            check(await self._run(write_request(_absolute(path), data), _COMPLAINT_BYTES), path)
        except (OSError, InvalidRequest) as error:
            return _code(error)
        return None

    async def _read(self, path: str) -> FileDownloadResponse:
        try:
            result = await self._run(read_request(_absolute(path)), MAX_DOWNLOAD_BYTES)
            if result.out.total_bytes > MAX_DOWNLOAD_BYTES:
                return FileDownloadResponse(path=path, error=f"the file is larger than {MAX_DOWNLOAD_BYTES // MIB} MB")
            check(result, path)
        except (OSError, InvalidRequest) as error:
            return FileDownloadResponse(path=path, error=_code(error))
        return FileDownloadResponse(path=path, content=result.out.head + result.out.tail)

    async def _run(self, request: Request, most: int) -> Result:
        return await run_bounded(self._bash, request, self._ctx, most)


class NacreBackend(_Sandbox):
    """A deepagents backend that runs commands with nacre. Raises AccessUnavailable if the access of `ctx` cannot be
    enforced on this machine."""

    def __init__(self, bash: Bash | None = None, ctx: ToolContext | None = None) -> None:
        bash, ctx = bash or Bash(), with_caller("deepagents", ctx)
        bash.constraints(ctx)  # raises now if the access cannot be enforced here
        super().__init__(bash, ctx, f"nacre-{os.urandom(4).hex()}")
        unchecked = copy(bash)
        unchecked.profile = replace(bash.profile, policy=EVERYTHING)
        self._scripts = _Sandbox(unchecked, ctx, self.id)
        self._scripts.grep_exclude_dirs = self.grep_exclude_dirs

    def ls(self, path: str) -> LsResult:
        return self._scripts.ls(path)

    async def als(self, path: str) -> LsResult:
        return await self._scripts.als(path)

    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return self._scripts.read(file_path, offset, limit)

    async def aread(self, file_path: str, offset: int = 0, limit: int = 2000) -> ReadResult:
        return await self._scripts.aread(file_path, offset, limit)

    def grep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        return self._scripts.grep(pattern, path, glob, max_count=max_count)

    async def agrep(
        self, pattern: str, path: str | None = None, glob: str | None = None, *, max_count: int | None = None
    ) -> GrepResult:
        return await self._scripts.agrep(pattern, path, glob, max_count=max_count)

    def glob(self, pattern: str, path: str | None = None) -> GlobResult:
        return self._scripts.glob(pattern, path)

    async def aglob(self, pattern: str, path: str | None = None) -> GlobResult:
        return await self._scripts.aglob(pattern, path)

    def write(self, file_path: str, content: str) -> WriteResult:
        return block_on(self.awrite(file_path, content))

    async def awrite(self, file_path: str, content: str) -> WriteResult:
        refusal = await self._refusal(file_path)
        return await self._scripts.awrite(file_path, content) if refusal is None else WriteResult(error=refusal)

    def edit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        return block_on(self.aedit(file_path, old_string, new_string, replace_all))

    async def aedit(self, file_path: str, old_string: str, new_string: str, replace_all: bool = False) -> EditResult:
        refusal = await self._refusal(file_path)
        if refusal is not None:
            return EditResult(error=refusal)
        return await self._scripts.aedit(file_path, old_string, new_string, replace_all)

    async def _refusal(self, path: str) -> str | None:
        """Return the reason if a command that writes this file would be refused; else None."""
        try:
            result = await self._run(touch_request(path), _COMPLAINT_BYTES)
        except InvalidRequest as error:
            return f"Error ({error.code}): {error}"
        return read_streams(result).stderr.strip() if isinstance(result.outcome, Refused) else None


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise InvalidRequest(
            "bad_path", f"{path!r} is not an absolute path.", field="path", hint="Start it with a slash."
        )
    return path


def _code(error: OSError | InvalidRequest) -> str:
    """Return the error code of the deepagents protocol; the message if it has none."""
    match error:
        case FileNotFoundError():
            return "file_not_found"
        case IsADirectoryError():
            return "is_directory"
        case PermissionError(strerror=str(said)) if said.startswith("["):
            return said  # refused, with the reason
        case PermissionError():
            return "permission_denied"
        case InvalidRequest() | NotADirectoryError():
            return "invalid_path"
        case _:
            return str(error)
