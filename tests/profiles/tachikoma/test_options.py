"""BashOptions: its defaults, what each method sets, and the effect on a command."""

from __future__ import annotations

import os
from datetime import timedelta
from math import inf, nan
from pathlib import Path

import pytest

from nacre.base.frozen import replace
from nacre.compat.tachikoma import BashOptions, OptionValues, PrimitiveContext, Validation, bash
from nacre.environment.build import DEFAULT_PATH
from nacre.environment.noninteractive import NONINTERACTIVE
from nacre.keeper.protocol.procfs import TAG_VARIABLE
from nacre.profiles.tachikoma import TACHIKOMA, tachikoma
from nacre.types import MIB

CTX = PrimitiveContext("/tmp")


@pytest.mark.req("K-02")
def test_option_defaults_match_the_document() -> None:
    assert BashOptions().values == OptionValues(
        working_dir=None,
        env_vars={},
        clear_env=False,
        timeout=120.0,
        blocked_commands=("rm -rf /", ":(){ :|:& };:", "mkfs", "dd if=/dev/", "> /dev/sd"),
        max_output_size=10 * 1024 * 1024,
        literal=False,
        leftovers=None,
    )
    assert BashOptions.new() == BashOptions()


@pytest.mark.req("K-02")
def test_each_option_method_returns_a_changed_copy() -> None:
    start = BashOptions()
    end = (
        start.working_dir("/tmp")
        .env("A", "1")
        .envs({"B": "2", "A": "3"})
        .clear_env()
        .timeout(7)
        .block_command("git push")
        .max_output(99)
    )
    assert end.values == OptionValues(
        working_dir="/tmp",
        env_vars={"A": "3", "B": "2"},
        clear_env=True,
        timeout=7.0,
        blocked_commands=(*start.values.blocked_commands, "git push"),
        max_output_size=99,
    )
    assert start == BashOptions()
    assert end != start


@pytest.mark.req("K-02")
def test_timeout_option_is_seconds_a_timedelta_or_none() -> None:
    assert BashOptions().timeout(timedelta(minutes=2)).values.timeout == 120.0
    assert BashOptions().timeout(0.001).values.timeout == 0.001
    assert BashOptions().timeout(inf).values.timeout == inf
    assert BashOptions().no_timeout().values.timeout is None
    assert BashOptions().no_timeout().timeout(3).values.timeout == 3.0


@pytest.mark.parametrize("timeout", [0, -1, nan, timedelta(0), True, "30"], ids=str)
def test_invalid_timeout_raises_at_once(timeout: float) -> None:
    with pytest.raises(Validation, match="timeout"):
        BashOptions().timeout(timeout)


@pytest.mark.parametrize("size", [-1, 1.5, True, None], ids=str)
def test_invalid_output_limit_raises_at_once(size: int) -> None:
    with pytest.raises(Validation, match="output limit"):
        BashOptions().max_output(size)


def test_pattern_that_is_not_a_string_raises_at_once() -> None:
    with pytest.raises(Validation, match="pattern"):
        BashOptions().block_command(b"rm")  # type: ignore[arg-type]


@pytest.mark.req("K-02")
async def test_environment_variables_are_set() -> None:
    result = await bash(CTX, "echo $TEST_VAR", BashOptions().env("TEST_VAR", "test_value"))
    assert result.stdout == "test_value\n"
    result = await bash(CTX, 'echo "$A$B"', BashOptions().envs({"A": "1", "B": "it's\n2"}))
    assert result.stdout == "1it's\n2\n"


@pytest.mark.req("K-02")
async def test_cleared_environment_inherits_nothing_and_keeps_what_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "yes")
    assert (await bash(CTX, "echo [$INHERITED][$A]")).stdout == "[yes][]\n"
    result = await bash(CTX, "echo [$INHERITED][$A]; ls >/dev/null", BashOptions().clear_env().env("A", "1"))
    assert (result.exit_code, result.stdout) == (0, "[][1]\n")


@pytest.mark.req("K-02")
async def test_cleared_environment_has_path_and_noninteractive_variables() -> None:
    result = await bash(CTX, "env -0", BashOptions().clear_env().env("A", "1").env("TERM", "xterm"))
    found = dict(each.split("=", 1) for each in result.stdout.split("\0") if each)
    found.pop("__CF_USER_TEXT_ENCODING", None)  # macOS sets it if it is missing
    found.pop(TAG_VARIABLE, None)  # the tag by which a portable keeper finds its processes
    ours = {name: found.pop(name) for name in ("A", "TERM", "PATH")}
    bash_s_own = {name for name in ("PWD", "SHLVL", "_") if found.pop(name, None) is not None}
    assert (ours, bash_s_own) == ({"A": "1", "TERM": "xterm", "PATH": DEFAULT_PATH}, {"PWD", "SHLVL", "_"})
    assert found == {name: value for name, value in NONINTERACTIVE.items() if name != "TERM"}


@pytest.mark.req("K-02")
async def test_working_dir_option_sets_the_working_directory(tmp_path: Path) -> None:
    result = await bash(PrimitiveContext("/"), "pwd", BashOptions().working_dir("/tmp"))
    assert result.stdout.strip() in ("/tmp", "/private/tmp")
    (tmp_path / "sub").mkdir()
    result = await bash(PrimitiveContext(tmp_path), "pwd -P", BashOptions().working_dir("sub"))
    assert result.stdout == os.path.realpath(tmp_path / "sub") + "\n"


@pytest.mark.req("K-02")
async def test_command_without_a_timeout_runs() -> None:
    assert (await bash(CTX, "echo done", BashOptions().no_timeout())).stdout == "done\n"


@pytest.mark.req("K-02")
@pytest.mark.parametrize("command", ["git push origin", "echo 'GIT PUSH'", "true # Git Push"])
async def test_added_pattern_matches_anywhere_regardless_of_case(command: str) -> None:
    with pytest.raises(Validation) as refused:
        await bash(CTX, command, BashOptions().block_command("Git push"))
    assert refused.value.message == "Command contains blocked pattern: Git push"


@pytest.mark.req("K-02")
async def test_added_patterns_come_after_the_default_list_and_keep_it() -> None:
    options = BashOptions().block_command("mkfs").block_command("true")
    with pytest.raises(Validation, match="blocked pattern: mkfs"):
        await bash(CTX, "echo mkfs", options)
    with pytest.raises(Validation, match="blocked pattern: dd if=/dev/"):
        await bash(CTX, "true; dd if=/dev/null of=/dev/null", options)


async def test_empty_blocked_commands_value_keeps_the_default_list() -> None:
    options = BashOptions()
    options.values = replace(options.values, blocked_commands=())
    with pytest.raises(Validation, match="blocked pattern: dd if=/dev/"):
        await bash(CTX, "dd if=/dev/null of=/dev/null", options)


@pytest.mark.req("K-02")
def test_profile_limits_match_the_option_defaults() -> None:
    assert (TACHIKOMA.timeout, TACHIKOMA.max_timeout, TACHIKOMA.merge) == (120.0, inf, False)
    assert TACHIKOMA.view == tachikoma(max_output=10 * MIB).view
