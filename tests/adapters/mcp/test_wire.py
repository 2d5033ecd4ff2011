"""The protocol byte by byte: stdout carries only messages, whatever is sent, printed or done to the server."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.mcp.clients import PYTHON, environment, raw
from tests.support.census import cost
from tests.support.commands import CHILDREN_OF_PARENT
from tests.support.hosts import command
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, wait_until

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
def test_stdio_server_supports_every_older_protocol_revision(version: str, tmp_path: Path) -> None:
    with raw(cwd=tmp_path) as client:
        made = client.initialize(version)
        assert made["protocolVersion"] == version
        assert made["serverInfo"]["name"] == "nacre"
        client.send({"id": 1, "method": "tools/list"})
        assert client.answer(1)["result"]["tools"][0]["name"] == "Bash"
        client.call(2, "Bash", command="echo hello")
        assert client.answer(2)["result"]["content"] == [{"type": "text", "text": "hello"}]


def test_server_survives_garbage_on_stdin(tmp_path: Path) -> None:
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


HALVES = {
    "first": b"\\ud800",
    "second": b"\\uDC80",
    "wrong-order": b"\\udc00\\ud800",
    "after-a-pair": b"\\ud83d\\ude00\\ud83d",
}


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_lone_surrogate_in_a_command_is_answered_and_nothing_runs(half: bytes, tmp_path: Path) -> None:
    call = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Bash", "arguments": %b}}'
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.send(call % (b'{"command": "touch made; echo %b"}' % half))
        answer = client.answer(1)["result"]
        assert (answer["isError"], answer["_meta"]) == (True, {"nacre/error": "bad_text"})
        assert answer["content"][0]["text"] == (
            "Error (bad_text): `command` contains a lone surrogate, which is not a character. "
            "Send whole characters: both halves of a surrogate pair, or UTF-8."
        )
        client.call(2, "Bash", command="echo \U0001f600; ls")  # one character, although its JSON is a surrogate pair
        assert client.answer(2)["result"]["content"][0]["text"] == "\U0001f600"


def test_lone_surrogate_anywhere_else_is_answered(tmp_path: Path) -> None:
    messages = (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "B\\ud800", "arguments": {}}}',
        b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "Bash", "arguments": {"\\ud800": 1}}}',
        b'{"jsonrpc": "2.0", "id": 3, "method": "\\ud800"}',
        b'{"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": {"uri": "nacre://tasks/\\ud800/log"}}',
        b'{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"_meta": {"\\ud800": ["\\ud800"]}}}',
    )
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.send(*messages)
        answers = [client.answer(id) for id in range(1, len(messages) + 1)]
    assert [answer["result"]["isError"] for answer in answers[:2]] == [True, True]
    assert ["error" in answer for answer in answers[2:]] == [True, True, False]


def test_closed_client_pipes_end_the_server_and_its_commands(tmp_path: Path, life: Lifeline) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.call(1, "Bash", command=f"{life.hold} (setsid sleep 600 &); sleep 600")
        life.wait_held()
        assert client.process.stdin is not None
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.process.stdin.close()
        assert client.process.wait(HANG_TIMEOUT_S) == 0
        life.wait_over()


@pytest.mark.parametrize("meta", [None, {"progressToken": 1}], ids=["without progress", "with progress"])
def test_closed_stdout_ends_the_server_and_its_commands(
    meta: dict[str, int] | None, tmp_path: Path, life: Lifeline
) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.call(1, "Bash", meta=meta, command=f"{life.hold} while :; do echo more; sleep 0.1; done")
        life.wait_held()
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.call(2, "Bash", command="true")
        assert client.process.wait(HANG_TIMEOUT_S) == 0
        life.wait_over()


def test_closed_client_socket_ends_the_server_and_its_commands(tmp_path: Path, life: Lifeline) -> None:
    """Like Node's clients: they use socket pairs as pipes, and a reset connection gives an error instead of EOF."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    command = [PYTHON, "-W", "error", "-m", "nacre", "mcp"]
    with subprocess.Popen(
        command, stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=subprocess.PIPE, cwd=tmp_path, env=environment()
    ) as process:
        theirs.close()
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
        call = {"name": "Bash", "arguments": {"command": f"{life.hold} (setsid sleep 600 &); sleep 600"}}
        messages: list[dict[str, Any]] = [
            {"id": 0, "method": "initialize", "params": client},
            {"method": "notifications/initialized"},
            {"id": 1, "method": "tools/call", "params": call},
        ]
        for message in messages:
            ours.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        life.wait_held()
        ours.close()
        said = process.communicate(timeout=HANG_TIMEOUT_S)[1]
        assert (process.returncode, said) == (0, b"")
        life.wait_over()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_killed_stdio_server_leaves_no_process(number: int, tmp_path: Path, life: Lifeline) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        client.call(1, "Bash", command=f"{life.hold} (setsid sleep 600 &); sleep 600")
        life.wait_held()
        os.kill(client.process.pid, number)
        client.process.wait(HANG_TIMEOUT_S)
        life.wait_over()


