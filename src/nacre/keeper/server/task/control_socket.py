"""The control socket in a task's directory: any process that may open it can watch or kill the task.

Lines of text: `watch N` is answered by `at M` once more than N bytes were printed, or by `end` when the status is
written; `kill SIGNAL SECONDS` and `eof` are answered by `ok`. No client can make the keeper wait.
"""

from __future__ import annotations

import os
import socket
import struct

from nacre.keeper.protocol.task_dir import CONTROL
from nacre.keeper.protocol.task_log import TaskLog
from nacre.keeper.server.event_loop import EventLoop

TYPE_CHECKING = False  # see messages.py
if TYPE_CHECKING:
    from typing import Protocol

    class TaskCommands(Protocol):
        """Commands for the task."""

        def kill(self, number: int, grace: float, who: str) -> None: ...
        def close_input(self) -> None: ...


_MAX_CLIENTS = 1024
_MAX_LINE_BYTES = 256
_SIGNAL_COUNT = 65
_MAX_GRACE_S = 3600.0


class ControlSocket:
    """The listening socket of a task and its clients."""

    __slots__ = ("_clients", "_commands", "_listening", "_log", "_loop", "_task_dir", "_waiting")

    def __init__(self, folder: int, loop: EventLoop, log: TaskLog, commands: TaskCommands) -> None:
        self._task_dir = folder
        self._loop = loop
        self._log = log
        self._commands = commands
        self._clients: dict[socket.socket, bytes] = {}
        """Incomplete line that each client has sent."""
        self._waiting: dict[socket.socket, int] = {}
        """Clients that wait until more than this number of bytes was printed."""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.setblocking(False)
        mask = os.umask(0o177)
        os.fchdir(folder)  # bind to a relative name: the path may be longer than a socket address can be
        try:
            self._listening.bind(CONTROL)
            self._listening.listen(_MAX_CLIENTS)
        except OSError:
            self._listening.close()
            raise
        finally:
            os.chdir("/")
            os.umask(mask)
        loop.watch(self._listening, self._accept)

    def notify_output(self) -> None:
        """Tell waiting clients that more was printed."""
        if self._waiting:
            seen = self._log.total_bytes
            for client in [client for client, count in self._waiting.items() if seen > count]:
                del self._waiting[client]
                self._reply(client, b"at %d\n" % seen)

    def close(self) -> None:
        """Tell waiting clients that the status is written, and close all connections."""
        try:
            os.unlink(CONTROL, dir_fd=self._task_dir)
        except OSError:
            pass  # removed by another process
        self._loop.forget(self._listening)
        self._listening.close()
        for client in list(self._waiting):
            self._reply(client, b"end\n")
        for client in list(self._clients):
            self._disconnect(client)

    def _accept(self) -> None:
        try:
            client, _ = self._listening.accept()
        except OSError:
            return  # the client is gone, or no descriptor is free
        client.setblocking(False)
        if len(self._clients) >= _MAX_CLIENTS:
            idle = next((each for each in self._clients if each not in self._waiting), None)
            if idle is None:
                client.close()
                return
            self._disconnect(idle)  # the oldest idle client makes room
        self._clients[client] = b""
        self._loop.watch(client, lambda: self._on_readable(client))

    def _disconnect(self, client: socket.socket) -> None:
        self._loop.forget(client)
        self._waiting.pop(client, None)
        if self._clients.pop(client, None) is not None:
            client.close()

    def _on_readable(self, client: socket.socket) -> None:
        try:
            data = client.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, rest = (self._clients[client] + data).split(b"\n")
        self._clients[client] = rest
        if not data or len(rest) > _MAX_LINE_BYTES:
            self._disconnect(client)
        for line in lines:
            if client in self._clients:
                self._handle(client, line.split())

    def _handle(self, client: socket.socket, words: list[bytes]) -> None:
        try:
            match words:
                case [b"watch", count]:
                    self._waiting[client] = int(count)
                    self.notify_output()
                    return
                case [b"kill", number, grace] if 0 < int(number) < _SIGNAL_COUNT and 0 <= float(grace) <= _MAX_GRACE_S:
                    who = describe_peer(client)  # before the reply, which closes the socket if the client is gone
                    self._reply(client, b"ok\n")
                    self._commands.kill(int(number), float(grace), who)
                    return
                case [b"eof"]:
                    self._reply(client, b"ok\n")
                    self._commands.close_input()
                    return
        except ValueError:
            pass
        self._reply(client, b"what\n")

    def _reply(self, client: socket.socket, line: bytes) -> None:
        try:
            client.send(line)
        except OSError:
            self._disconnect(client)  # it does not read


def describe_peer(client: socket.socket) -> str:
    """Describe a client for people."""
    try:
        pid, uid, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except (AttributeError, OSError):
        return "another process"
    return f"process {pid} of user {uid}"
