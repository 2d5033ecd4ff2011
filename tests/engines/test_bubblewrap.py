"""Behaviour specific to the bubblewrap engine."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import pytest

from nacre import Bash
from nacre.result import Exited, Signalled
from tests.engines.conftest import Place, engine_named
from tests.support.hosts import run_host

pytestmark = pytest.mark.linux


@pytest.fixture
def bwrap(directory: Path) -> Place:
    return Place(Bash(engine=engine_named("bwrap")), directory)


async def test_only_the_first_run_starts_a_thread(bwrap: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    start = threading.Thread.start

    def count_start(thread: threading.Thread) -> None:
        asked.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", count_start)
    for _ in range(5):
        await bwrap.run("true", access="restricted")
    assert asked == ["nacre-beside"]


async def test_command_that_signals_every_visible_process_continues(bwrap: Place) -> None:
    everybody = 'for p in /proc/[0-9]*; do p=${p#/proc/}; ((p == $$)) || kill -TERM "$p"; done'
    result = await bwrap.run(f"{everybody}; echo still; exit 3")
    assert (result.outcome, result.out.text) == (Exited(3), "still\n")


async def test_stopped_and_killed_command_is_reported_as_signalled(bwrap: Place) -> None:
    # bash with an EXIT trap loses a SIGTERM that comes while it executes another program
    becomes = "until [[ $name == sleep ]]; do read -r name </proc/$$/comm; done"
    for end in ("kill -KILL $$", "kill -TERM $$; kill -CONT $$"):
        result = await bwrap.run(f"({becomes}; kill -STOP $$; {end}) & exec sleep 300")
        assert result.outcome in (Signalled(signal.SIGKILL), Signalled(signal.SIGTERM))


@pytest.mark.parametrize("name", ["a space", "a 'quote'", "a $name `id` \\"])
def test_tmpdir_may_have_special_characters(bwrap: Place, tmp_path: Path, name: str) -> None:
    program = """
        import asyncio, sys
        from nacre import Bash, Request, Session, ToolContext
        from nacre.engines import Bubblewrap

        async def main():
            session = Session(Bash(engine=Bubblewrap()), ToolContext(working_dir=sys.argv[1]))
            for command in ("export KEPT=yes; echo out; echo err >&2; exit 3", "echo $KEPT; kill -9 $$"):
                result = await session.run(command)
                print(result.outcome, result.out.head, result.err.head)

        asyncio.run(main())
    """
    place = tmp_path / name
    place.mkdir()
    assert run_host(program, bwrap.directory, env={"TMPDIR": str(place)}).splitlines() == [
        r"Exited(code=3) b'out\n' b'err\n'",
        r"Signalled(signal=9) b'yes\n' b''",
    ]
