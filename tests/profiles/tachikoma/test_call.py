"""The profile as a model's tool: its arguments and its answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, ToolContext
from nacre.profiles.tachikoma import tachikoma
from nacre.views.answers import Answer
from tests.support.lifeline import Lifeline
from tests.support.waiting import TIME_LIMITS_S

BASH = Bash(profile="tachikoma")


def data(answer: Answer, code: int, out: str = "", err: str = "", **more: Any) -> dict[str, Any]:
    """Return the data expected for this end, with the actual duration."""
    metadata = {
        "duration": answer.data["metadata"]["duration"],
        "operation_id": "",
        "primitive": "bash",
        "stdout_left_out": 0,
        "stderr_left_out": 0,
        "task": None,
    }
    return {"exit_code": code, "stdout": out, "stderr": err, "timed_out": False, "metadata": metadata, **more}


def test_tachikoma_definition_has_the_options_of_the_document(tmp_path: Path) -> None:
    definition = BASH.definition(ToolContext(working_dir=tmp_path))
    assert definition["name"] == "bash"
    assert f"Working directory: {tmp_path}" in definition["description"]
    schema = definition["input_schema"]
    assert {name: each["type"] for name, each in schema["properties"].items()} == {
        "command": "string",
        "working_dir": "string",
        "env": "object",
        "timeout": ["number", "null"],
    }
    assert (schema["required"], schema["additionalProperties"]) == (["command"], False)
    assert schema["properties"]["timeout"]["default"] == 120


@pytest.mark.req("K-01")
async def test_answer_has_the_fields_of_a_result() -> None:
    answer = await BASH.call({"command": "echo a; echo b >&2; exit 3"})
    assert answer.data == data(answer, 3, "a\n", "b\n")
    assert (answer.text, answer.error) == ("exit_code: 3\nstdout:\na\nstderr:\nb", "")


async def test_silent_command_is_answered_with_one_line() -> None:
    answer = await BASH.call('{"command": "true"}')
    assert (answer.text, answer.data) == ("exit_code: 0", data(answer, 0))


@pytest.mark.req("K-02")
async def test_working_dir_env_and_timeout_arguments_take_effect(tmp_path: Path, life: Lifeline) -> None:
    ctx = ToolContext(working_dir=tmp_path)
    (tmp_path / "sub").mkdir()
    answer = await BASH.call({"command": 'basename "$PWD"; echo $A', "working_dir": "sub", "env": {"A": "1"}}, ctx)
    assert answer.data == data(answer, 0, "sub\n1\n")
    for limit in TIME_LIMITS_S:
        answer = await BASH.call({"command": f"{life.hold} echo x; sleep 99", "timeout": limit}, ctx)
        if answer.data["stdout"]:
            break
    assert answer.data == data(answer, -1, "x\n", timed_out=True)
    assert answer.text.startswith(f"exit_code: -1 (timed out after {limit} s)\nstdout:\nx\n")
    await life.wait_until_ended()
    assert (await BASH.call({"command": "true", "timeout": None}, ctx)).data["exit_code"] == 0


@pytest.mark.req("K-01")
async def test_signal_is_named_in_the_answer() -> None:
    answer = await BASH.call({"command": "kill -9 $$"})
    assert answer.data == data(answer, -1)
    assert answer.text.startswith("exit_code: -1 (ended by SIGKILL)")


@pytest.mark.req("K-04")
async def test_refused_command_answer_names_the_blocked_pattern() -> None:
    answer = await BASH.call({"command": "mkfs nothing"})
    message = "Command contains blocked pattern: mkfs"
    assert answer.data == data(answer, -1, error={"kind": "validation", "message": message})
    assert (answer.text, answer.error) == (f"Error: {message}", "")


@pytest.mark.req("K-04")
@pytest.mark.parametrize("command", ["", " ", "\n\t"], ids=repr)
async def test_empty_command_is_answered_with_the_message_of_the_document(command: str) -> None:
    answer = await BASH.call({"command": command})
    assert (answer.text, answer.data["error"]["message"], answer.error) == (
        "Error: Empty command", "Empty command", "empty_command",
    )  # fmt: skip


@pytest.mark.req("K-02")
async def test_profile_variants_block_more_patterns() -> None:
    answer = await Bash(tachikoma(block=["git push"])).call({"command": "echo GIT PUSH"})
    assert answer.text == "Error: Command contains blocked pattern: git push"
    answer = await Bash(tachikoma(literal=True)).call({"command": "echo mkfs"})
    assert answer.text == "Error: Command contains blocked pattern: mkfs"
    assert (await BASH.call({"command": "echo mkfs"})).text == "exit_code: 0\nstdout:\nmkfs"


async def test_answer_counts_the_bytes_left_out_of_each_stream() -> None:
    answer = await Bash(tachikoma(max_output=10)).call({"command": "seq 10; seq 9 >&2"})
    assert answer.text == (
        "exit_code: 0\nstdout:\n1\n2\n3\n4\n5\n[11 more bytes of stdout left out]\n"
        "stderr:\n1\n2\n3\n4\n5\n[8 more bytes of stderr left out]"
    )
    assert answer.data["metadata"]["stdout_left_out"] == 11


@pytest.mark.req("K-03")
async def test_disallowed_working_directory_is_answered_with_an_error(tmp_path: Path) -> None:
    ctx = ToolContext(working_dir=tmp_path, allowed_paths=(tmp_path,))
    answer = await BASH.call({"command": "pwd", "working_dir": "/"}, ctx)
    assert answer.error == "path_not_allowed"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "missing_argument"),
        ({"command": " "}, "empty_command"),
        ({"command": "true", "timeout": 0}, "bad_timeout"),
        ({"command": "true", "timeout": -1}, "bad_timeout"),
        ({"command": "true", "timeout": 0.0009}, "bad_timeout"),
        ({"command": "true", "env": {"A": 1}}, "bad_env"),
        ({"command": "true", "cwd": "/"}, "unknown_argument"),
        ("{", "bad_json"),
    ],
    ids=str,
)
async def test_invalid_arguments_are_answered_with_an_error(arguments: dict[str, Any] | str, error: str) -> None:
    assert (await BASH.call(arguments)).error == error


async def test_secrets_are_masked_even_when_cut_by_the_output_limit() -> None:
    small = Bash(tachikoma(max_output=15))
    ctx = ToolContext(secrets=("s3cret-token-value",))
    answer = await small.call({"command": "printf 12345$S", "env": {"S": "s3cret-token-value"}}, ctx)
    assert answer.data["stdout"] == "12345[secret]"
    assert "s3cret" not in answer.text + json.dumps(dict(answer.data))
