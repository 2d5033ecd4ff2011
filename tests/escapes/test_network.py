"""Attempts to reach the test's listeners, on all kinds of sockets: they must receive nothing."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nacre import Limits
from nacre.result import Exited
from tests.escapes.inside import needs_landlock, python, run_restricted, run_unrestricted
from tests.support.quoting import quote
from tests.support.waiting import HANG_TIMEOUT_S

pytestmark = [pytest.mark.linux, pytest.mark.req("P-008"), needs_landlock]


class Listener:
    """A listener for datagrams or connections."""

    def __init__(self, family: int, kind: int, address: object) -> None:
        self._socket = socket.socket(family, kind)
        self._socket.bind(address)  # type: ignore[arg-type] # depends on the family
        self._socket.setblocking(False)
        self._listens = kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET)
        if self._listens:
            self._socket.listen()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    @property
    def heard(self) -> bool:
        try:
            if not self._listens:
                return bool(self._socket.recv(100))
            self._socket.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listeners(tmp_path: Path) -> Iterator[dict[str, Listener]]:
    directory = os.open(tmp_path, os.O_PATH)
    path = f"/proc/self/fd/{directory}/s"  # the path itself may be too long for a socket address
    unix, hidden = socket.AF_UNIX, f"\0nacre-test-{os.getpid()}"
    found = {
        "tcp": Listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": Listener(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "stream": Listener(unix, socket.SOCK_STREAM, f"{path}.stream"),
        "packets": Listener(unix, socket.SOCK_SEQPACKET, f"{path}.packets"),
        "datagram": Listener(unix, socket.SOCK_DGRAM, f"{path}.datagram"),
        "abstract": Listener(unix, socket.SOCK_STREAM, hidden),
        "abstract-datagram": Listener(unix, socket.SOCK_DGRAM, f"{hidden}-datagram"),
    }
    if socket.has_ipv6:
        try:
            found["tcp6"] = Listener(socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0))
            found["udp6"] = Listener(socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0))
        except OSError:
            pass  # the machine does not have it
    os.close(directory)
    yield found
    for listener in found.values():
        listener.close()


def by_python(text: str) -> str:
    return python(
        "from socket import *\nimport socket\npath, hidden, tcp, udp, tcp6, udp6 = sys.argv[1:7]\n"
        "hidden = '\\0' + hidden\n" + text,
        *"{path} {hidden} {tcp} {udp} {tcp6} {udp6}".split(),
    )


ATTEMPTS = {
    "dev-tcp": ("tcp", "exec 5<>/dev/tcp/127.0.0.1/{tcp} && echo x >&5"),
    "dev-tcp-by-name": ("tcp", "exec 5<>/dev/tcp/localhost/{tcp} && echo x >&5"),
    "dev-udp": ("udp", "echo x >/dev/udp/127.0.0.1/{udp}"),
    "curl": ("tcp", "curl -sS -m 0.3 http://127.0.0.1:{tcp}/; (($? != 7))"),
    "curl-unix": ("stream", "curl -sS -m 0.3 --unix-socket {path}.stream http://x/; (($? != 7))"),
    "perl": (
        "tcp",
        (
            "perl -e 'use Socket; socket(S, PF_INET, SOCK_STREAM, 0) && "
            "connect(S, sockaddr_in({tcp}, inet_aton(q(127.0.0.1)))) || die $!'"
        ),
    ),
    "tcp": ("tcp", by_python("create_connection(('127.0.0.1', int(tcp)))")),
    "tcp6": ("tcp6", by_python("create_connection(('::1', int(tcp6)))")),
    "udp": ("udp", by_python("socket.socket(AF_INET, SOCK_DGRAM).sendto(b'x', ('127.0.0.1', int(udp)))")),
    "udp6": ("udp6", by_python("socket.socket(AF_INET6, SOCK_DGRAM).sendto(b'x', ('::1', int(udp6)))")),
    "fast-open": (
        "tcp",
        by_python("socket.socket(AF_INET, SOCK_STREAM).sendto(b'x', 0x20000000, ('127.0.0.1', int(tcp)))"),
    ),
    "multipath": ("tcp", by_python("socket.socket(AF_INET, SOCK_STREAM, 262).connect(('127.0.0.1', int(tcp)))")),
    "unix-stream": ("stream", by_python("socket.socket(AF_UNIX).connect(path + '.stream')")),
    "unix-packets": ("packets", by_python("socket.socket(AF_UNIX, SOCK_SEQPACKET).connect(path + '.packets')")),
    "unix-datagram": ("datagram", by_python("socket.socket(AF_UNIX, SOCK_DGRAM).sendto(b'x', path + '.datagram')")),
    "abstract": ("abstract", by_python("socket.socket(AF_UNIX).connect(hidden)")),
    "abstract-datagram": (
        "abstract-datagram",
        by_python("socket.socket(AF_UNIX, SOCK_DGRAM).sendto(b'x', hidden + '-datagram')"),
    ),
    "one-of-a-pair": ("datagram", by_python("socketpair(AF_UNIX, SOCK_DGRAM)[0].sendto(b'x', path + '.datagram')")),
    "one-of-a-pair-connected": (
        "datagram",
        by_python("a = socketpair(AF_UNIX, SOCK_DGRAM)[0]; a.connect(path + '.datagram'); a.send(b'x')"),
    ),
    "one-of-a-raw-pair": ("datagram", by_python("socketpair(AF_UNIX, SOCK_RAW)[0].sendto(b'x', path + '.datagram')")),
    "one-of-an-abstract-pair": (
        "abstract-datagram",
        by_python("socketpair(AF_UNIX, SOCK_DGRAM)[0].sendto(b'x', hidden + '-datagram')"),
    ),
}


@pytest.mark.parametrize(("listener", "attempt"), ATTEMPTS.values(), ids=ATTEMPTS)
async def test_restricted_command_reaches_no_listener(
    listeners: dict[str, Listener], tmp_path: Path, listener: str, attempt: str
) -> None:
    if listener not in listeners:
        pytest.skip(f"no {listener} on this machine")
    program = attempt.split()[0]
    if program in ("curl", "perl") and shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    ports = {name: listeners[name].port if name in listeners else 0 for name in ("tcp", "udp", "tcp6", "udp6")}
    command = attempt.replace("{path}", "s").replace("{hidden}", f"nacre-test-{os.getpid()}")
    for name, port in ports.items():
        command = command.replace("{" + name + "}", str(port))
    result = await run_restricted(command, tmp_path, timeout=HANG_TIMEOUT_S)
    assert isinstance(result.outcome, Exited), result.output
    assert result.outcome.code != 0
    assert [name for name, each in listeners.items() if each.heard] == []
    proof = await run_unrestricted(command, tmp_path)
    if not listeners[listener].heard:
        pytest.skip(f"fails for another reason as well: {proof.output.strip()[-200:]}")


FAMILIES = ("INET", "INET6", "UNIX", "NETLINK", "PACKET", "VSOCK", "ALG", "BLUETOOTH", "RDS", "TIPC", "CAN", "QIPCRTR")
KINDS = ("STREAM", "DGRAM", "RAW", "SEQPACKET")


async def test_no_socket_of_any_family_can_be_created() -> None:
    result = await run_restricted(
        python(f"""
        import socket
        for family in {FAMILIES}:
            number = getattr(socket, "AF_" + family, None)
            if number is not None:
                print(family, *(said(socket.socket, number, getattr(socket, "SOCK_" + kind)) for kind in {KINDS}))
        print("any", {{said(socket.socket, number, 1) for number in range(64)}})
        print("pairs", {{said(socket.socketpair, number, 1) for number in range(64) if number != 1}})
        """)
    )
    lines = result.stdout.splitlines()
    assert lines[-2:] == ["any {'EPERM'}", "pairs {'EPERM'}"], result.output
    assert {word for line in lines[:-2] for word in line.split()[1:]} == {"EPERM"}


async def test_socketpair_carries_bytes_but_no_fds() -> None:
    program = """
        import array, asyncio, socket
        for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
            for flags in (0, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK):
                a, b = socket.socketpair(socket.AF_UNIX, kind | flags)
                a.sendall(b"through")
                print(b.recv(100).decode())
        try:
            socket.send_fds(a, [b"x"], [0])
        except PermissionError:  # files on their way to another process would belong to none, and not be counted
            print("denied")
        async def main():
            process = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
            print((await process.communicate(b"asyncio too"))[0].decode())
        asyncio.run(main())
    """
    result = await run_restricted(python(program))
    assert result.output == "through\n" * 4 + "denied\nasyncio too\n"


async def test_socketpair_cannot_be_reconnected_to_a_listener(listeners: dict[str, Listener], tmp_path: Path) -> None:
    program = """
        import socket
        for kind, name in ((socket.SOCK_STREAM, ".stream"), (socket.SOCK_SEQPACKET, ".packets")):
            a, b = socket.socketpair(socket.AF_UNIX, kind)
            print(said(a.connect, sys.argv[1] + name) != "done", end=" ")
            b.close()
            print(said(a.connect, sys.argv[1] + name) != "done", end=" ")
            print(said(a.sendto, b"x", sys.argv[1] + ".datagram") != "done")
    """
    result = await run_restricted(python(program, tmp_path / "s"))
    assert result.output == "True True True\n" * 2
    assert [name for name, each in listeners.items() if each.heard] == []


async def test_io_uring_cannot_be_set_up() -> None:
    program = "print(*(said(call, n, n, 8, ctypes.create_string_buffer(256), 0, 0, 0, 0) for n in (425, 426, 427)))"
    assert (await run_restricted(python(program))).output == "EPERM EPERM EPERM\n"


@pytest.mark.skipif(shutil.which("ping") is None, reason="needs ping")
async def test_ping_fails_in_restricted_mode() -> None:
    result = await run_restricted("ping -c 1 -W 10 127.0.0.1", timeout=HANG_TIMEOUT_S)
    assert isinstance(result.outcome, Exited)
    assert result.outcome.code != 0


async def test_host_name_lookup_fails_in_restricted_mode() -> None:
    program = "import socket; socket.getaddrinfo('nacre.invalid', 80)"
    result = await run_restricted(python(program), timeout=HANG_TIMEOUT_S)
    assert result.outcome == Exited(1)


async def test_spill_file_of_an_earlier_run_is_readable_but_not_writable(tmp_path: Path) -> None:
    first = await run_restricted("seq 100000", limits=Limits(output=1000))
    assert first.spill is not None
    path = quote(first.spill.path)
    second = await run_restricted(f"wc -l <{path}; tail -n 1 {path}; echo x >>{path}")
    assert second.stdout == "100000\n100000\n"
    assert second.outcome == Exited(1)
