"""deepagents: a sandbox backend. Its file tools are commands too, so that what confines those confines them.

    agent = create_deep_agent(model, backend=NacreBackend(ctx=ToolContext(working_dir=".", access="workspace")))

A refused command exits with 126, and its output says why.
"""

from __future__ import annotations

import os
from typing import Any

from nacre.adapters.extras import missing
from nacre.adapters.files import check, reading, writing
from nacre.adapters.streams import streams
from nacre.blocking import blocking
from nacre.errors import InvalidRequest
from nacre.frozen import replace
from nacre.result import Result
from nacre.tool import Bash
from nacre.types import MIB, Request, ToolContext

try:
    from deepagents.backends.protocol import ExecuteResponse, FileDownloadResponse, FileUploadResponse
    from deepagents.backends.sandbox import BaseSandbox
except ImportError as error:
    raise missing("deepagents", error) from error

_LARGEST = 64 * MIB
"""Bytes of a file that can be downloaded."""


class NacreBackend(BaseSandbox):
    def __init__(self, bash: Bash | None = None, ctx: ToolContext | None = None) -> None:
        self._bash = bash or Bash()
        self._ctx = ctx or ToolContext()
        self._id = f"nacre-{os.urandom(4).hex()}"

    @property
    def id(self) -> str:
        return self._id

    def execute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        return blocking(self.aexecute(command, timeout=timeout))

    async def aexecute(self, command: str, *, timeout: int | None = None) -> ExecuteResponse:
        try:
            result = await self._bash.run(Request(command, timeout=timeout or None, merge=True), self._ctx)
        except InvalidRequest as error:
            return ExecuteResponse(output=f"Error ({error.code}): {error}", exit_code=125)
        said = streams(result)
        return ExecuteResponse(output=said.stdout + said.stderr, exit_code=said.code, truncated=result.dropped > 0)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return blocking(self.aupload_files(files))

    async def aupload_files(self, files: list[tuple[str, bytes]]) -> list[FileUploadResponse]:
        return [FileUploadResponse(path=path, error=await self._write(path, data)) for path, data in files]

    def download_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return blocking(self.adownload_files(paths))

    async def adownload_files(self, paths: list[str]) -> list[FileDownloadResponse]:
        return [await self._read(path) for path in paths]

    async def _write(self, path: str, data: bytes) -> Any:
        try:
            check(await self._run(writing(path, data)), path)
        except OSError as error:
            return _code(error)
        return None

    async def _read(self, path: str) -> FileDownloadResponse:
        try:
            result = await self._run(reading(path))
            check(result, path)
        except OSError as error:
            return FileDownloadResponse(path=path, error=_code(error))
        return FileDownloadResponse(path=path, content=result.out.head + result.out.tail)

    async def _run(self, request: Request) -> Result:
        limits = replace(self._ctx.limits, output=_LARGEST, spill=0)
        return await self._bash.run(request, replace(self._ctx, limits=limits))


def _code(error: OSError) -> Any:
    """In the words of its protocol."""
    match error:
        case FileNotFoundError():
            return "file_not_found"
        case IsADirectoryError():
            return "is_directory"
        case _:
            return "permission_denied"
