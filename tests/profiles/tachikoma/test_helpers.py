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
async def test_a_success_is_given_back() -> None:
    result = await bash_success(CTX, "echo fine; echo note >&2")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "fine\n", "note\n")


@pytest.mark.req("K-06")
@pytest.mark.parametrize(
    ("command", "code"), [("echo no >&2; exit 1", 1), ("echo no >&2; exit 42", 42), ("echo no >&2; kill -9 $$", -1)]
)
async def test_a_failure_is_raised_with_code_and_stderr(command: str, code: int) -> None:
    with pytest.raises(CommandFailed) as failed:
        await bash_success(CTX, command)
    assert (failed.value.exit_code, failed.value.message) == (code, "no\n")
    assert str(failed.value) == f"Command failed with exit code {code}: no"
    assert failed.value.result is not None
    again = pickle.loads(pickle.dumps(failed.value))
    assert (again.exit_code, again.message, again.result) == (code, "no\n", failed.value.result)


@pytest.mark.req("K-06")
async def test_a_timeout_is_a_failure() -> None:
    with pytest.raises(CommandFailed) as failed:
        await bash_success(CTX, "sleep 99", BashOptions().timeout(0.2))
    assert (failed.value.exit_code, failed.value.message) == (-1, "")


async def test_what_is_not_run_is_no_failure_of_a_command() -> None:
    with pytest.raises(Validation, match="Empty command"):
        await bash_success(CTX, " ")


@pytest.mark.req("K-06")
async def test_a_sequence_gives_all_results_in_order() -> None:
    results = await bash_sequence(CTX, ["echo 1", "echo 2", "echo 3"])
    assert [(result.exit_code, result.stdout) for result in results] == [(0, "1\n"), (0, "2\n"), (0, "3\n")]


@pytest.mark.req("K-06")
@pytest.mark.parametrize("failing", ["exit 7", "kill -9 $$"])
async def test_a_sequence_stops_after_the_first_failure_and_gives_what_ran(failing: str, tmp_path: Path) -> None:
    results = await bash_sequence(PrimitiveContext(tmp_path), ["echo 1", failing, "touch ran"])
    assert [result.exit_code for result in results] == [0, 7 if failing == "exit 7" else -1]
    assert not (tmp_path / "ran").exists()


async def test_a_sequence_of_nothing_gives_nothing() -> None:
    assert await bash_sequence(CTX, []) == []


@pytest.mark.req("K-06")
async def test_each_of_a_sequence_is_a_shell_of_its_own_with_the_same_options() -> None:
    results = await bash_sequence(CTX, ["cd /; X=1; echo $A", "pwd; echo [$X]$A"], BashOptions().env("A", "a"))
    assert [result.stdout for result in results] == ["a\n", "/tmp\n[]a\n"]


@pytest.mark.req("K-04", "K-06")
async def test_each_of_a_sequence_is_validated_when_its_turn_comes(tmp_path: Path) -> None:
    ctx = PrimitiveContext(tmp_path)
    with pytest.raises(Validation, match="blocked pattern: mkfs"):
        await bash_sequence(ctx, ["touch first", "mkfs nothing", "touch third"])
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


async def test_after_a_failure_nothing_is_validated_any_more() -> None:
    assert len(await bash_sequence(CTX, ["false", "mkfs nothing"])) == 1


async def test_a_sequence_may_not_leave_the_allowed_paths(tmp_path: Path) -> None:
    ctx = PrimitiveContext(tmp_path, allowed_paths=[tmp_path])
    with pytest.raises(PathNotAllowed):
        await bash_sequence(ctx, ["true"], BashOptions().working_dir("/"))


async def test_one_command_is_no_sequence() -> None:
    with pytest.raises(Validation, match="Give a list"):
        await bash_sequence(CTX, "ls")
