"""Timeouts: seconds, clamped; and the output of a command that was killed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from nacre.compat.yoi import BashTool, InvalidArgument
from nacre.planning.plan import plan_for
from nacre.profiles.yoi import YOI
from nacre.toolcall.parse import parse_request
from nacre.types import ToolContext
from tests.profiles.yoi.conftest import Execute
from tests.support.lifeline import Lifeline
from tests.support.waiting import TIME_LIMITS_S


@pytest.mark.req("Y-02")
@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ({}, 120),
        ({"timeout": None}, 120),
        ({"timeout": 0}, 1),
        ({"timeout": 1}, 1),
        ({"timeout": 2}, 2),
        ({"timeout": 599}, 599),
        ({"timeout": 600}, 600),
        ({"timeout": 601}, 600),
        ({"timeout": 10**15}, 600),
    ],
    ids=["none", "null", "0", "1", "2", "599", "600", "601", "huge"],
)
def test_timeout_is_clamped_to_its_range(given: dict[str, Any], seconds: float) -> None:
    plan = plan_for(parse_request({"command": "true", **given}, YOI), ToolContext(), YOI, {})
    assert (plan.timing.timeout, plan.notes) == (seconds, ())


@pytest.mark.req("Y-02", "Y-14")
@pytest.mark.parametrize("timeout", ["-1", "1.5", '"30"', "true", "[1]", "NaN", "1e400"])
async def test_invalid_timeout_is_an_invalid_argument(tool: BashTool, timeout: str, outputs: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"^invalid Bash input: `timeout` is "):
        await tool.execute(f'{{"command": "touch ran", "timeout": {timeout}}}')
    assert not (outputs.parent / "workspace" / "ran").exists()


@pytest.mark.req("Y-07")
async def test_output_before_a_timeout_is_kept(execute: Execute, outputs: Path, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        output = await execute(f"{life.hold} seq 100; sleep 60", timeout=limit)
        if output.content:
            break
    (file,) = outputs.iterdir()
    assert output.summary.endswith(f" (timed out after {limit}s)")
    assert output.content == f"[partial output before timeout — full at {file}]\n" + "".join(
        f"{number}\n" for number in range(21, 101)
    )
    assert file.read_text() == "".join(f"{number}\n" for number in range(1, 101))
    await life.wait_until_ended()


@pytest.mark.req("Y-07")
async def test_short_output_before_a_timeout_is_saved_to_a_file(execute: Execute, outputs: Path) -> None:
    for limit in TIME_LIMITS_S:
        output = await execute("printf half; sleep 60", timeout=limit)
        if output.content:
            break
    (file,) = outputs.iterdir()
    assert output.content == f"[partial output before timeout — full at {file}]\nhalf"
    assert file.read_text() == "half"


@pytest.mark.req("Y-07", "Y-13")
async def test_silent_timed_out_command_has_no_content_and_no_file(execute: Execute, outputs: Path) -> None:
    output = await execute("sleep 60", timeout=0)
    assert (output.summary, output.content) == ("$ sleep 60 (timed out after 1s)", None)
    assert list(outputs.iterdir()) == []


@pytest.mark.req("Y-09")
async def test_endless_background_job_is_bounded_by_the_timeout(execute: Execute, life: Lifeline) -> None:
    for limit in TIME_LIMITS_S:
        output = await execute(f"{life.hold} sleep 60 & echo started", timeout=limit)
        if output.content:
            break
    assert output.summary.endswith(f" (timed out after {limit}s)")
    assert output.content is not None
    assert output.content.endswith("]\nstarted\n")
    await life.wait_until_ended()


@pytest.mark.req("Y-09")
async def test_exit_code_is_that_of_the_command_not_of_its_jobs(execute: Execute, workspace: Path) -> None:
    gate = shlex.quote(str(workspace / "gate"))
    output = await execute(f"mkfifo {gate}; (read _ <{gate}; echo job; exit 9) & echo go >{gate}; (exit 3)")
    assert (output.summary.endswith(" (exit 3)"), output.content) == (True, "job\n")


@pytest.mark.req("Y-02")
@pytest.mark.parametrize(("asked", "seconds"), [(None, None), (2**64 - 1, 600), (0, 1)], ids=["null", "u64", "zero"])
def test_every_timeout_the_document_allows_is_accepted(asked: int | None, seconds: int | None) -> None:
    assert parse_request({"command": "true", "timeout": asked}, YOI).timeout == seconds
