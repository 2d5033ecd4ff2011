"""`bash_success` and `bash_sequence`."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from nacre.compat.tachikoma import (
    BashOptions,
    CommandFailed,
    PathNotAllowed,
    PrimitiveContext,
    Validation,
    bash_sequence,
    bash_success,
)

CTX = PrimitiveContext("/tmp")


@pytest.mark.req("K-06")
async def test_bash_success_returns_the_result() -> None:
    result = await bash_success(CTX, "echo fine; echo note >&2")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "fine\n", "note\n")


@pytest.mark.req("K-06")
@pytest.mark.parametrize(
    ("command", "code"), [("echo no >&2; exit 1", 1), ("echo no >&2; exit 42", 42), ("echo no >&2; kill -9 $$", -1)]
)
async def test_bash_success_raises_with_exit_code_and_stderr(command: str, code: int) -> None:
    with pytest.raises(CommandFailed) as failed:
        await bash_success(CTX, command)
    assert (failed.value.exit_code, failed.value.message) == (code, "no\n")
    assert str(failed.value) == f"Command failed with exit code {code}: no"
    assert failed.value.result is not None
    again = pickle.loads(pickle.dumps(failed.value))
    assert (again.exit_code, again.message, again.result) == (code, "no\n", failed.value.result)


@pytest.mark.req("K-06")
async def test_bash_success_raises_on_a_timeout() -> None:
    with pytest.raises(CommandFailed) as failed:
        await bash_success(CTX, "sleep 99", BashOptions().timeout(0.2))
    assert (failed.value.exit_code, failed.value.message) == (-1, "")


async def test_bash_success_raises_validation_for_an_empty_command() -> None:
    with pytest.raises(Validation, match="Empty command"):
        await bash_success(CTX, " ")


@pytest.mark.req("K-06")
async def test_sequence_returns_all_results_in_order() -> None:
    results = await bash_sequence(CTX, ["echo 1", "echo 2", "echo 3"])
    assert [(result.exit_code, result.stdout) for result in results] == [(0, "1\n"), (0, "2\n"), (0, "3\n")]


@pytest.mark.req("K-06")
@pytest.mark.parametrize("failing", ["exit 7", "kill -9 $$"])
async def test_sequence_stops_after_the_first_failure(failing: str, tmp_path: Path) -> None:
    results = await bash_sequence(PrimitiveContext(tmp_path), ["echo 1", failing, "touch ran"])
    assert [result.exit_code for result in results] == [0, 7 if failing == "exit 7" else -1]
    assert not (tmp_path / "ran").exists()


async def test_empty_sequence_returns_an_empty_list() -> None:
    assert await bash_sequence(CTX, []) == []


@pytest.mark.req("K-06")
async def test_each_command_of_a_sequence_gets_a_fresh_shell_and_the_options() -> None:
    results = await bash_sequence(CTX, ["cd /; X=1; echo $A", "pwd; echo [$X]$A"], BashOptions().env("A", "a"))
    assert [result.stdout for result in results] == ["a\n", "/tmp\n[]a\n"]


@pytest.mark.req("K-04", "K-06")
async def test_each_command_of_a_sequence_is_validated_when_it_is_next(tmp_path: Path) -> None:
    ctx = PrimitiveContext(tmp_path)
    with pytest.raises(Validation, match="blocked pattern: mkfs"):
        await bash_sequence(ctx, ["touch first", "mkfs nothing", "touch third"])
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


async def test_commands_after_a_failure_are_not_validated() -> None:
    assert len(await bash_sequence(CTX, ["false", "mkfs nothing"])) == 1


async def test_sequence_outside_the_allowed_paths_is_refused(tmp_path: Path) -> None:
    ctx = PrimitiveContext(tmp_path, allowed_paths=[tmp_path])
    with pytest.raises(PathNotAllowed):
        await bash_sequence(ctx, ["true"], BashOptions().working_dir("/"))


async def test_sequence_given_as_a_string_is_refused() -> None:
    with pytest.raises(Validation, match="Give a list"):
        await bash_sequence(CTX, "ls")
