"""Serves streamable HTTP: on loopback only, and only to clients with the token.

Pages in a browser can reach loopback as well: requests for another host name (Host), or from a page (Origin), are
refused before their body is processed. Any local user can connect, so connections without a token are limited in number
and time (see `connection_limits`).
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
"""Seconds that open streams may take to finish after the server is told to stop."""
_FULL = (503, "Too many connections are open. Close some, or try again in a moment.")
_BACKLOG = 1024
_MAX_REFUSED_BODY_BYTES = 64 * 1024
"""Limit on the body that is read before a refusal: closing a connection with unread data would lose the answer."""
Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


def listen(port: int) -> socket.socket:
    """Listen on a TCP port of the loopback address; 0: any free port. Raises OSError if the port is in use."""
    made = socket.create_server((LOOPBACK, port), backlog=_BACKLOG)
    made.setblocking(False)
    return made


async def serve(settings: ServerSettings, at: socket.socket, token: str) -> None:
    """Serve on a listening socket until the process is told to stop. Every request must show `token`."""
    port = at.getsockname()[1]
    hosts, origins = names_of(port)
    limits = ConnectionLimits.for_this_process()
    app = server_for(settings, max_running=limits.running).streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=MAX_BODY_BYTES,
        # `require_token` checks the same before
        transport_security=TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins),
    )
    config = uvicorn.Config(
        require_token(_with_whole_characters(app), port, token),
        http=H11Protocol,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        log_config=None,
        log_level="error",  # lower levels log each invalid request, which any local process can send
        access_log=False,
        server_header=False,
        lifespan="on",
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=_SHUTDOWN_GRACE_S,
    )
    await _Server(config, at, Connections(limits)).serve(sockets=[])


class _Server(uvicorn.Server):
    """A uvicorn server that gets its connections from our Acceptor."""

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
    """Return the values of Host and Origin that requests to this port may have."""
    hosts = [f"{name}:{port}" for name in (LOOPBACK, "localhost")]
    if port == 80:  # the default port, which clients leave out
        hosts += [LOOPBACK, "localhost"]
    return hosts, [f"http://{host}" for host in hosts]


def require_token(app: App, port: int, token: str) -> App:
    """Wrap an app so that it gets only requests with the token, for our host names, from no foreign page, and within
    the connection limits."""
    hosts, origins = ({name.encode() for name in names} for names in names_of(port))
    bearer = token.encode()

    async def gate(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # WebSockets are not served
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
    """Wrap an app so that lone surrogates in bodies are replaced, see `surrogates`. Reads the whole body, up to its
    limit."""

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
    """Return status and reason if a request must be refused, else None."""
    if len(said.get(b"host", ())) != 1 or said[b"host"][0].lower() not in hosts:
        return 421, "Wrong `Host` header."
    if not origins.issuperset(said.get(b"origin", ())):
        return 403, "Requests from web pages of other sites are refused."
    if not any(_opens(each, token) for each in said.get(b"authorization", ())):
        return 401, "The server's token is required: Authorization: Bearer …"
    if sum(len(name) + len(value) for name, values in said.items() for value in values) > MAX_HEADER_BYTES:
        return 431, f"The header is longer than {MAX_HEADER_BYTES} bytes."
    return None


async def _pass_on(app: App, scope: Scope, receive: Receive, send: Send, connection: HttpConnection) -> None:
    """Call the app with a deadline for the body, which is lifted when the body is complete or the answer starts."""
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
    """Return whether an Authorization header has the token. Compares in constant time."""
    scheme, _, given = said.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(given.strip(b" "), token)


async def _refuse(receive: Receive, send: Send, status: int, why: str) -> None:
    """Send the refusal and close the connection."""
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
