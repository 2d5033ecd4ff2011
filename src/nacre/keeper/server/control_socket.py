"""The socket in a task's directory, where anybody who may open it can watch the task, or have it ended.

Lines of text: `watch N` is answered by `at M` as soon as more than N bytes were printed, or by `end`, when the status
is written; `kill SIGNAL SECONDS` and `eof` by `ok`. Nobody who asks can keep the keeper waiting.
"""

from __future__ import annotations

import os
import socket
import struct

from nacre.keeper.protocol.task_dir import CONTROL
from nacre.keeper.protocol.task_log import Log
from nacre.keeper.server.event_loop import Loop

TYPE_CHECKING = False  # see wire.py
if TYPE_CHECKING:
    from typing import Protocol

    class Orders(Protocol):
        """What can be asked for."""

        def kill(self, number: int, grace: float, who: str) -> None: ...
        def close_input(self) -> None: ...


_GUESTS = 1024
_LINE = 256
_SIGNALS = 65
_LONGEST = 3600.0


class Control:
    __slots__ = ("_folder", "_guests", "_listening", "_log", "_loop", "_orders", "_waiting")

    def __init__(self, folder: int, loop: Loop, log: Log, orders: Orders) -> None:
        self._folder = folder
        self._loop = loop
        self._log = log
        self._orders = orders
        self._guests: dict[socket.socket, bytes] = {}
        """What each has said of a line so far."""
        self._waiting: dict[socket.socket, int] = {}
        """Who waits for more than so many bytes."""
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.setblocking(False)
        mask = os.umask(0o177)
        os.fchdir(folder)  # a path to it may be longer than the address of a socket can be
        try:
            self._listening.bind(CONTROL)
            self._listening.listen(_GUESTS)
        except OSError:
            self._listening.close()
            raise
        finally:
            os.chdir("/")
            os.umask(mask)
        loop.watch(self._listening, self._welcome)

    def grown(self) -> None:
        """More was printed."""
        if self._waiting:
            seen = self._log.seen
            for guest in [guest for guest, count in self._waiting.items() if seen > count]:
                del self._waiting[guest]
                self._say(guest, b"at %d\n" % seen)

    def close(self) -> None:
        """The status is written."""
        try:
            os.unlink(CONTROL, dir_fd=self._folder)
        except OSError:
            pass  # somebody else has
        self._loop.forget(self._listening)
        self._listening.close()
        for guest in list(self._waiting):
            self._say(guest, b"end\n")
        for guest in list(self._guests):
            self._dismiss(guest)

    def _welcome(self) -> None:
        try:
            guest, _ = self._listening.accept()
        except OSError:
            return  # gone again, or no descriptor left for it
        guest.setblocking(False)
        if len(self._guests) >= _GUESTS:
            idle = next((each for each in self._guests if each not in self._waiting), None)
            if idle is None:
                guest.close()
                return
            self._dismiss(idle)  # he has had his time
        self._guests[guest] = b""
        self._loop.watch(guest, lambda: self._hear(guest))

    def _dismiss(self, guest: socket.socket) -> None:
        self._loop.forget(guest)
        self._waiting.pop(guest, None)
        if self._guests.pop(guest, None) is not None:
            guest.close()

    def _hear(self, guest: socket.socket) -> None:
        try:
            data = guest.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, rest = (self._guests[guest] + data).split(b"\n")
        self._guests[guest] = rest
        if not data or len(rest) > _LINE:
            self._dismiss(guest)
        for line in lines:
            if guest in self._guests:
                self._obey(guest, line.split())

    def _obey(self, guest: socket.socket, words: list[bytes]) -> None:
        try:
            match words:
                case [b"watch", count]:
                    self._waiting[guest] = int(count)
                    self.grown()
                    return
                case [b"kill", number, grace] if 0 < int(number) < _SIGNALS and 0 <= float(grace) <= _LONGEST:
                    who = who_is(guest)  # who may be gone when he is answered; he has asked all the same
                    self._say(guest, b"ok\n")
                    self._orders.kill(int(number), float(grace), who)
                    return
                case [b"eof"]:
                    self._say(guest, b"ok\n")
                    self._orders.close_input()
                    return
        except ValueError:
            pass
        self._say(guest, b"what\n")

    def _say(self, guest: socket.socket, line: bytes) -> None:
        try:
            guest.send(line)
        except OSError:
            self._dismiss(guest)  # it does not listen


def who_is(guest: socket.socket) -> str:
    """In a few words."""
    try:
        pid, uid, _ = struct.unpack("3i", guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    except (AttributeError, OSError):
        return "another process"
    return f"process {pid} of user {uid}"
