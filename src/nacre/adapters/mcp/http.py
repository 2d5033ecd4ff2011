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
from mcp.server.transport_security import TransportSecuritySettings

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
    port = at.getsockname()[1]
    hosts, origins = names_of(port)
    rules = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)  # ours are looked at first
    app = server_for(settings).streamable_http_app(streamable_http_path=PATH, transport_security=rules)
    config = uvicorn.Config(
        gated(app, port, token),
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="on",
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_GRACE,
    )
    await uvicorn.Server(config).serve(sockets=[at])


def names_of(port: int) -> tuple[list[str], list[str]]:
    """As which hosts we are asked for, and the origins of pages there."""
    hosts = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
    if port == 80:  # which nobody has to name
        hosts += [LOOPBACK, "localhost"]
    return hosts, [f"http://{host}" for host in hosts]


def gated(app: App, port: int, token: str) -> App:
    """The same for who may come in."""
    hosts, origins = ({name.encode() for name in names} for names in names_of(port))
    bearer = token.encode()

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
        elif not any(_opens(each, bearer) for each in said.get(b"authorization", ())):
            await _refuse(send, 401, "Needs the token that the server was started with: Authorization: Bearer …")
        else:
            await app(scope, receive, send)

    return gate


def _opens(said: bytes, token: bytes) -> bool:
    scheme, _, given = said.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(b" "), token)


async def _refuse(send: Send, status: int, why: str) -> None:
    body = json.dumps({"error": why}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
