"""Invalid requests are refused at once, with a code, a field and a hint, before anything starts."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import nacre
from nacre import Bash, InvalidRequest, Limits, Profile, Request, ToolContext
from nacre.errors import AccessUnavailable, PathNotAllowed
from nacre.planning.plan import plan_for
from nacre.profiles import DEFAULT
from nacre.sandbox import probe
from nacre.types import Plan


async def refused_request(request: dict[str, Any], context: dict[str, Any] | None = None) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        await Bash().run(Request(**{"command": "true", **request}), ToolContext(**(context or {})))
    return caught.value


def plan(context: ToolContext | None = None, profile: Profile = DEFAULT, **request: Any) -> Plan:
    return plan_for(Request("true", **request), context or ToolContext(), profile, {})


REQUESTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "empty": ({"command": ""}, "empty_command", "command"),
    "blank": ({"command": " \n\t"}, "empty_command", "command"),
    "bytes": ({"command": b"true"}, "bad_command", "command"),
    "no-command": ({"command": None}, "bad_command", "command"),
    "nul": ({"command": "echo \0"}, "nul_byte", "command"),
    "lone-surrogate": ({"command": "echo \ud800"}, "bad_text", "command"),
    "timeout-zero": ({"timeout": 0}, "bad_timeout", "timeout"),
    "timeout-negative": ({"timeout": -1}, "bad_timeout", "timeout"),
    "timeout-nan": ({"timeout": math.nan}, "bad_timeout", "timeout"),
    "timeout-text": ({"timeout": "5"}, "bad_timeout", "timeout"),
    "timeout-bool": ({"timeout": True}, "bad_timeout", "timeout"),
    "timeout-decimal": ({"timeout": Decimal(3)}, "bad_timeout", "timeout"),
    "cwd-missing": ({"cwd": "/no/such/place"}, "cwd_missing", "cwd"),
    "cwd-a-file": ({"cwd": "/etc/passwd"}, "cwd_not_a_directory", "cwd"),
    "cwd-a-number": ({"cwd": 3}, "bad_cwd", "cwd"),
    "cwd-bytes": ({"cwd": b"/"}, "bad_cwd", "cwd"),
    "cwd-empty": ({"cwd": ""}, "bad_cwd", "cwd"),
    "cwd-nul": ({"cwd": "/\0"}, "nul_byte", "cwd"),
    "env-number": ({"env": {"A": 1}}, "bad_env", "env"),
    "env-none": ({"env": {"A": None}}, "bad_env", "env"),
    "env-name-number": ({"env": {1: "A"}}, "bad_env", "env"),
    "env-name-empty": ({"env": {"": "A"}}, "bad_env_name", "env"),
    "env-name-with-equals": ({"env": {"A=B": "C"}}, "bad_env_name", "env"),
    "env-value-nul": ({"env": {"A": "\0"}}, "nul_byte", "env"),
    "env-name-nul": ({"env": {"A\0": "B"}}, "nul_byte", "env"),
    "env-value-lone-surrogate": ({"env": {"A": "\udfff\ud800"}}, "bad_text", "env"),
    "env-not-a-mapping": ({"env": ["A=1"]}, "bad_env", "env"),
    "env-text": ({"env": "A=1"}, "bad_env", "env"),
    "stdin-number": ({"stdin": 3}, "bad_stdin", "stdin"),
    "stdin-lone-surrogate": ({"stdin": "\ud800"}, "bad_text", "stdin"),
    "mode": ({"mode": "fast"}, "bad_mode", "mode"),
    "yield-zero": ({"yield_after": 0}, "bad_yield_after", "yield_after"),
    "yield-text": ({"yield_after": "1"}, "bad_yield_after", "yield_after"),
    "yield-background": ({"yield_after": 1, "mode": "background"}, "bad_yield_after", "yield_after"),
    "stdin-open-in-the-foreground": ({"open_stdin": True}, "bad_open_stdin", "open_stdin"),
    "stdin-open-and-given": ({"open_stdin": True, "stdin": "", "mode": "background"}, "bad_open_stdin", "open_stdin"),
    "leftovers": ({"leftovers": "adopt"}, "bad_leftovers", "leftovers"),
}


@pytest.mark.req("M-01", "M-14")
@pytest.mark.parametrize(("request_", "code", "field"), REQUESTS.values(), ids=REQUESTS)
async def test_invalid_request_is_refused_with_code_and_field(request_: dict[str, Any], code: str, field: str) -> None:
    error = await refused_request(request_)
    assert (error.code, error.field) == (code, field)
    assert error.message
    assert error.hint
    assert str(error) == f"{error.message} {error.hint}"


CONTEXTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "access": ({"access": "total"}, "bad_access", "access"),
    "working-dir-missing": ({"working_dir": "/no/such/place"}, "cwd_missing", "working_dir"),
    "working-dir-a-file": ({"working_dir": "/etc/passwd"}, "cwd_not_a_directory", "working_dir"),
    "working-dir-a-number": ({"working_dir": 3}, "bad_working_dir", "working_dir"),
    "output-dir-a-number": ({"output_dir": 3}, "bad_output_dir", "output_dir"),
    "output-dir-nul": ({"output_dir": "/\0"}, "nul_byte", "output_dir"),
    "output-negative": ({"limits": Limits(output=-1)}, "bad_limit", "limits.output"),
    "output-fraction": ({"limits": Limits(output=1.5)}, "bad_limit", "limits.output"),  # type: ignore[arg-type]
    "spill-negative": ({"limits": Limits(spill=-1)}, "bad_limit", "limits.spill"),
    "allowed-elsewhere": ({"allowed_paths": ("/no/such/place",)}, "path_not_allowed", "working_dir"),
}


@pytest.mark.req("M-01", "M-14")
@pytest.mark.parametrize(("context", "code", "field"), CONTEXTS.values(), ids=CONTEXTS)
async def test_invalid_context_is_refused_with_code_and_field(context: dict[str, Any], code: str, field: str) -> None:
    error = await refused_request({}, context)
    assert (error.code, error.field) == (code, field)
    assert error.hint


@pytest.mark.parametrize("field", ["allowed_paths", "secrets", "pass_env"])
async def test_string_in_place_of_a_list_is_refused(field: str) -> None:
    """`allowed_paths="/work"` read as characters would allow "/"; `pass_env="AWS_*"` would pass everything."""
    error = await refused_request({"cwd": "/tmp"}, {field: "/usr*"})
    assert error.field == field


async def test_invalid_request_starts_nothing(tmp_path: Path) -> None:
    await refused_request({"command": "touch started", "cwd": tmp_path, "timeout": -1})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("access", ["restricted", "workspace"])
async def test_access_mode_that_cannot_be_enforced_is_refused(access: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "kernel", lambda: probe.Kernel(machine="any", missing="It is too old."))
    error = await refused_request({}, {"access": access})
    assert "It is too old." in str(error)
    assert (type(error), error.code, error.field) == (AccessUnavailable, "access_unavailable", "access")


async def test_huge_timeout_is_lowered_to_the_maximum() -> None:
    assert plan(timeout=10**400).timing.timeout == DEFAULT.max_timeout


LOWERED = "The timeout of %s s is over the limit and was lowered to 3600 s."


@pytest.mark.req("M-01", "M-03")
@pytest.mark.parametrize(
    ("asked", "given", "notes"),
    [
        (None, 120.0, ()),
        (5, 5.0, ()),
        (0.001, 0.001, ()),
        (3600, 3600.0, ()),
        (120_000, 3600.0, (f"{LOWERED % 120_000} If you meant milliseconds, pass 120.",)),
        (math.inf, 3600.0, (LOWERED % "inf",)),
    ],
)
def test_timeout_over_the_maximum_is_lowered_with_a_hint_at_milliseconds(
    asked: float | None, given: float, notes: tuple[str, ...]
) -> None:
    made = plan(timeout=asked)
    assert (made.timing.timeout, made.notes) == (given, notes)


@pytest.mark.parametrize("asked", [1e10, 10**400, math.inf])
def test_background_timeout_beyond_any_lifetime_is_infinite(asked: float) -> None:
    assert plan(mode="background", timeout=asked).timing.timeout == math.inf


@pytest.mark.parametrize("grace", [-1.0, math.inf, math.nan])
def test_invalid_grace_of_a_profile_is_refused(grace: float) -> None:
    with pytest.raises(InvalidRequest) as caught:
        plan(profile=Profile(name="odd", grace=grace))
    assert (caught.value.code, caught.value.field) == ("bad_grace", "grace")


async def test_note_about_a_lowered_timeout_is_in_the_result() -> None:
    result = await Bash().run(Request("true", timeout=120_000))
    assert result.ok
    assert result.notes == plan(timeout=120_000).notes


@pytest.mark.req("M-03", "K-02")
def test_profile_overrides_only_the_settings_it_names() -> None:
    made = plan(profile=Profile(name="own", timeout=7, output=10, leftovers="end"))
    assert (made.timing.timeout, made.output.memory, made.leftovers, made.output.spill) == (7, 10, "end", DEFAULT.spill)
    limited = plan(ToolContext(limits=Limits(output=3)), profile=Profile(name="own", output=10, spill=4))
    assert (limited.output.memory, limited.output.spill) == (3, 4)


def test_unknown_profile_is_refused_with_the_known_names() -> None:
    with pytest.raises(InvalidRequest) as caught:
        Bash("no-such-profile")
    assert (caught.value.code, caught.value.field) == ("unknown_profile", "profile")
    assert "default" in caught.value.hint


@pytest.mark.req("K-03")
def test_relative_cwd_is_relative_to_the_contexts_working_dir(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    ctx = ToolContext(working_dir=tmp_path / "a")
    assert plan(ctx, cwd="b").cwd == f"{tmp_path}/a/b"
    assert plan(ctx, cwd="..").cwd == str(tmp_path)
    assert plan(ctx, cwd=tmp_path).cwd == str(tmp_path)
    assert plan(ctx).cwd == f"{tmp_path}/a"
    assert plan(ctx, cwd="./b/../b/").cwd == f"{tmp_path}/a/b"


@pytest.fixture
def allowed_tree(tmp_path: Path) -> Path:
    for name in ("in/deep", "inner", "out"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "in" / "escape").symlink_to(tmp_path / "out")
    (tmp_path / "out" / "back").symlink_to(tmp_path / "in")
    return tmp_path


@pytest.mark.req("K-03", "M-14")
@pytest.mark.parametrize("cwd", ["in", "in/deep", "in/deep/..", "out/back", "out/back/deep"])
def test_a_directory_inside_the_allowed_paths_is_allowed(allowed_tree: Path, cwd: str) -> None:
    ctx = ToolContext(working_dir=allowed_tree, allowed_paths=("/no/such/place", allowed_tree / "in"))
    assert plan(ctx, cwd=cwd).cwd == os.path.normpath(allowed_tree / cwd)


@pytest.mark.req("K-03", "M-14")
@pytest.mark.parametrize("cwd", [None, ".", "out", "inner", "in/..", "in/escape", "in/deep/../../out", "/"])
def test_a_directory_outside_the_allowed_paths_is_refused(allowed_tree: Path, cwd: str | None) -> None:
    ctx = ToolContext(working_dir=allowed_tree, allowed_paths=(allowed_tree / "in",))
    with pytest.raises(PathNotAllowed) as caught:
        plan(ctx, cwd=cwd)
    field = "working_dir" if cwd is None else "cwd"
    assert (caught.value.code, caught.value.field) == ("path_not_allowed", field)
    assert str(allowed_tree / "in") in caught.value.hint


def test_the_root_as_allowed_path_allows_everything(allowed_tree: Path) -> None:
    assert plan(ToolContext(allowed_paths=("/",)), cwd=allowed_tree).cwd == str(allowed_tree)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may enter anything")
def test_cwd_that_cannot_be_entered_is_refused_with_cwd_denied(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    with pytest.raises(InvalidRequest) as caught:
        plan(cwd=locked)
    assert caught.value.code == "cwd_denied"


def test_missing_bash_is_refused_with_no_bash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidRequest) as caught:
        plan()
    assert (caught.value.code, caught.value.field) == ("no_bash", "command")


async def test_unknown_option_gets_a_suggestion() -> None:
    with pytest.raises(TypeError, match="did you mean 'timeout'"):
        await nacre.run("true", timeuot=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="got an unknown option 'zzzz'"):
        nacre.run_sync("true", zzzz=3)  # type: ignore[call-arg]


@pytest.mark.req("M-14")
async def test_output_dir_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    error = await refused_request({}, {"output_dir": tmp_path / "file"})
    assert (error.code, error.field) == ("bad_output_dir", "output_dir")
