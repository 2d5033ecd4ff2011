"""A message channel between two processes: whole messages in order, each with file descriptors.

Contains no knowledge of message contents, processes or event loops.
"""

from __future__ import annotations

import os
import socket
import struct
from collections import deque

from nacre.base.system import LINUX, memory_file
from nacre.keeper.protocol.messages import MalformedMessage

TYPE_CHECKING = False  # importing `typing` would add 5 ms to the keeper's start
if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGE = b"large"
_PACKET = 64 * 1024  # a SEQPACKET message fails at about 213 KB; larger ones travel as a file
_FDS = 8
_HEADER = struct.Struct("!II")


class Channel:
    """One end of a socket pair. A message is bytes and the file descriptors sent with them.

    On Linux the socket preserves message boundaries (SOCK_SEQPACKET); elsewhere each message has a length header.
    `receive` never blocks. `send` blocks only if a stream socket is full and the other side is slow.
    """

    __slots__ = ("_buffer", "_fds", "_reserved", "_waiting", "socket")

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._buffer = b""
        self._fds: list[int] = []
        self._reserved: list[int] = []
        self._waiting: deque[tuple[bytes, list[int]]] = deque()
        sock.setblocking(False)

    @classmethod
    def pair(cls) -> tuple[Channel, socket.socket]:
        """Return a channel, and the socket of the other end."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET if LINUX else socket.SOCK_STREAM)
        return cls(ours), theirs

    def fileno(self) -> int:
        return self.socket.fileno()

    def close(self) -> None:
        self.socket.close()
        for fd in (*self._fds, *self._reserved):
            os.close(fd)
        self._fds.clear()
        self._reserved.clear()

    def reserve(self, count: int) -> None:
        """Reserve descriptors for those that some later message carries: the kernel drops descriptors for which the
        receiver has no free number. OSError: not enough are free."""
        for _ in range(count):
            self._reserved.append(os.dup(self.socket.fileno()))

    def send(self, data: bytes, fds: Sequence[int] = ()) -> None:
        """Send a message. BlockingIOError: the socket is full, nothing was sent. Other OSErrors: the other side is
        gone."""
        if not LINUX:
            self._send_framed(data, fds)
        elif len(data) <= _PACKET:
            if fds:
                socket.send_fds(self.socket, [data], list(fds))
            else:
                self.socket.send(data)
        else:
            large = memory_file(data)
            try:
                socket.send_fds(self.socket, [_LARGE], [large, *fds])
            finally:
                os.close(large)

    def try_send(self, data: bytes, fds: Sequence[int] = ()) -> None:
        """Send a message, if the other side is there and receives."""
        try:
            self.send(data, fds)
        except OSError:
            pass

    def _send_framed(self, data: bytes, fds: Sequence[int]) -> None:
        header = _HEADER.pack(len(data), len(fds))
        sent = socket.send_fds(self.socket, [header], list(fds)) if fds else self.socket.send(header)
        rest = memoryview(header[sent:] + data)
        self.socket.setblocking(True)
        try:
            while rest:
                rest = rest[self.socket.send(rest) :]
        finally:
            self.socket.setblocking(False)

    def receive(self) -> tuple[bytes, list[int]] | None:
        """Return the next message, or None if there is none yet. EOFError: the other side is gone."""
        if not self._reserved:
            return self._receive_any()
        count = len(self._reserved)
        while self._reserved:
            os.close(self._reserved.pop())
        message = self._receive_any()
        if message is None or not message[1]:  # not the message that carries descriptors
            try:
                self.reserve(count)
            except OSError:
                pass  # another thread took the free descriptors
        return message

    def _receive_any(self) -> tuple[bytes, list[int]] | None:
        return self._receive_packet() if LINUX else self._receive_framed()

    def _receive_packet(self) -> tuple[bytes, list[int]] | None:
        try:
            data, fds = _receive(self.socket)
        except BlockingIOError:
            return None
        except ConnectionError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        if data == _LARGE and fds:
            data = _read_all(fds.pop(0))
        return data, fds

    def _receive_framed(self) -> tuple[bytes, list[int]] | None:
        ended = False
        while not ended:
            try:
                data, fds = _receive(self.socket)
            except BlockingIOError:
                break
            except ConnectionError:
                data, fds = b"", []
            self._fds += fds
            self._buffer += data
            ended = not data
        self._take_frames()
        if self._waiting:
            return self._waiting.popleft()
        if ended:
            raise EOFError
        return None

    def _take_frames(self) -> None:
        while len(self._buffer) >= _HEADER.size:
            length, count = _HEADER.unpack_from(self._buffer)
            end = _HEADER.size + length
            if len(self._buffer) < end:
                return
            fds, self._fds = self._fds[:count], self._fds[count:]
            self._waiting.append((self._buffer[_HEADER.size : end], fds))
            self._buffer = self._buffer[end:]


def close_all(fds: list[int]) -> None:
    """Close the descriptors and empty the list."""
    while fds:
        os.close(fds.pop())


_ROOM_FOR_FDS = socket.CMSG_SPACE(_FDS * struct.calcsize("i"))
_CLOEXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)
_FLAGS = _CLOEXEC | socket.MSG_DONTWAIT  # MSG_DONTWAIT: a thread that is sending may have made the socket blocking


def _receive(sock: socket.socket) -> tuple[bytes, list[int]]:
    """Receive one packet and its descriptors. `socket.recv_fds` ignores its flags, but MSG_CMSG_CLOEXEC is needed: a
    command must not inherit these descriptors."""
    try:
        data, ancillary, _, _ = sock.recvmsg(_PACKET, _ROOM_FOR_FDS, _FLAGS)
    except ConnectionResetError:  # the peer closed with unread data: Linux reports it once, before the data it sent
        data, ancillary, _, _ = sock.recvmsg(_PACKET, _ROOM_FOR_FDS, _FLAGS)
    fds: list[int] = []
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += [fd for (fd,) in struct.iter_unpack("i", content[: len(content) // 4 * 4])]
    if not _CLOEXEC:
        for fd in fds:
            os.set_inheritable(fd, False)
    return data, fds


def _read_all(fd: int) -> bytes:
    try:
        with open(fd, "rb") as file:
            file.seek(0)
            return file.read()
    except OSError as error:
        raise MalformedMessage("large") from error
