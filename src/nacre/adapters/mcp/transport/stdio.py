"""Runs a server on this process's standard streams until the client disconnects. Foreground commands are then
killed."""

from __future__ import annotations

from typing import Any, cast

from mcp.server.stdio import stdio_server

from nacre.adapters.mcp.server import server_for
from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.transport.private_stdio import PrivateStdio, StdinLines, StdoutWriter


async def serve(settings: ServerSettings, wire: PrivateStdio) -> None:
    """Serve one client until it disconnects."""
    server = server_for(settings)
    try:
        async with stdio_server(cast("Any", StdinLines(wire.reads)), cast("Any", StdoutWriter(wire.writes))) as (
            reads,
            writes,
        ):
            await server.run(reads, writes, server.create_initialization_options())
    except* ConnectionError:  # includes BrokenPipeError
        pass  # the client has disconnected, which is how stdio sessions end
