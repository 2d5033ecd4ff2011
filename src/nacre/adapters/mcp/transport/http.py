"""A server on streamable HTTP: on loopback alone, and only for who has the token.

A page in a browser can reach loopback too: what comes under another name than ours (Host), or from a page (Origin), is
turned away before anything of it is read. Anybody on this machine can connect: connections without a token are few and
short (see `connections`).
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from uvicorn.protocols.http.h11_impl import H11Protocol

from nacre.adapters.mcp.server import server_for
from nacre.adapters.mcp.settings import ServerSettings
from nacre.adapters.mcp.surrogates import without_surrogates
from nacre.adapters.mcp.transport.accept import Acceptor
from nacre.adapters.mcp.transport.connection_limits import (
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    STATE_KEY,
    ConnectionLimits,
    Connections,
    HttpConnection,
)

LOOPBACK = "127.0.0.1"
PATH = "/mcp"
_SHUTDOWN_GRACE_S = 5
"""Seconds for open streams when the server is told to end."""
_FULL = (503, "Too many connections are open. Close some, or try again in a moment.")
_BACKLOG = 1024
_MAX_REFUSED_BODY_BYTES = 64 * 1024
"""Read before a refusal is sent: closing a connection with unread data would lose the answer on the way."""
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def listen(port: int) -> socket.socket:
    """OSError: somebody else has it. 0: any that is free."""
    made = socket.create_server((LOOPBACK, port), backlog=_BACKLOG)
    made.setblocking(False)
    return made


async def serve(settings: ServerSettings, at: socket.socket, token: str) -> None:
    port = at.getsockname()[1]
    hosts, origins = names_of(port)
    limits = ConnectionLimits.for_this_process()
    app = server_for(settings, max_running=limits.running).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),  # ours come first
    )
    config = uvicorn.Config(
        require_token(_with_whole_characters(app), port, token),
        http=H11Protocol,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        log_config=None,
        log_level="error",  # below that are remarks on each invalid request, which anybody may send
        access_log=False,
        server_header=False,
        lifespan="on",
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_SHUTDOWN_GRACE_S,
    )
    await _Server(config, at, Connections(limits)).serve(sockets=[])


class _Server(uvicorn.Server):
    """A server of uvicorn that gets its connections from our acceptor."""

    def __init__(self, config: uvicorn.Config, listener: socket.socket, connections: Connections) -> None:
        super().__init__(config)
        self._listener = listener
        self._connections = connections
        self._acceptor: Acceptor | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self._acceptor = Acceptor(self._listener, self._connections, self._make_http)
        self._acceptor.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._acceptor is not None:
            self._acceptor.stop()
        self._listener.close()
        await super().shutdown(sockets=sockets)

    def _make_http(self, connection: HttpConnection) -> asyncio.Protocol:
        return H11Protocol(
            config=self.config,
            server_state=self.server_state,
            app_state={**self.lifespan.state, STATE_KEY: connection},
        )


def names_of(port: int) -> tuple[list[str], list[str]]:
    """As which hosts we are asked for, and the origins of pages there."""
    hosts = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
    if port == 80:  # which nobody has to name
        hosts += [LOOPBACK, "localhost"]
    return hosts, [f"http://{host}" for host in hosts]


def require_token(app: App, port: int, token: str) -> App:
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
        refusal = _refusal(said, hosts, origins, bearer)
        connection: HttpConnection = scope["state"][STATE_KEY]
        if refusal is None and not connection.begin_request():
            refusal = _FULL
        if refusal is not None:
            connection.expect_header()
            await _refuse(receive, send, *refusal)
            return
        try:
            await _pass_on(app, scope, receive, send, connection)
        finally:
            connection.end_request()

    return gate


def _with_whole_characters(app: App) -> App:
    """The same, for bodies that the SDK could not read (`surrogates`). It needs the body whole, within a bound."""

    async def read(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await app(scope, receive, send)
            return
        events = [await receive()]
        size = len(events[0].get("body", b""))
        while events[-1].get("more_body") and size <= MAX_BODY_BYTES:
            events.append(await receive())
            size += len(events[-1].get("body", b""))
        if events[-1]["type"] == "http.request" and not events[-1].get("more_body"):
            body = b"".join(event.get("body", b"") for event in events)
            events = [{"type": "http.request", "body": without_surrogates(body), "more_body": False}]
        events.reverse()

        async def receive_again() -> MutableMapping[str, Any]:
            return events.pop() if events else await receive()

        await app(scope, receive_again, send)

    return read


def _refusal(
    said: dict[bytes, list[bytes]], hosts: set[bytes], origins: set[bytes], token: bytes
) -> tuple[int, str] | None:
    """A status and its reason for a request that may not come in."""
    if len(said.get(b"host", ())) != 1 or said[b"host"][0].lower() not in hosts:
        return 421, "This is not the host that was asked for."
    if not origins.issuperset(said.get(b"origin", ())):
        return 403, "Not for pages of other sites."
    if not any(_opens(each, token) for each in said.get(b"authorization", ())):
        return 401, "Needs the token that the server was started with: Authorization: Bearer …"
    if sum(len(name) + len(value) for name, values in said.items() for value in values) > MAX_HEADER_BYTES:
        return 431, f"The header is longer than {MAX_HEADER_BYTES} bytes."
    return None


async def _pass_on(app: App, scope: Scope, receive: Receive, send: Send, connection: HttpConnection) -> None:
    """Calls the app; the body has a deadline, until it is there or the answer begins."""
    timer = connection.limit_body_time()

    async def receive_in_time() -> MutableMapping[str, Any]:
        message = await receive()
        if not message.get("more_body", False):
            timer.cancel()
        return message

    async def send_and_stop_timer(message: MutableMapping[str, Any]) -> None:
        timer.cancel()
        await send(message)

    try:
        await app(scope, receive_in_time, send_and_stop_timer)
    finally:
        timer.cancel()


def _opens(said: bytes, token: bytes) -> bool:
    scheme, _, given = said.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(b" "), token)


async def _refuse(receive: Receive, send: Send, status: int, why: str) -> None:
    """Answers and closes the connection."""
    left = _MAX_REFUSED_BODY_BYTES
    while left > 0:
        message = await receive()
        left -= len(message.get("body", b""))
        if not message.get("more_body", False):
            break
    body = json.dumps({"error": why}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
