"""Tool definitions for models: names, types, required, enums, defaults and bounds, without the wording."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, ToolContext
from nacre.toolcall.task_tools import definitions
from tests.interface.command_line import call_main
from tests.interface.shapes import strip_prose
from tests.interface.snapshot import check_snapshot

FORMATS = ("anthropic", "openai", "openai-responses", "mcp", "json")


def read_profiles(capfd: pytest.CaptureFixture[str]) -> list[str]:
    code, out, _ = call_main(capfd, "profiles", "--json")
    assert code == 0
    return [profile["name"] for profile in json.loads(out)["profiles"]]


def test_tool_schemas_of_profiles_match_their_snapshot(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found: dict[str, Any] = {}
    for profile in read_profiles(capfd):
        found[profile] = {}
        for form in FORMATS:
            words = ["schema", "--no-config", "--profile", profile, "--for", form, "--access", "unrestricted"]
            code, out, err = call_main(capfd, *words, "--cwd", str(tmp_path))
            assert (code, err) == (0, "")
            found[profile][form] = strip_prose(json.loads(out))
        assert all(json.loads(json.dumps(found[profile]["json"])) == inner(found[profile][form]) for form in FORMATS)
    short = {
        profile: {
            "input": forms["json"],
            **{form: without_input(forms[form]) for form in FORMATS if form != "json"},
        }
        for profile, forms in found.items()
    }
    check_snapshot("tool_schemas", short)


def inner(definition: dict[str, Any]) -> Any:
    """Return the input schema, wherever the format has it."""
    function = definition.get("function", definition)
    return next(
        (function[name] for name in ("input_schema", "parameters", "inputSchema") if name in function), function
    )


def without_input(definition: dict[str, Any]) -> Any:
    """Return the rest of a definition, with a mark in place of the input schema."""
    if "function" in definition:
        return {**definition, "function": without_input(definition["function"])}
    marks = dict.fromkeys(("input_schema", "parameters", "inputSchema"), "= the input")
    return {name: marks.get(name, value) for name, value in definition.items()}


def test_library_tool_definition_equals_the_schema_command(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bash = Bash()
    for form in FORMATS:
        _, out, _ = call_main(capfd, "schema", "--no-config", "--for", form, "--cwd", str(tmp_path))
        ctx = ToolContext(working_dir=tmp_path)
        assert bash.definition(ctx, dialect=form) == json.loads(out)  # type: ignore[arg-type]


def test_schemas_of_task_tools_match_their_snapshot() -> None:
    check_snapshot("task_tool_schemas", {each["name"]: strip_prose(each) for each in definitions()})