@pytest.mark.linux
@pytest.mark.timeout(600)
def test_thousand_calls_leak_no_fd_thread_or_zombie(tmp_path: Path) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")

        def call_many(first: int) -> None:
            for id in range(first, first + 50):
                client.call(id, "Bash", command="echo $$; false")
            results = [client.answer(id)["result"] for id in range(first, first + 50)]
            assert {result["structuredContent"]["exit_code"] for result in results} == {1}
            assert len({result["content"][0]["text"] for result in results}) == 50

        call_many(100)
        before = cost(client.process.pid)
        for first in range(1000, 2000, 50):
            call_many(first)

        threads = before.threads + min(32, (os.cpu_count() or 1) + 4)  # pool threads start on demand

        def is_at_rest() -> bool:
            now = cost(client.process.pid)
            return (now.fds or 0) <= (before.fds or 0) and now.threads <= threads and now.zombies == 0

        wait_until(is_at_rest, f"{cost(client.process.pid)} to be {before} again")
        client.call(1, "TaskList")
        assert client.answer(1)["result"]["structuredContent"]["tasks"] == []


def test_command_cannot_read_the_messages_of_the_client(tmp_path: Path, life: Lifeline, gate: Gate) -> None:
    with raw(cwd=tmp_path) as client:
        client.initialize("2025-11-25")
        reads = "head -n 1; head -n 1 <&0; head -n 1 /dev/stdin"
        client.call(1, "Bash", command=f"{reads}; {life.hold} {reads}; {gate.wait}; {reads}; echo end")
        life.wait_held()
        client.send({"id": 2, "method": "ping"}, {"id": 3, "method": "ping"})
        assert client.answer(2)["result"] == {}
        assert client.answer(3)["result"] == {}
        gate.open()
        assert client.answer(1)["result"]["content"][0]["text"] == "end"


@pytest.mark.linux
def test_commands_do_not_inherit_the_pipes_of_the_protocol(tmp_path: Path) -> None:
    """Neither the command, nor its shell, nor the keeper has them."""
    with raw(cwd=tmp_path) as client:
        assert client.process.stdin is not None
        assert client.process.stdout is not None
        pipes = {f"pipe:[{os.fstat(file.fileno()).st_ino}]" for file in (client.process.stdin, client.process.stdout)}
        theirs = {os.readlink(f"/proc/{client.process.pid}/fd/{number}") for number in (0, 1)}
        assert theirs == pipes  # the server has just started
        client.initialize("2025-11-25")
        look = f"for each in $({CHILDREN_OF_PARENT}) $$ self; do readlink /proc/$each/fd/*; done"
        client.call(1, "Bash", command=look)
        seen = client.answer(1)["result"]["content"][0]["text"].split()
        assert "pipe" in "".join(seen)
        assert not pipes & set(seen)
        assert not pipes & {os.readlink(f"/proc/{client.process.pid}/fd/{number}") for number in (0, 1)}


@pytest.mark.parametrize("stderr", [subprocess.PIPE, subprocess.STDOUT], ids=["apart", "the same as stdout"])
def test_uncaptured_output_does_not_reach_the_protocol(stderr: int, tmp_path: Path) -> None:
    (tmp_path / "forged").write_text('{"jsonrpc": "2.0", "id": 1, "result": "forged"}\nno message\n')
    with raw("--profile", "tunacode", cwd=tmp_path, stderr=stderr) as client:
        client.initialize("2025-11-25")
        client.call(1, "bash", command="cat forged missing", capture_output=False)
        data = client.answer(1)["result"]["structuredContent"]
        assert (data["exit_code"], data["stdout"], data["stderr"]) == (1, "", "")
        client.send({"id": 2, "method": "ping"})
        assert client.answer(2)["result"] == {}
        if client.process.stderr is not None:
            said = client.process.stderr.readline() + client.process.stderr.readline()
            assert said == (tmp_path / "forged").read_bytes()


def test_prints_of_the_process_do_not_reach_the_protocol() -> None:
    program = """
        import os, subprocess, sys, warnings
        from nacre.adapters.mcp.transport.private_stdio import take_standard_streams

        wire = take_standard_streams()
        print("a print", flush=True)
        os.write(1, b"a write\\n")
        warnings.warn("a warning")
        subprocess.run(["sh", "-c", "echo a child; cat"], check=True)
        assert sys.stdin.read() == ""
        assert not os.get_inheritable(wire.reads.fileno()) and not os.get_inheritable(wire.writes.fileno())
        wire.writes.write(wire.reads.readline().upper())
    """
    python, _, _, *rest = command(program)
    done = subprocess.run([python, *rest], input=b"hello\n", capture_output=True, timeout=HANG_TIMEOUT_S, check=True)
    assert done.stdout == b"HELLO\n"
    for said in (b"a print", b"a write", b"a warning", b"a child"):
        assert said in done.stderr
