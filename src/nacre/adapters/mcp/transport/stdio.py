"""A server on the wire of this process, until the client is gone. Commands that it waits for are ended then."""

from __future__ import annotations

from typing import Any, cast

from mcp.server.stdio import stdio_server

from nacre.adapters.mcp.server import server_for
from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.transport.private_stdio import PrivateStdio, StdinLines, StdoutWriter


async def serve(settings: ServerSettings, wire: PrivateStdio) -> None:
    server = server_for(settings)
    try:
        async with stdio_server(cast("Any", StdinLines(wire.reads)), cast("Any", StdoutWriter(wire.writes))) as (
            reads,
            writes,
        ):
            await server.run(reads, writes, server.create_initialization_options())
    except* ConnectionError:  # a broken pipe is one
        pass  # the client is gone, which is how it says goodbye
