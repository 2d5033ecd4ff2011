"""default, slow, background: how long each waits, what it leaves, and that none has a terminal."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from nacre import Bash, ToolContext
from nacre.base.frozen import replace
from nacre.planning.plan import plan_for
from nacre.profiles.phoenix import PHOENIX
from nacre.result import Signalled
from nacre.tasks import Match, Tasks
from nacre.toolcall.parse import parse_request
from tests.profiles.phoenix.conftest import Ask
from tests.support.hosts import run_host
from tests.support.lifeline import Gate, Lifeline
from tests.support.waiting import HANG_TIMEOUT_S, until


@pytest.fixture
def tasks(tmp_path: Path) -> Tasks:
    return Tasks(tmp_path / "kept")


@pytest.mark.req("P-002", "P-005")
@pytest.mark.parametrize(
    ("mode", "seconds"),
    [
        ({}, 30),
        ({"mode": "default"}, 30),
        ({"mode": None}, 30),
        ({"mode": "slow"}, 900),
        ({"mode": "background"}, None),
    ],
    ids=["omitted", "default", "null", "slow", "background"],
)
def test_each_mode_has_its_timeout(mode: dict[str, str | None], seconds: float | None) -> None:
    plan = plan_for(parse_request({"command": "true", **mode}, PHOENIX), ToolContext(), PHOENIX, {})
    assert plan.timing.timeout == (float("inf") if seconds is None else seconds)
    assert (plan.lifetime == "background") == (seconds is None)


@pytest.mark.req("P-002")
@pytest.mark.parametrize("mode", ["default", "slow"])
async def test_timeout_kills_the_process_group_and_returns_the_output(
    ctx: ToolContext, life: Lifeline, mode: str
) -> None:
    bash = Bash(replace(PHOENIX, timeout=0.5, slow_timeout=0.5))
    made = await bash.call({"command": f"{life.hold} echo so far; (sleep 61 &); sleep 62", "mode": mode}, ctx)
    assert made.text.splitlines()[0].startswith("[nacre: timed out after 0.5 s")
    assert made.text.splitlines()[1] == "so far"
    assert (made.data["timed_out"], made.data["output"], made.data["exit_code"]) == (True, "so far\n", None)
    assert made.error == ""
    await life.wait_until_ended()


@pytest.mark.req("P-003")
async def test_background_command_returns_its_task_and_logs_its_exit_status(ask: Ask, tasks: Tasks, gate: Gate) -> None:
    made = await ask(f"echo begun; {gate.wait}; echo done; exit 7", mode="background")
    data = made.data
    assert made.text == (
        f"[nacre: it runs in the background: task {data['task_id']}, process {data['pid']}, process group "
        f"{data['pgid']}, output in {data['output_file']}; `kill -9 -{data['pgid']}` ends it; the last line there will "
        "tell how it ended]"
    )
    assert (data["exit_code"], data["output"], data["pid"]) == (None, "", data["pgid"])
    os.kill(data["pid"], 0)
    gate.open()
    await tasks.wait(data["task_id"], timeout=HANG_TIMEOUT_S)
    lines = Path(data["output_file"]).read_text().splitlines()
    assert lines[:2] == ["begun", "done"]
    assert lines[2].startswith("[nacre: exit 7 after ")
    assert len(lines) == 3


@pytest.mark.req("P-003")
@pytest.mark.linux
async def test_background_command_that_exits_at_once_gives_its_result_and_task(ask: Ask) -> None:
    made = await ask("echo fine; exit 5", mode="background")
    data = made.data
    assert made.text == (
        f"[nacre: exit 5]\nfine\n[nacre: it was task {data['task_id']}, process {data['pid']}, "
        f"output in {data['output_file']}]"
    )
    assert (data["exit_code"], data["output"]) == (5, "fine\n")
    first, last = Path(data["output_file"]).read_text().splitlines()
    assert (first, last.startswith("[nacre: exit 5 after ")) == ("fine", True)


@pytest.mark.req("P-003")
async def test_background_process_group_can_be_killed_by_its_pgid(ask: Ask, tasks: Tasks, life: Lifeline) -> None:
    made = await ask(f"{life.hold} sleep 61 & sleep 62", mode="background")
    await life.wait_until_held()
    assert (await ask(f"kill -9 -{made.data['pgid']}")).text == "[nacre: no output]"
    await tasks.wait(made.data["task_id"], timeout=HANG_TIMEOUT_S)
    assert tasks.get(made.data["task_id"]).outcome == Signalled(signal.SIGKILL)
    await life.wait_until_ended()
    assert "SIGKILL" in Path(made.data["output_file"]).read_text().splitlines()[-1]


@pytest.mark.req("P-003")
async def test_background_command_outlives_the_agent(tasks: Tasks, tmp_path: Path, gate: Gate) -> None:
    host = """
        import asyncio, sys
        from nacre import Bash, ToolContext
        call = Bash("phoenix").call(
            {"command": sys.argv[2], "mode": "background"}, ToolContext(output_dir=sys.argv[1])
        )
        print(asyncio.run(call).data["task_id"])
    """
    id = run_host(host, tasks.directory, f"{gate.wait}; echo alone; exit 3").strip()
    assert tasks.get(id).alive
    gate.open()
    await tasks.wait(id, timeout=HANG_TIMEOUT_S)
    alone, end = Path(tasks.get(id).output_file).read_text().splitlines()
    assert (alone, end.startswith("[nacre: exit 3 after ")) == ("alone", True)


@pytest.mark.req("P-003")
async def test_leftovers_are_reported_as_a_task_that_can_be_killed(ask: Ask, tasks: Tasks, life: Lifeline) -> None:
    made = await ask(f"{life.hold} setsid sleep 61 & echo started")
    data = made.data
    assert made.text.splitlines()[0] == "started"
    assert made.text.splitlines()[-1] == (
        f"[nacre: what it left running is task {data['task_id']}, process {data['pid']}, process group {data['pgid']}, "
        f"output in {data['output_file']}; `kill -9 -{data['pgid']}` ends it]"
    )
    await tasks.kill(data["task_id"], grace=0)
    await life.wait_until_ended()


@pytest.mark.req("P-004")
@pytest.mark.parametrize("mode", ["default", "slow", "background"])
async def test_no_mode_has_a_terminal(ask: Ask, tasks: Tasks, mode: str) -> None:
    look = "for fd in 0 1 2; do [ -t $fd ] && echo terminal $fd; done; (: </dev/tty) 2>/dev/null && echo tty; echo over"
    made = await ask(look, mode=mode)
    if mode != "background":
        assert made.text == "over\n"
        return
    await tasks.wait(made.data["task_id"], until=Match("over"), timeout=HANG_TIMEOUT_S)
    await until(lambda: not tasks.get(made.data["task_id"]).alive, "its end")
    assert tasks.output(made.data["task_id"]).text == "over\n"
