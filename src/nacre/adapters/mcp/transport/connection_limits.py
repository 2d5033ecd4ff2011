"""Limits for HTTP connections: their number, and how long each may take to send a request.

A connection counts as unauthenticated until a request on it has shown the token. Only few of these are allowed, each
has a deadline, and the oldest is closed for a new one: clients show the token at once, so idle connections cannot lock
others out. An authenticated connection may stream without a time limit.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable

from nacre.base.frozen import frozen

HEADER_TIMEOUT_S = 10.0
BODY_TIMEOUT_S = 60.0
MAX_HEADER_BYTES = 16 * 1024
MAX_BODY_BYTES = 4 * 1024 * 1024
_MAX_AUTHENTICATED = 512
_MAX_UNAUTHENTICATED = 128
_MIN_CONNECTIONS = 4
_RESERVED_FDS = 64  # for the server itself: event loop, keeper, logs, libraries
_FDS_PER_RUN = 4
STATE_KEY = "nacre.connection"
"""Key in the scope's `state` with the HttpConnection of a request."""


@frozen
class ConnectionLimits:
    """Numbers of connections and commands that together fit into the limit on open files."""

    authenticated: int
    unauthenticated: int
    running: int
    """Commands that run at once; more wait for a slot."""

    @classmethod
    def for_this_process(cls) -> ConnectionLimits:
        """Return the limits for the current soft RLIMIT_NOFILE."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return cls.for_open_files(2**20 if soft == resource.RLIM_INFINITY else soft)

    @classmethod
    def for_open_files(cls, count: int) -> ConnectionLimits:
        """Return the limits for a process that may have `count` open files."""
        unauthenticated = max(_MIN_CONNECTIONS, min(_MAX_UNAUTHENTICATED, count // 8))
        free = count - _RESERVED_FDS - unauthenticated
        authenticated = max(_MIN_CONNECTIONS, min(_MAX_AUTHENTICATED, free // 2))
        running = max(1, min(512, (free - authenticated) // _FDS_PER_RUN))
        return cls(authenticated, unauthenticated, running)


class Connections:
    """All open connections of a server, by whether they have shown the token."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._authenticated: set[HttpConnection] = set()
        self._unauthenticated: dict[HttpConnection, None] = {}  # in order of arrival

    def add(self, connection: HttpConnection) -> None:
        """Add a new connection, which is unauthenticated."""
        self._unauthenticated[connection] = None

    def remove(self, connection: HttpConnection) -> None:
        self._authenticated.discard(connection)
        self._unauthenticated.pop(connection, None)

    def authenticate(self, connection: HttpConnection) -> bool:
        """Mark a connection as authenticated. Return False if the limit on these is reached."""
        if connection in self._authenticated:
            return True
        if len(self._authenticated) >= self.limits.authenticated:
            return False
        self._unauthenticated.pop(connection, None)
        self._authenticated.add(connection)
        return True

    def oldest_unauthenticated(self) -> HttpConnection | None:
        """Return the unauthenticated connection that was accepted first; None if there is none."""
        return next(iter(self._unauthenticated), None)

    @property
    def full(self) -> bool:
        """True if a connection must be closed before another one is accepted."""
        return len(self._unauthenticated) >= self.limits.unauthenticated


class HttpConnection(asyncio.Protocol):
    """Passes everything to uvicorn's protocol, and aborts the transport if a request takes too long to arrive."""

    def __init__(self, connections: Connections, make_http: Callable[[HttpConnection], asyncio.Protocol]) -> None:
        self._connections = connections
        self._http = make_http(self)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.BaseTransport | None = None
        self._header_timer: asyncio.TimerHandle | None = None
        self._requests = 0
        self._aborted = False
        self.since = self._loop.time()
        connections.add(self)

    def abort(self) -> None:
        """Close the connection without sending buffered data, and stop counting it."""
        self._aborted = True
        self._connections.remove(self)
        if isinstance(self._transport, asyncio.Transport):
            self._transport.abort()

    def expect_header(self) -> None:
        """Start the deadline for a request's header, unless it is running."""
        if self._header_timer is None:
            self._header_timer = self._loop.call_later(HEADER_TIMEOUT_S, self.abort)

    def begin_request(self) -> bool:
        """Stop the header deadline for a request that has shown the token. Return False if too many connections
        have."""
        if not self._connections.authenticate(self):
            return False
        self._cancel_header_timer()
        self._requests += 1
        return True

    def end_request(self) -> None:
        """Undo `begin_request`, after the answer."""
        self._requests -= 1

    def limit_body_time(self) -> asyncio.TimerHandle:
        """Start the deadline for the body. The caller cancels it when the body is complete."""
        return self._loop.call_later(BODY_TIMEOUT_S, self.abort)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self.expect_header()
        self._http.connection_made(transport)
        if self._aborted:  # aborted before the transport existed
            self.abort()

    def data_received(self, data: bytes) -> None:
        if not self._requests:
            self.expect_header()
        self._http.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_header_timer()
        self._connections.remove(self)
        self._http.connection_lost(exc)

    def eof_received(self) -> bool | None:
        return self._http.eof_received()

    def pause_writing(self) -> None:
        self._http.pause_writing()

    def resume_writing(self) -> None:
        self._http.resume_writing()

    def _cancel_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None
