"""Connections to `nacre mcp --http` without a token: they must not harm clients that have one."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp_types", reason="needs the MCP SDK: make test-mcp")

from nacre.adapters.mcp.transport.connection_limits import ConnectionLimits
from tests.adapters.mcp.clients import PYTHON, client_at, environment, text_of
from tests.support.census import fds
from tests.support.descriptors import few_descriptors
from tests.support.lifeline import Gate
from tests.support.waiting import HANG_TIMEOUT_S, until, until_steady, wait_until

pytestmark = [pytest.mark.mcp, pytest.mark.linux]

TOKEN = "a-token-of-the-test-4712"
MODE = "2026-07-28"
HALF_OPEN = 1500
PER_PROCESS = 150  # descriptors of one attacking process, whatever limit the tests run with
MAX_LOG_BYTES = 4096
SERVER = """
import sys
from nacre.cli import main
{changes}
sys.exit(main())
"""
ATTACKER = """
import socket, sys
host, port, count, text = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].encode()
held = []
for _ in range(count):
    held.append(socket.create_connection((host, port), timeout=100))
    try:
        held[-1].sendall(text)
    except OSError:
        pass
print("connected", flush=True)
sys.stdin.read()
"""


@contextmanager
def server(tmp_path: Path, *, changes: str = "") -> Iterator[tuple[str, int, Path]]:
    """Start a server whose stderr is a file; yield its URL, its PID and that file."""
    log = tmp_path / "log"
    with (
        log.open("wb") as stderr,
        subprocess.Popen(
            [PYTHON, "-W", "error", "-c", SERVER.format(changes=changes), "mcp", "--http", "0"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            cwd=tmp_path,
            env={**environment(), "NACRE_MCP_TOKEN": TOKEN},
        ) as process,
    ):
        try:
            wait_until(lambda: b"Bearer" in log.read_bytes() or process.poll() is not None, "the server's address")
            yield next(word for word in log.read_text().split() if word.startswith("http://")), process.pid, log
        finally:
            process.terminate()
            process.wait(HANG_TIMEOUT_S)


@contextmanager
def half_open(url: str, count: int, text: str = "POST /mcp HTTP/1.1\r\n") -> Iterator[None]:
    """Hold `count` connections open, each with the beginning of a request."""
    with ExitStack() as stack:
        attackers = []
        for begin in range(0, count, PER_PROCESS):
            size = min(PER_PROCESS, count - begin)
            words = [sys.executable, "-S", "-c", ATTACKER, *place(url), str(size), text]
            attackers.append(
                stack.enter_context(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
            )
        for attacker in attackers:
            assert attacker.stdout is not None
            assert attacker.stdout.readline() == b"connected\n"
        try:
            yield
        finally:
            for attacker in attackers:
                attacker.communicate()


def place(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return str(parts.hostname), str(parts.port)


def connect(url: str) -> socket.socket:
    host, port = place(url)
    return socket.create_connection((host, int(port)), timeout=HANG_TIMEOUT_S)


def header(url: str, token: str, length: int) -> bytes:
    return (
        f"POST /mcp HTTP/1.1\r\nHost: {':'.join(place(url))}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def read_all(connection: socket.socket) -> bytes:
    """Read until the server closes the connection."""
    data = b""
    with suppress(ConnectionResetError):
        while more := connection.recv(65536):
            data += more
    return data


async def echo(url: str, word: str) -> str:
    async with client_at(url, TOKEN, MODE) as client:
        return text_of(await client.call_tool("Bash", {"command": f"echo {word}"}))


NO_MORE_THAN_512_FILES = """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
"""


async def test_client_is_served_beside_1500_half_open_connections(tmp_path: Path) -> None:
    with server(tmp_path, changes=NO_MORE_THAN_512_FILES) as (url, pid, log):
        assert await echo(url, "before") == "before"
        idle = await until_steady(lambda: fds(pid))
        assert idle is not None
        with half_open(url, HALF_OPEN):
            assert await asyncio.gather(*(echo(url, str(n)) for n in range(10))) == [str(n) for n in range(10)]
        assert await echo(url, "after") == "after"
        await until(lambda: (fds(pid) or 0) <= idle, "the descriptors to be free again")
        assert log.stat().st_size < MAX_LOG_BYTES, log.read_text()[:2000]


async def test_immediately_reset_connections_leave_no_fds(tmp_path: Path) -> None:
    with server(tmp_path) as (url, pid, log):
        assert await echo(url, "before") == "before"
        idle = await until_steady(lambda: fds(pid))
        assert idle is not None
        for _ in range(1000):
            with connect(url) as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        assert await echo(url, "after") == "after"
        await until(lambda: (fds(pid) or 0) <= idle, "the descriptors to be free again")
        assert log.stat().st_size < MAX_LOG_BYTES


SHORT_TIMEOUTS_SETUP = (
    "from nacre.adapters.mcp.transport import connection_limits as limits; "
    "limits.HEADER_TIMEOUT_S = limits.BODY_TIMEOUT_S = 0.3"
)


@pytest.mark.parametrize("token", ["wrong", TOKEN])
@pytest.mark.parametrize("begin", ["header", "body"])
def test_request_sent_byte_by_byte_is_cut_off(begin: str, token: str, tmp_path: Path) -> None:
    with server(tmp_path, changes=SHORT_TIMEOUTS_SETUP) as (url, _, log), connect(url) as connection:
        if begin == "body":
            connection.sendall(header(url, token, 10_000_000))
        connection.settimeout(0.01)

        def is_cut_off() -> bool:
            try:
                connection.sendall(b"P")
                return connection.recv(1) == b""
            except TimeoutError:
                return False
            except (ConnectionResetError, BrokenPipeError):
                return True

        wait_until(is_cut_off, "the end of the connection")
        assert log.stat().st_size < MAX_LOG_BYTES


def test_silent_connection_is_cut_off(tmp_path: Path) -> None:
    with server(tmp_path, changes=SHORT_TIMEOUTS_SETUP) as (url, _, _), connect(url) as connection:
        assert read_all(connection) == b""


async def test_authenticated_stream_outlives_the_connection_deadlines(tmp_path: Path, gate: Gate) -> None:
    with server(tmp_path, changes=SHORT_TIMEOUTS_SETUP) as (url, _, _):
        async with client_at(url, TOKEN, MODE) as client:
            begun = tmp_path / "begun"
            call = asyncio.create_task(client.call_tool("Bash", {"command": f"touch {begun}; {gate.wait}; echo late"}))
            await until(begun.exists, "the command")
            for _ in range(3):  # each lives as long as the deadline
                with connect(url) as connection:
                    assert await asyncio.to_thread(read_all, connection) == b""
            gate.open()
            assert text_of(await call) == "late"


def test_wrong_token_gets_401_even_when_the_body_is_late(tmp_path: Path) -> None:
    with server(tmp_path) as (url, _, log):
        for _ in range(20):
            with connect(url) as connection:
                connection.sendall(header(url, "wrong", 60_000))
                for _ in range(60):
                    connection.sendall(b" " * 1000)
                assert read_all(connection).startswith(b"HTTP/1.1 401 ")
        for _ in range(300):
            with connect(url) as connection:
                connection.sendall(b"no HTTP\r\n\r\n")
                assert read_all(connection).startswith(b"HTTP/1.1 400 ")
        assert log.stat().st_size < MAX_LOG_BYTES, log.read_text()


def test_oversized_header_is_refused(tmp_path: Path) -> None:
    with server(tmp_path) as (url, _, _):
        more = b"X-Long: " + b"x" * 20_000 + b"\r\n\r\n"
        with connect(url) as connection:
            connection.sendall(header(url, TOKEN, 0)[:-2] + more)
            assert read_all(connection)[:13] in (b"HTTP/1.1 431 ", b"HTTP/1.1 400 ")


LIMITED_CONNECTIONS = """
from nacre.adapters.mcp.transport import connection_limits as limits
few = limits.ConnectionLimits(authenticated=2, unauthenticated=4, running=2)
limits.ConnectionLimits.for_this_process = classmethod(lambda cls: few)
"""


def test_too_many_authenticated_connections_get_503(tmp_path: Path) -> None:
    with server(tmp_path, changes=LIMITED_CONNECTIONS) as (url, _, _):

        def ask() -> bytes:
            with connect(url) as connection:
                connection.sendall(header(url, TOKEN, 2) + b"{}")
                connection.shutdown(socket.SHUT_WR)
                return read_all(connection)

        with connect(url) as one, connect(url) as two:
            for each in (one, two):
                each.sendall(header(url, TOKEN, 5))
            refused = wait_until(
                lambda: answer if (answer := ask()).startswith(b"HTTP/1.1 503 ") else b"", "the refusal"
            )
            assert b"Too many connections" in refused
        wait_until(lambda: not ask().startswith(b"HTTP/1.1 503 "), "an answer, now that there is room")


async def test_server_out_of_fds_recovers_and_logs_it_once(tmp_path: Path) -> None:
    with server(tmp_path) as (url, pid, log):
        assert await echo(url, "before") == "before"
        used = await until_steady(lambda: fds(pid))
        assert used is not None
        with few_descriptors(pid, used), half_open(url, 100):
            await until(lambda: b"cannot accept" in log.read_bytes(), "the server's word")
        assert await echo(url, "after") == "after"
        assert log.read_text().count("cannot accept") == 1
        assert log.stat().st_size < MAX_LOG_BYTES


@pytest.mark.parametrize("open_files", [64, 256, 1024, 20_000, 1_000_000])
def test_connection_and_command_limits_fit_the_open_file_limit(open_files: int) -> None:
    limits = ConnectionLimits.for_open_files(open_files)
    assert min(limits.authenticated, limits.unauthenticated) >= 4
    assert limits.running >= 1
    if open_files >= 128:
        assert limits.authenticated + limits.unauthenticated + 4 * limits.running + 64 <= open_files
