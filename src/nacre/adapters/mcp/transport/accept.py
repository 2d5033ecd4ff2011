"""Accepts connections, a few at a time, and keeps their number within limits.

asyncio's own server accepts until the process has no file descriptor left, and logs a traceback for each failure.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from collections.abc import Callable

from nacre.adapters.mcp.transport.connection_limits import Connections, HttpConnection

_MAX_ACCEPTED_PER_TURN = 4  # per iteration of the event loop, so that their requests are read in between
_MIN_AGE_S = 0.25  # time for a new connection to send its request, before it may be closed for another
_ACCEPT_RETRY_S = 0.5  # after accept() failed for lack of descriptors or memory
_REPORT_INTERVAL_S = 60.0
_SHORTAGE_ERRNOS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_log = logging.getLogger("nacre.mcp")


class Acceptor:
    """Accepts from one listening socket, which it does not own."""

    def __init__(
        self, listener: socket.socket, connections: Connections, make_http: Callable[[HttpConnection], asyncio.Protocol]
    ) -> None:
        self._listener = listener
        self._connections = connections
        self._make_http = make_http
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._opening: set[asyncio.Task[object]] = set()
        self._reported_at = -_REPORT_INTERVAL_S

    def start(self) -> None:
        """Start to accept, or resume after a pause."""
        self._timer = None
        self._loop.add_reader(self._listener, self._accept_some)

    def stop(self) -> None:
        """Stop accepting. Open connections stay."""
        self._loop.remove_reader(self._listener)
        if self._timer is not None:
            self._timer.cancel()

    def _pause(self, seconds: float) -> None:
        self._loop.remove_reader(self._listener)
        self._timer = self._loop.call_later(seconds, self.start)

    def _accept_some(self) -> None:
        for _ in range(_MAX_ACCEPTED_PER_TURN):
            if self._connections.full and not self._make_room():
                return
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _SHORTAGE_ERRNOS:
                    raise
                self._wait_for_resources(error)
                return
            self._open(connection)

    def _make_room(self) -> bool:
        """Abort the oldest connection without a token. Return False to wait if that one is too young."""
        oldest = self._connections.oldest_unauthenticated()
        if oldest is None:
            return True
        wait = oldest.since + _MIN_AGE_S - self._loop.time()
        if wait > 0:
            self._pause(wait)
            return False
        oldest.abort()
        return True

    def _wait_for_resources(self, error: OSError) -> None:
        oldest = self._connections.oldest_unauthenticated()
        if oldest is not None:
            oldest.abort()
        self._pause(_ACCEPT_RETRY_S)
        now = self._loop.time()
        if now - self._reported_at >= _REPORT_INTERVAL_S:
            self._reported_at = now
            _log.warning("cannot accept connections for now: %s", error.strerror)

    def _open(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        protocol = HttpConnection(self._connections, self._make_http)
        task: asyncio.Task[object] = self._loop.create_task(
            self._loop.connect_accepted_socket(lambda: protocol, connection)
        )
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)
