"""What is on the wire, byte by byte: nothing but messages, whatever is sent, printed or done to the server."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.adapters.mcp.door import raw
from tests.support.census import fds
from tests.support.hosts import command
from tests.support.lifeline import Lifeline
from tests.support.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.mcp

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
GARBAGE = (
    b"",
    b"hello",
    b"{",
    b"[]",
    b"null",
    b'{"jsonrpc": "2.0"}',
    b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 77, "result": {}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 3}',
    b"\xff\xfe\x00\x80\x1b[31m",
    b'{"jsonrpc": "2.0", "id": 5, "method": "' + b"[" * 100_000 + b'"}',
    b"[" * 100_000,
    b"x" * 17 * 1024 * 1024,
)


@pytest.mark.parametrize("version", REVISIONS)
def test_every_older_revision_is_spoken(version: str, tmp_path: Path) -> None:
    with raw(cwd=tmp_path) as client:
        made = client.initialize(version)
        assert made["protocolVersion"] == version
        assert made["serverInfo"]["name"] == "nacre"
        client.send({"id": 1, "method": "tools/list"})
        assert client.answer(1)["result"]["tools"][0]["name"] == "Bash"
        client.call(2, "Bash", command="echo hello")
        assert client.answer(2)["result"]["content"] == [{"type": "text", "text": "hello"}]


def test_garbage_is_survived(tmp_path: Path) -> None:
    with raw(cwd=tmp_path) as client:
        client.send(*GARBAGE)
        client.initialize("2025-11-25")
        client.send(*GARBAGE)
        client.send({"id": 6, "method": "no/such/method"}, {"id": 7, "method": "tools/call", "params": {"name": 3}})
        client.send({"id": 8, "method": "tasks/get", "params": {"taskId": "bash-00000000"}})
        for id in (6, 7, 8):
            assert "error" in client.answer(id)
        client.call(9, "Bash", command="echo still here")
        assert client.answer(9)["result"]["content"][0]["text"] == "still here"


def test_a_client_that_vanishes_takes_its_commands_with_it(tmp_path: Path, life: Lifeline) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.call(1, "Bash", command=f"{life.hold} (setsid sleep 600 &); sleep 600")
        life.wait_held()
        assert client.process.stdin is not None
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.process.stdin.close()
        assert client.process.wait(PATIENCE) == 0
        life.wait_over()


def test_a_client_that_reads_no_more_is_noticed(tmp_path: Path, life: Lifeline) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.call(1, "Bash", command=f"{life.hold} sleep 600")
        life.wait_held()
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.call(2, "Bash", command="true")
        assert client.process.wait(PATIENCE) == 0
        life.wait_over()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_killed_leaves_nothing_alive(number: int, tmp_path: Path, life: Lifeline) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.call(1, "Bash", command=f"{life.hold} (setsid sleep 600 &); sleep 600")
        life.wait_held()
        os.kill(client.process.pid, number)
        client.process.wait(PATIENCE)
        life.wait_over()


@pytest.mark.linux
def test_a_hundred_calls_hold_no_descriptors(tmp_path: Path) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")

        def calls(first: int) -> None:
            for id in range(first, first + 50):
                client.call(id, "Bash", command="echo hello")
            for _ in range(50):
                assert client.receive()["result"]["isError"] is False

        calls(100)
        before = fds(client.process.pid)
        calls(200)
        assert before is not None
        wait_until(lambda: (fds(client.process.pid) or 0) <= before + 2, "descriptors to be closed")


def test_nothing_that_is_printed_reaches_the_protocol() -> None:
    program = """
        import os, subprocess, sys, warnings
        from nacre.adapters.mcp.wire import guarded

        wire = guarded()
        print("a print", flush=True)
        os.write(1, b"a write\\n")
        warnings.warn("a warning")
        subprocess.run(["sh", "-c", "echo a child; cat"], check=True)
        assert sys.stdin.read() == ""
        assert not os.get_inheritable(wire.reads.fileno()) and not os.get_inheritable(wire.writes.fileno())
        wire.writes.write(wire.reads.readline().upper())
    """
    python, _, _, *rest = command(program)
    done = subprocess.run([python, *rest], input=b"hello\n", capture_output=True, timeout=PATIENCE, check=True)
    assert done.stdout == b"HELLO\n"
    for said in (b"a print", b"a write", b"a warning", b"a child"):
        assert said in done.stderr
