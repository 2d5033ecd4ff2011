"""Arguments of a call: types, ranges, defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nacre import Bash, InvalidRequest, ToolContext
from nacre.planning.plan import plan_for
from nacre.profiles.mycode import MYCODE, mycode
from nacre.toolcall.parse import parse_request
from nacre.types import Request

BASH = Bash("mycode")


def timeout_of(arguments: dict[str, Any], **config: Any) -> float:
    """Return the timeout in seconds that a command would get."""
    profile = mycode(**config)
    return plan_for(parse_request({"command": "true", **arguments}, profile), ToolContext(), profile, {}).timing.timeout


@pytest.mark.req("M-01", "M-16")
def test_command_is_the_only_required_argument() -> None:
    assert parse_request({"command": "ls"}, MYCODE) == Request("ls")


@pytest.mark.req("M-01")
def test_every_parameter_reaches_the_request() -> None:
    asked = {
        "command": "ls",
        "description": "List",
        "timeout": 1500,
        "run_in_background": False,
        "cwd": "/tmp",
        "env": {"A": "b"},
    }
    expected = Request("ls", description="List", timeout=1.5, cwd="/tmp", env={"A": "b"})
    assert parse_request(asked, MYCODE) == expected


@pytest.mark.req("M-01", "M-03")
@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ({}, 120.0),
        ({"timeout": 0}, 120.0),
        ({"timeout": 0.0}, 120.0),
        ({"timeout": None}, 120.0),
        ({"timeout": 1}, 0.001),
        ({"timeout": 0.5}, 0.0005),
        ({"timeout": 119_999}, 119.999),
        ({"timeout": 120_000}, 120.0),
        ({"timeout": 120_001}, 120.001),
        ({"timeout": 599_999}, 599.999),
        ({"timeout": 600_000}, 600.0),
    ],
    ids=str,
)
def test_timeout_is_in_milliseconds_and_zero_or_null_is_the_default(asked: dict[str, Any], seconds: float) -> None:
    assert timeout_of(asked) == pytest.approx(seconds)


@pytest.mark.req("M-01", "M-03")
@pytest.mark.parametrize(("asked", "seconds"), [(4999, 4.999), (5000, 5.0), (5001, 5.0), (600_000, 5.0)])
def test_timeout_is_capped_at_the_configured_maximum(asked: int, seconds: float) -> None:
    assert timeout_of({"timeout": asked}, maxTimeout=5000) == pytest.approx(seconds)


@pytest.mark.req("M-03")
def test_default_timeout_is_capped_at_the_maximum() -> None:
    assert timeout_of({}, defaultTimeout=9000, maxTimeout=5000) == 5.0


BAD: dict[str, tuple[Any, str]] = {
    "no command": ({}, "missing_argument"),
    "null": ({"command": None}, "missing_argument"),
    "empty": ({"command": ""}, "empty_command"),
    "number for a command": ({"command": 5}, "bad_command"),
    "list for a command": ({"command": ["ls", "-l"]}, "bad_command"),
    "negative timeout": ({"timeout": -1}, "bad_timeout"),
    "just below": ({"timeout": -0.001}, "bad_timeout"),
    "just above": ({"timeout": 600_000.001}, "bad_timeout"),
    "above": ({"timeout": 600_001}, "bad_timeout"),
    "endless": ({"timeout": float("inf")}, "bad_timeout"),
    "not a number": ({"timeout": float("nan")}, "bad_timeout"),
    "very large": ({"timeout": 10**400}, "bad_timeout"),
    "too large to be written": ({"timeout": 10**5000}, "bad_timeout"),
    "word for a timeout": ({"timeout": "5000"}, "bad_timeout"),
    "flag for a timeout": ({"timeout": True}, "bad_timeout"),
    "word for a flag": ({"run_in_background": "true"}, "bad_run_in_background"),
    "number for a flag": ({"run_in_background": 1}, "bad_run_in_background"),
    "number for a description": ({"description": 5}, "bad_description"),
    "number for a directory": ({"cwd": 5}, "bad_cwd"),
    "list for variables": ({"env": ["A=b"]}, "bad_env"),
    "number in variables": ({"env": {"A": 1}}, "bad_env"),
    "null in variables": ({"env": {"A": None}}, "bad_env"),
    "no name": ({"env": {"": "x"}}, "bad_env_name"),
    "equals sign in a name": ({"env": {"A=": "x"}}, "bad_env_name"),
    "zero byte in a value": ({"env": {"A": "\0"}}, "nul_byte"),
    "zero byte in a command": ({"command": "ls \0"}, "nul_byte"),
    "no object": ([], "bad_arguments"),
    "no json": ("{", "bad_json"),
}


@pytest.mark.req("M-01")
@pytest.mark.parametrize(("asked", "code"), BAD.values(), ids=BAD.keys())
async def test_invalid_arguments_get_an_error_code_and_nothing_runs(asked: Any, code: str) -> None:
    if isinstance(asked, dict) and "command" not in asked and code != "missing_argument":
        asked = {"command": "true", **asked}
    answer = await BASH.call(asked)
    assert (answer.error, answer.result) == (code, None)
    assert answer.data["error"]["code"] == code
    assert answer.data["error"]["hint"]


@pytest.mark.req("M-01")
def test_timeout_out_of_range_error_names_the_range() -> None:
    with pytest.raises(InvalidRequest, match=r"Give a number from 0 to 600000\."):
        parse_request({"command": "true", "timeout": 700_000}, MYCODE)


@pytest.mark.req("M-01")
async def test_env_argument_is_merged_over_the_process_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INHERITED", "one")
    monkeypatch.setenv("REPLACED", "two")
    asked = {"command": 'echo "$INHERITED $REPLACED $NEW"', "env": {"REPLACED": "three", "NEW": "four"}}
    assert (await BASH.call(asked)).data["stdout"] == "one three four\n"


@pytest.mark.req("M-01")
async def test_cwd_argument_wins_over_the_working_directory_of_the_context(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    ctx = ToolContext(working_dir=tmp_path)
    places = [{}, {"cwd": ""}, {"cwd": "below"}, {"cwd": "/"}]
    seen = [(await BASH.call({"command": "pwd", **place}, ctx)).data["stdout"] for place in places]
    assert seen == [f"{tmp_path}\n", f"{tmp_path}\n", f"{tmp_path}/below\n", "/\n"]


@pytest.mark.req("M-01", "M-05")
def test_background_command_ignores_the_timeout() -> None:
    """The proposal's background tasks have no timeout, and models pass one out of habit."""
    assert timeout_of({"timeout": 1000, "run_in_background": True}) == float("inf")
