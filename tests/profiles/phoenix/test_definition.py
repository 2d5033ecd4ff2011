"""The tool's definition for a model; one instance serves many conversations."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from nacre import Bash, Cancel, ToolContext
from nacre.profiles.phoenix import PHOENIX
from tests.support.lifeline import Lifeline


@pytest.mark.req("P-005")
def test_phoenix_schema_has_a_command_and_three_modes(phoenix: Bash, ctx: ToolContext) -> None:
    told = phoenix.definition(ctx)
    modes = told["input_schema"]["properties"]["mode"].pop("description")
    assert told["name"] == "bash"
    assert told["input_schema"] == {
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "The shell command to execute"},
            "mode": {"type": "string", "enum": ["default", "slow", "background"], "default": "default"},
        },
        "required": ["command"],
    }
    assert [word for word in ("30 seconds", "15 minutes", "`kill -9 -<pgid>`") if word not in modes] == []


@pytest.mark.req("P-005", "P-010")
def test_phoenix_description_names_the_working_directory(phoenix: Bash, tmp_path: Path) -> None:
    for place in (tmp_path / "one", tmp_path / "two"):
        place.mkdir()
        told = phoenix.definition(ToolContext(working_dir=place))["description"]
        assert told == f"{PHOENIX.tool.description}\n\nWorking directory: {place}"
    assert len(PHOENIX.tool.description) < 900


@pytest.mark.req("P-010")
async def test_one_bash_serves_concurrent_conversations(phoenix: Bash, tmp_path: Path) -> None:
    places = [tmp_path / str(number) for number in range(8)]
    for place in places:
        place.mkdir()
    calls = [
        phoenix.call({"command": "cd /; cd - >/dev/null; pwd"}, ToolContext(working_dir=place)) for place in places
    ]
    assert [made.text for made in await asyncio.gather(*calls)] == [f"{place}\n" for place in places]
    assert (await phoenix.call({"command": "cd .. && X=1"}, ToolContext(working_dir=places[0]))).error == ""
    again = await phoenix.call({"command": 'pwd; echo "${X-unset}"'}, ToolContext(working_dir=places[0]))
    assert again.text == f"{places[0]}\nunset\n"


@pytest.mark.req("P-010")
async def test_cancel_ends_its_own_call_and_no_other(
    phoenix: Bash, place: Path, life: Lifeline, other_life: Lifeline
) -> None:
    one, two = Cancel(), Cancel()
    calls = [
        asyncio.create_task(
            phoenix.call(
                {"command": f"echo begun; {line.hold} sleep 61"}, ToolContext(working_dir=place, cancel=cancel)
            )
        )
        for line, cancel in ((life, one), (other_life, two))
    ]
    await life.wait_until_held()
    await other_life.wait_until_held()
    one.cancel()
    made = await calls[0]
    assert (made.text, made.data["output"], made.error) == ("[nacre: cancelled]\nbegun", "begun\n", "")
    assert not calls[1].done()
    two.cancel()
    await calls[1]
    await life.wait_until_ended()
    await other_life.wait_until_ended()


@pytest.mark.req("P-010")
async def test_call_cancelled_before_it_starts_runs_nothing(phoenix: Bash, place: Path) -> None:
    cancel = Cancel()
    cancel.cancel()
    made = await phoenix.call({"command": "touch ran"}, ToolContext(working_dir=place, cancel=cancel))
    assert (made.text, list(place.iterdir())) == ("[nacre: cancelled; no output]", [])
