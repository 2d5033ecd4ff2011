"""A single call of the tool by a model: any arguments get an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, InvalidRequest, Profile, Session, Tasks, ToolContext
from nacre.profiles import DEFAULT, profile_named
from nacre.profiles.tool import Parameter, Tool
from nacre.result import Exited, Running
from nacre.toolcall.parse import parse_request
from nacre.types import Request


async def test_answer_has_text_for_the_model_and_the_same_as_data(bash: Bash, tmp_path: Path) -> None:
    answer = await bash.call({"command": "echo hi; exit 3", "cwd": str(tmp_path), "env": {"A": "b"}})
    assert answer.text == str(answer) == "[nacre: exit 3]\nhi"
    assert answer.error == ""
    assert answer.result is not None
    assert answer.data == {
        "text": answer.text,
        "ok": False,
        "exit_code": 3,
        "outcome": {"kind": "exited", "code": 3},
        "duration_seconds": round(answer.result.duration, 3),
        "task_id": None,
        "output_file": None,
    }
    assert json.loads(json.dumps(answer.data)) == answer.data


async def test_arguments_may_be_a_json_string(bash: Bash) -> None:
    answer = await bash.call('{"command": "echo \\u00e9"}')
    assert (answer.text, answer.error) == ("é", "")


async def test_number_arguments_may_be_strings(bash: Bash) -> None:
    answer = await bash.call({"command": "true", "timeout_seconds": "30"})
    assert answer.error == ""


BAD: dict[str, tuple[Any, str, str]] = {
    "no-json": ("{nonsense", "bad_json", ""),
    "deep-json": ("[" * 100_000, "bad_json", ""),
    "a-list": ([], "bad_arguments", ""),
    "json-list": ("[]", "bad_arguments", ""),
    "nothing": ({}, "missing_argument", "command"),
    "null-command": ({"command": None}, "missing_argument", "command"),
    "blank-command": ({"command": " \n"}, "empty_command", "command"),
    "number-for-command": ({"command": 5}, "bad_command", "command"),
    "misspelt": ({"command": "true", "timeout_second": 3}, "unknown_argument", "timeout_second"),
    "unknown-null": ({"command": "true", "colour": None}, "unknown_argument", "colour"),
    "mode": ({"command": "true", "mode": "fast"}, "bad_mode", "mode"),
    "negative": ({"command": "true", "timeout_seconds": -1}, "bad_timeout_seconds", "timeout_seconds"),
    "word-for-number": ({"command": "true", "timeout_seconds": "soon"}, "bad_timeout_seconds", "timeout_seconds"),
    "nan": ({"command": "true", "timeout_seconds": float("nan")}, "bad_timeout_seconds", "timeout_seconds"),
    "flag-for-number": ({"command": "true", "timeout_seconds": True}, "bad_timeout_seconds", "timeout_seconds"),
    "deep": ({"command": [[[]]] * 3}, "bad_command", "command"),
    "deeper": ('{"command": ' + "[" * 900 + "]" * 900 + "}", "bad_command", "command"),
    "env-list": ({"command": "true", "env": ["A=b"]}, "bad_env", "env"),
    "env-number": ({"command": "true", "env": {"A": 1}}, "bad_env", "env.A"),
    "cwd-missing": ({"command": "true", "cwd": "/no/such/place"}, "cwd_missing", "cwd"),
    "nul": ({"command": "echo \0"}, "nul_byte", "command"),
}


@pytest.mark.parametrize("name", BAD)
async def test_invalid_arguments_get_an_error_code_and_a_hint(bash: Bash, name: str) -> None:
    arguments, code, field = BAD[name]
    answer = await bash.call(arguments)
    assert answer.error == code
    assert answer.result is None
    told = answer.data["error"]
    assert (told["code"], told["field"]) == (code, field)
    assert told["hint"]
    assert answer.text == f"Error ({code}): {told['message']} {told['hint']}"
    assert len(answer.text) < 400


async def test_misspelt_argument_gets_a_suggestion(bash: Bash) -> None:
    answer = await bash.call({"command": "true", "timeout_second": 3})
    assert answer.data["error"]["hint"] == "Did you mean `timeout_seconds`?"


async def test_command_that_outlasts_the_call_becomes_a_task(tmp_path: Path) -> None:
    ctx = ToolContext(output_dir=tmp_path)
    answer = await Bash().call({"command": "echo begun; sleep 60", "timeout_seconds": 0.2}, ctx)
    assert answer.result is not None
    assert isinstance(answer.result.outcome, Running)
    task = answer.data["task_id"]
    assert task in answer.text
    ended = await Tasks(tmp_path).kill(task)
    assert not ended.alive


def test_wait_of_a_call_is_capped_at_the_maximum_of_the_profile() -> None:
    def parse(**arguments: Any) -> Request:
        return parse_request({"command": "true", **arguments}, DEFAULT)

    assert parse().yield_after == 120
    assert parse(timeout_seconds=0).yield_after == 120
    assert parse(mode="slow").yield_after == 900
    assert parse(mode="slow", timeout_seconds=5).yield_after == 5
    assert parse(timeout_seconds=10**9).yield_after == 3600
    background = parse(mode="background", timeout_seconds=5)
    assert (background.mode, background.yield_after, background.timeout) == ("background", None, None)


async def test_session_call_keeps_the_working_directory(tmp_path: Path) -> None:
    session = Session(ctx=ToolContext(working_dir=tmp_path))
    (tmp_path / "below").mkdir()
    await session.call({"command": "cd below"})
    answer = await session.call({"command": "pwd"})
    assert answer.text == str(tmp_path / "below")


async def test_secrets_are_masked_in_the_text_and_in_the_data(bash: Bash) -> None:
    ctx = ToolContext(secrets=("hunter2-hunter2",))
    answer = await bash.call({"command": "echo hunter2-hunter2"}, ctx)
    assert "hunter2" not in answer.text + json.dumps(answer.data)


async def test_secret_in_invalid_arguments_is_masked(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, secrets=("hunter2-hunter2",))
    for name in ("default", "mycode", "tunacode"):
        answer = await Bash(name).call({"command": "ls", "cwd": "/no/hunter2-hunter2"}, ctx)
        assert answer.error == "cwd_missing"
        assert "hunter2" not in answer.text + json.dumps(dict(answer.data))


async def test_answer_does_not_tell_the_model_how_to_approve(bash: Bash) -> None:
    answer = await bash.call({"command": "git reset --hard"})
    assert "It needs approval, and no person was asked. Instead:" in answer.text
    assert "--yes" not in answer.text
    assert "approve" not in answer.text


async def test_part_of_a_secret_at_a_truncation_point_is_masked(tmp_path: Path) -> None:
    secret = "SECRETtoken0123456789abcdefXYZ"
    half = 512 * 1024 - 10
    text = "x" * half + secret + "y" * 900_000 + secret + "z" * half
    (tmp_path / "text").write_text(text)
    for name in ("mycode", "tunacode", "phoenix", "yoi", "tachikoma", "default"):
        answer = await Bash(name).call({"command": "cat text"}, ToolContext(working_dir=tmp_path, secrets=(secret,)))
        said = answer.text + json.dumps(dict(answer.data))
        assert answer.result is not None
        assert ("SECRETt" in said, "defXYZ" in said) == (False, False), name


async def test_failing_and_refused_commands_are_not_errors_of_the_call(bash: Bash) -> None:
    failing = await bash.call({"command": "exit 127"})
    assert (failing.error, failing.result and failing.result.outcome) == ("", Exited(127))
    refused = await bash.call({"command": "rm -rf /"})
    assert refused.error == ""
    assert refused.text.startswith("[nacre: not run, refused by rm-root-or-home")


class TestDefinition:
    def test_default_definition_is_short_and_names_the_working_directory(self, bash: Bash, tmp_path: Path) -> None:
        told = bash.definition(ToolContext(working_dir=tmp_path))
        assert told["name"] == "Bash"
        assert told["description"].endswith(f"\n\nWorking directory: {tmp_path}")
        assert list(told["input_schema"]["properties"]) == [
            "command", "description", "mode", "timeout_seconds", "cwd", "env",
        ]  # fmt: skip
        assert told["input_schema"]["required"] == ["command"]
        assert len(json.dumps(told)) < 2_000  # about 450 tokens, in every conversation

    @pytest.mark.linux
    def test_restricted_description_states_the_constraints(self, bash: Bash) -> None:
        free = bash.definition()["description"]
        held = bash.definition(ToolContext(access="restricted"))["description"]
        assert "network" not in free
        assert held.startswith(free)
        assert "Commands have no network." in held
        assert len(held) < 1_500

    def test_every_definition_dialect_has_the_same_schema(self, bash: Bash) -> None:
        schema = bash.definition(dialect="json")
        assert bash.definition(dialect="anthropic")["input_schema"] == schema
        assert bash.definition(dialect="mcp")["inputSchema"] == schema
        openai = bash.definition(dialect="openai")
        assert (openai["type"], openai["function"]["parameters"]) == ("function", schema)
        with pytest.raises(InvalidRequest, match="Use one of anthropic, openai,"):
            bash.definition(dialect="open-ai")  # type: ignore[arg-type]
        responses = bash.definition(dialect="openai-responses")
        assert (responses["type"], responses["name"], responses["parameters"]) == ("function", "Bash", schema)


class TestParameters:
    def profile(self, **parameter: Any) -> Profile:
        command = Parameter(name="command", kind="string", to="command", required=True)
        number = Parameter(name="wait", to="timeout", **parameter)
        return Profile(name="x", timeout=7, tool=Tool(parameters=(command, number)))

    def timeout_for(self, profile: Profile, wait: Any) -> float | None:
        return parse_request({"command": "true", "wait": wait}, profile).timeout

    def test_parameter_unit_is_converted_to_seconds(self) -> None:
        profile = self.profile(kind="number", unit=0.001, minimum=0, maximum=1000, zero_is_default=True)
        assert self.timeout_for(profile, 500) == 0.5
        assert self.timeout_for(profile, 1000) == 1
        assert self.timeout_for(profile, 0) is None

    def test_null_parameter_may_mean_no_limit(self) -> None:
        assert self.timeout_for(self.profile(kind="integer", null_is_unlimited=True), None) == float("inf")
        assert self.timeout_for(self.profile(kind="integer"), None) is None
        assert parse_request({"command": "true"}, self.profile(kind="integer", null_is_unlimited=True)).timeout is None

    def test_clamp_moves_values_into_the_range(self) -> None:
        profile = self.profile(kind="integer", clamped=(1, 600), minimum=0)
        assert [self.timeout_for(profile, value) for value in (0, 1, 600, 601)] == [1, 1, 600, 600]

    @pytest.mark.parametrize("value", [-1, 1.5, "5", True, [], 10**30])
    async def test_integer_parameter_rejects_invalid_values(self, value: Any) -> None:
        answer = await Bash(self.profile(kind="integer", minimum=0)).call({"command": "true", "wait": value})
        assert answer.error == "bad_wait"

    async def test_unknown_arguments_are_ignored_by_a_tool_that_is_not_strict(self) -> None:
        answer = await Bash(self.profile(kind="integer")).call({"command": "echo hi", "colour": "red"})
        assert (answer.error, answer.text) == ("", "hi")


def test_unknown_profile_gets_a_suggestion() -> None:
    with pytest.raises(Exception, match="Did you mean 'tunacode'"):
        profile_named("tuna-code")


@pytest.mark.linux
async def test_access_mode_of_a_profile_confines_its_runs(tmp_path: Path) -> None:
    bash = Bash(Profile(name="x", access="restricted"))
    result = await bash.run("touch here", ToolContext(working_dir=tmp_path))
    assert result.enforced
    assert not (tmp_path / "here").exists()
    assert "Commands have no network." in bash.definition()["description"]
    with pytest.raises(Exception, match="has no effect"):
        await bash.run("true", ToolContext(network=True))


def test_missing_or_null_argument_is_not_checked_against_its_range() -> None:
    tool = Tool(
        parameters=(
            Parameter(name="command", kind="string", to="command", required=True),
            Parameter(name="timeout", kind="number", to="timeout", minimum=1),
        ),
        strict=True,
    )
    assert parse_request({"command": "true"}, Profile(name="x", tool=tool)) == Request("true")
    assert parse_request({"command": "true", "timeout": None}, Profile(name="x", tool=tool)) == Request("true")
