"""A server on streamable HTTP: on loopback alone, and only for who has the token.

A page in a browser can reach loopback too: what comes under another name than ours (Host), or from a page (Origin), is
turned away before anything of it is read.
"""

from __future__ import annotations

import hmac
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import uvicorn

from nacre.adapters.mcp.server import server_for
from nacre.adapters.mcp.settings import Settings

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
_GRACE = 5
"""Seconds for open streams when the server is told to end."""
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def listening(port: int) -> socket.socket:
    """OSError: somebody else has it. 0: any that is free."""
    made = socket.create_server((LOOPBACK, port))
    made.setblocking(False)
    return made


async def serve(settings: Settings, at: socket.socket, token: str) -> None:
    app = gated(server_for(settings).streamable_http_app(streamable_http_path=PATH), at.getsockname()[1], token)
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, lifespan="on", timeout_graceful_shutdown=_GRACE
    )
    await uvicorn.Server(config).serve(sockets=[at])


def gated(app: App, port: int, token: str) -> App:
    """The same for who may come in."""
    hosts = {f"{name}:{port}".encode() for name in (LOOPBACK, "localhost")}
    origins = {b"http://" + host for host in hosts}
    bearer = f"Bearer {token}".encode()

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # nobody takes it
        said: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            said.setdefault(name.lower(), []).append(value)
        if len(said.get(b"host", ())) != 1 or said[b"host"][0].lower() not in hosts:
            await _refuse(send, 421, "This is not the host that was asked for.")
        elif not origins.issuperset(said.get(b"origin", ())):
            await _refuse(send, 403, "Not for pages of other sites.")
        elif not any(hmac.compare_digest(each, bearer) for each in said.get(b"authorization", ())):
            await _refuse(send, 401, "Needs the token that the server was started with: Authorization: Bearer …")
        else:
            await app(scope, receive, send)

    return gate


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
