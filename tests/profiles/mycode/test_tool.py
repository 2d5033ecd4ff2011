"""The tool as a model sees it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nacre import Bash
from nacre.compat.mycode import bash_tool
from nacre.profiles.mycode import mycode
from tests.support.hosts import run_host

SCHEMA = {
    "command": {"type": "string", "minLength": 1},
    "description": {"type": "string"},
    "timeout": {"type": "number", "minimum": 0, "maximum": 600000},
    "run_in_background": {"type": "boolean"},
    "cwd": {"type": "string"},
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
}


@pytest.mark.req("M-15", "M-01")
def test_mycode_schema_matches_the_proposal() -> None:
    definition = Bash("mycode").definition()
    schema = definition["input_schema"]
    assert definition["name"] == "Bash"
    assert (schema["type"], schema["required"]) == ("object", ["command"])
    properties = schema["properties"]
    assert {name: without_description(rest) for name, rest in properties.items()} == SCHEMA
    assert list(properties) == list(SCHEMA)
    assert all(rest["description"] for rest in properties.values())


def without_description(property: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in property.items() if name != "description"}


@pytest.mark.req("M-15")
def test_mycode_description_covers_parameters_limits_and_practices() -> None:
    text = Bash("mycode").definition()["description"]
    for name in SCHEMA:
        assert f"\n- {name}: " in text
    parts = ("default: 120000", "max: 600000", "quotes", "absolute paths", "&&", ";", "find, grep, cat", "TaskOutput")
    assert [part for part in parts if part not in text] == []
    assert len(text) < 1500


@pytest.mark.req("M-15", "M-03")
def test_mycode_description_shows_the_configured_timeouts() -> None:
    text = Bash(mycode(defaultTimeout=1_234_567, maxTimeout=2_000_000)).definition()["description"]
    assert "(default: 1234567, max: 600000)" in text
    text = Bash(mycode(maxTimeout=5000)).definition()["description"]
    assert "(default: 5000, max: 5000)" in text


@pytest.mark.req("M-15", "M-03")
def test_required_description_is_marked_in_schema_and_description() -> None:
    definition = Bash(mycode(requireDescription=True)).definition()
    assert definition["input_schema"]["required"] == ["command", "description"]
    assert "(required)\n- timeout" in definition["description"]
    assert "(recommended)\n- timeout" in Bash("mycode").definition()["description"]


@pytest.mark.req("M-15")
async def test_bash_tool_has_the_definition_and_can_be_called(tmp_path: Path) -> None:
    definition = Bash("mycode").definition()
    assert (bash_tool.name, bash_tool.description, bash_tool.parameters) == (
        "Bash",
        definition["description"],
        definition["input_schema"],
    )
    got = await bash_tool.execute({"command": "pwd"}, {"cwd": str(tmp_path)})
    assert got["stdout"] == f"{tmp_path}\n"


def test_mycode_can_be_imported_in_a_deleted_working_directory() -> None:
    program = """
        import asyncio, os, tempfile  # Python 3.13.0 itself cannot load asyncio there
        os.chdir(place := tempfile.mkdtemp())
        os.rmdir(place)
        import nacre.compat.mycode
        print("fine")
    """
    assert run_host(program, env={"PYTHONPATH": os.getcwd()}) == "fine\n"


def test_importing_profiles_does_not_load_mycode() -> None:
    program = """
        import sys, nacre.profiles
        print([name for name in sys.modules if name.startswith("nacre") and "mycode" in name])
    """
    assert run_host(program) == "[]\n"
