"""Detached programs: `run_detached` does not wait for them, and they survive the host."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from nacre.engines.guest.probe import run_detached
from tests.support.hosts import run_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.quoting import quote


async def test_run_detached_returns_at_once_and_starts_no_thread(tmp_path: Path) -> None:
    life, gate = Lifeline(tmp_path / "life"), Gate(tmp_path / "gate")
    threads = threading.active_count()
    text = f'{life.hold} {gate.wait}; echo "$@" > {quote(tmp_path)}/said'
    run_detached(shutil.which("bash") or "", text.encode(), "9", "0.000")
    assert threading.active_count() == threads
    await life.wait_until_held()
    gate.open()
    await life.wait_until_ended()
    assert (tmp_path / "said").read_text() == "9 0.000\n"
    life.close()
    gate.close()


async def test_detached_program_survives_its_host(tmp_path: Path) -> None:
    life, gate = Lifeline(tmp_path / "life"), Gate(tmp_path / "gate")
    run_host(
        """
        import shutil, sys
        from nacre.engines.guest.probe import run_detached

        run_detached(shutil.which("bash"), sys.argv[1].encode())
        """,
        f"{life.hold} {gate.wait}",
    )
    await life.wait_until_held()
    gate.open()
    await life.wait_until_ended()
    life.close()
    gate.close()
