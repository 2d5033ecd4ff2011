"""Hints that name what holds a port."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from nacre import Bash, Request, Tasks, ToolContext
from tests.hints.failures import hints_after, run_here
from tests.support.quoting import quote
from tests.support.waiting import until

pytestmark = [pytest.mark.req("T-10"), pytest.mark.linux]


async def test_hint_names_the_process_that_holds_a_port(bash: Bash, project_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        command = f"{quote(sys.executable)} -c 'import socket; socket.create_server((\"127.0.0.1\", {port}))'"
        result = await run_here(bash, project_dir, command)
    assert result.notes[-1].startswith(f"Port {port} is used by process {os.getpid()} (")


async def test_hint_names_the_task_that_holds_a_port(bash: Bash, project_dir: Path) -> None:
    program_text = (
        "import signal, socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); "
        "signal.pause()"
    )
    ctx = ToolContext(output_dir=project_dir / "store")
    started = await bash.run(
        Request(f'{quote(sys.executable)} -c "{program_text}"', cwd=project_dir, mode="background"), ctx
    )
    assert started.task is not None
    tasks = Tasks(project_dir / "store")
    try:
        await until(lambda: tasks.output(started.task.id).data.endswith(b"\n"), "its port")  # type: ignore[union-attr]
        port = int(tasks.output(started.task.id).data)
        command = f"{quote(sys.executable)} -c 'import socket; socket.create_server((\"127.0.0.1\", {port}))'"
        result = await bash.run(Request(command, cwd=project_dir), ctx)
        assert result.notes[-1].startswith(f"Port {port} is used by task {started.task.id}, which you may kill (")
    finally:
        await tasks.kill(started.task.id)


def test_port_hint_ignores_numbers_that_are_not_ports(project_dir: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        for line in (f"{port}-01-01 rows: Address already in use", f"10:{port}:00 x.sock: Address already in use"):
            assert hints_after(project_dir, line) == []
        for line in (
            f"listen tcp :{port}: bind: address already in use",
            f"Error: listen EADDRINUSE: address already in use :::{port}",
            f"bind() to 0.0.0.0:{port} failed (98: Address already in use)",
            f"[Errno 98] error while attempting to bind on address ('127.0.0.1', {port}): address already in use",
            f"Port {port} is in use by another program.",
        ):
            assert [hint[: len(f"Port {port}")] for hint in hints_after(project_dir, line)] == [f"Port {port}"]
        assert hints_after(project_dir, "Error: That port is already in use.", f"./manage.py runserver {port}")
        assert hints_after(project_dir, "Address already in use", f"docker run -p {port}:80 x")
        assert hints_after(project_dir, "Address already in use", f"work --since {port}-01-01") == []
